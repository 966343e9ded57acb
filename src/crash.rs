//! Crash points: named places where a test kills the process, as a power failure would. They exist in
//! debug builds, because the crash test starts the program itself. Failures that a test causes within
//! its own process (`faults`) exist in test builds only.

use std::time::Duration;

#[cfg(any(test, feature = "testing"))]
mod faults {
    use parking_lot::Mutex;
    use std::{
        collections::{BTreeMap, BTreeSet},
        sync::atomic::{AtomicBool, AtomicI64, Ordering},
    };

    type Interruption = Box<dyn FnOnce() + Send>;

    /// Whether a test has asked for any failure: benchmarks are built with this module.
    static IS_USED: AtomicBool = AtomicBool::new(false);
    /// The transactions whose next responses are lost.
    static LOST_ANSWERS: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    /// How many of the next transactions with a name are refused.
    static REFUSALS: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());
    /// What happens when a point `name/place` is passed the next time.
    static INTERRUPTIONS: Mutex<BTreeMap<&str, Interruption>> = Mutex::new(BTreeMap::new());
    /// How far the database's clock is moved ahead.
    static CLOCK_SKEW_MS: AtomicI64 = AtomicI64::new(0);

    fn is_used() -> bool {
        IS_USED.load(Ordering::SeqCst)
    }

    /// Commits the next transaction with this name, but reports a failure to its caller, as when a
    /// connection is lost.
    pub fn lose_next_answer(name: &'static str) {
        LOST_ANSWERS.lock().insert(name);
        IS_USED.store(true, Ordering::SeqCst);
    }

    /// Whether a test asked for the response to this transaction to be lost.
    pub fn loses_answer(name: &str) -> bool {
        is_used() && LOST_ANSWERS.lock().remove(name)
    }

    /// Refuses the next transactions with this name, as a database does that is temporarily
    /// unavailable.
    pub fn refuse_next(name: &'static str, count: usize) {
        REFUSALS.lock().insert(name, count);
        IS_USED.store(true, Ordering::SeqCst);
    }

    /// Whether a test asked for this transaction to be refused.
    pub fn is_refused(name: &str) -> bool {
        if !is_used() {
            return false;
        }
        let mut refusals = REFUSALS.lock();
        let left = refusals.get_mut(name).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }

    /// Runs this when the point `name/place` is passed the next time, as if the process were paused
    /// there.
    pub fn interrupt_at(point: &'static str, interruption: impl FnOnce() + Send + 'static) {
        INTERRUPTIONS.lock().insert(point, Box::new(interruption));
        IS_USED.store(true, Ordering::SeqCst);
    }

    /// Runs what a test asked for at this point.
    pub fn interrupt(name: &str, place: &str) {
        if !is_used() {
            return;
        }
        let interruption = INTERRUPTIONS.lock().remove(&*format!("{name}/{place}"));
        if let Some(interrupt) = interruption {
            interrupt();
        }
    }

    /// Moves the clock of every database that this process has open, as when a machine is suspended.
    pub fn move_database_clock(by_ms: i64) {
        CLOCK_SKEW_MS.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// How far a test has moved the clock of the database.
    pub fn clock_skew_ms() -> i64 {
        CLOCK_SKEW_MS.load(Ordering::SeqCst)
    }
}

/// No failures.
#[cfg(not(any(test, feature = "testing")))]
mod faults {
    pub fn loses_answer(_name: &str) -> bool {
        false
    }

    pub fn is_refused(_name: &str) -> bool {
        false
    }

    pub fn interrupt(_name: &str, _place: &str) {}

    pub fn clock_skew_ms() -> i64 {
        0
    }
}

pub use faults::{clock_skew_ms, is_refused, loses_answer};
#[cfg(any(test, feature = "testing"))]
pub use faults::{interrupt_at, lose_next_answer, move_database_clock, refuse_next};

#[cfg(debug_assertions)]
mod armed {
    use std::{
        fs::{File, OpenOptions},
        io::Write as _,
        sync::{
            LazyLock,
            atomic::{AtomicUsize, Ordering},
        },
    };

    /// `COUNTERSIGN_CRASH_AT="name/place#n"`: the n-th time (from 1) that this point is passed.
    static AT: LazyLock<Option<(String, usize)>> = LazyLock::new(|| {
        let at = variable("COUNTERSIGN_CRASH_AT")?;
        let (name, count) = at.rsplit_once('#')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    static PASSED: AtomicUsize = AtomicUsize::new(0);

    /// `COUNTERSIGN_CRASH_LOG=file`: a line `name/place` for each point that is passed.
    static LOG: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = variable("COUNTERSIGN_CRASH_LOG")?;
        OpenOptions::new().create(true).append(true).open(path).ok()
    });

    fn variable(name: &str) -> Option<String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "no configuration: exists in debug builds only"
        )]
        std::env::var(name).ok()
    }

    pub fn point(name: &str, place: &str) {
        let here = format!("{name}/{place}");
        if let Some(mut log) = LOG.as_ref() {
            log.write_all(format!("{here}\n").as_bytes()).expect("a test reads this log");
        }
        let Some((at, count)) = &*AT else { return };
        if *at == here && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *count {
            tracing::error!(name, place, "aborting at a crash point");
            std::process::abort();
        }
    }
}

/// The shortest lease, so that tests that kill processes need not wait long.
pub const SHORTEST_LEASE: Duration =
    Duration::from_secs(if cfg!(debug_assertions) { 1 } else { 6 });

/// Kills the process here if a test asked for it.
pub fn point(name: &str, place: &str) {
    faults::interrupt(name, place);
    #[cfg(debug_assertions)]
    armed::point(name, place);
}
