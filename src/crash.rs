//! Named places at which a test lets the process die, as a power cut would, and checks that it turns
//! off, to see that they are what holds. Not in release builds.

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

    /// `COUNTERSIGN_CRASH_LOG=file`: a line `name/place` for each point as it is passed.
    static LOG: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = variable("COUNTERSIGN_CRASH_LOG")?;
        OpenOptions::new().create(true).append(true).open(path).ok()
    });

    /// `COUNTERSIGN_FAULT=name`: the check of that name is not made.
    static FAULT: LazyLock<Option<String>> = LazyLock::new(|| variable("COUNTERSIGN_FAULT"));

    pub fn planted(fault: &str) -> bool {
        FAULT.as_deref() == Some(fault)
    }

    fn variable(name: &str) -> Option<String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "no configuration: exists in debug builds only"
        )]
        std::env::var(name).ok()
    }

    pub fn point(name: &str, place: &str) {
        if let Some(mut log) = LOG.as_ref() {
            log.write_all(format!("{name}/{place}\n").as_bytes()).expect("a test reads this log");
        }
        let Some((at, count)) = &*AT else { return };
        let here = at.split_once('/').is_some_and(|(n, p)| n == name && p == place);
        if here && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *count {
            tracing::error!(name, place, "dying here, as the test asked");
            std::process::abort();
        }
    }
}

/// Whether a test has turned this check off.
#[cfg(debug_assertions)]
pub fn planted(fault: &str) -> bool {
    armed::planted(fault)
}

/// Never, in a release build.
#[cfg(not(debug_assertions))]
pub fn planted(_fault: &str) -> bool {
    false
}

/// Dies here if a test asked for it.
#[cfg(debug_assertions)]
pub fn point(name: &str, place: &str) {
    armed::point(name, place);
}

/// Nothing, in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_name: &str, _place: &str) {}
