//! Named crash points at which a test kills the process, as a power failure would, and failures of
//! the database that a test causes. Not in release builds.

use std::time::Duration;

#[cfg(debug_assertions)]
mod armed {
    use std::{
        collections::{BTreeMap, BTreeSet},
        fs::{File, OpenOptions},
        io::Write as _,
        sync::{
            LazyLock, Mutex,
            atomic::{AtomicI64, AtomicUsize, Ordering},
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

    /// The transactions whose next responses are lost.
    pub static LOST_ANSWERS: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

    /// How many of the next transactions with a name are refused.
    pub static REFUSALS: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());

    /// What tests do when a point `name/place` is passed the next time.
    pub static INTERRUPTIONS: Mutex<BTreeMap<&str, Interruption>> = Mutex::new(BTreeMap::new());

    pub type Interruption = Box<dyn FnOnce() + Send>;

    /// How far the database's clock is moved ahead.
    pub static CLOCK_SKEW_MS: AtomicI64 = AtomicI64::new(0);

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
        let interruption = INTERRUPTIONS.lock().expect("no test panics here").remove(&*here);
        if let Some(interrupt) = interruption {
            interrupt();
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

/// Commits the next transaction with this name, but reports a failure to its caller, as when a
/// connection is lost.
#[cfg(debug_assertions)]
pub fn lose_next_answer(name: &'static str) {
    armed::LOST_ANSWERS.lock().expect("no test panics here").insert(name);
}

/// Whether a test asked for the response to this transaction to be lost.
#[cfg(debug_assertions)]
pub fn loses_answer(name: &str) -> bool {
    armed::LOST_ANSWERS.lock().expect("no test panics here").remove(name)
}

/// Never, in a release build.
#[cfg(not(debug_assertions))]
pub fn loses_answer(_name: &str) -> bool {
    false
}

/// Refuses the next transactions with this name, as a database does that is temporarily unavailable.
#[cfg(debug_assertions)]
pub fn refuse_next(name: &'static str, count: usize) {
    armed::REFUSALS.lock().expect("no test panics here").insert(name, count);
}

/// Whether a test asked for this transaction to be refused.
#[cfg(debug_assertions)]
pub fn is_refused(name: &str) -> bool {
    let mut refusals = armed::REFUSALS.lock().expect("no test panics here");
    let left = refusals.get_mut(name).filter(|left| **left > 0);
    left.map(|left| *left -= 1).is_some()
}

/// Never, in a release build.
#[cfg(not(debug_assertions))]
pub fn is_refused(_name: &str) -> bool {
    false
}

/// Runs this when the point `name/place` is passed the next time, as if the process were paused there.
#[cfg(debug_assertions)]
pub fn interrupt_at(point: &'static str, interruption: impl FnOnce() + Send + 'static) {
    let interruption: armed::Interruption = Box::new(interruption);
    armed::INTERRUPTIONS.lock().expect("no test panics here").insert(point, interruption);
}

/// Moves the clock of every database that this process has open, as when a machine is suspended.
#[cfg(debug_assertions)]
pub fn move_database_clock(by_ms: i64) {
    armed::CLOCK_SKEW_MS.fetch_add(by_ms, std::sync::atomic::Ordering::SeqCst);
}

/// How far a test has moved the clock of the database.
#[cfg(debug_assertions)]
pub fn clock_skew_ms() -> i64 {
    armed::CLOCK_SKEW_MS.load(std::sync::atomic::Ordering::SeqCst)
}

/// Never, in a release build.
#[cfg(not(debug_assertions))]
pub fn clock_skew_ms() -> i64 {
    0
}

/// Kills the process here if a test asked for it.
#[cfg(debug_assertions)]
pub fn point(name: &str, place: &str) {
    armed::point(name, place);
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_name: &str, _place: &str) {}
