//! Named places at which a test lets the process die, as a power cut would. Not in release builds.

#[cfg(debug_assertions)]
mod armed {
    use std::sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    };

    /// `COUNTERSIGN_CRASH_AT="name/place#n"`: the n-th time (from 1) that this point is passed.
    static AT: LazyLock<Option<(String, usize)>> = LazyLock::new(|| {
        #[expect(
            clippy::disallowed_methods,
            reason = "no configuration: exists in debug builds only"
        )]
        let at = std::env::var("COUNTERSIGN_CRASH_AT").ok()?;
        let (name, count) = at.rsplit_once('#')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    static PASSED: AtomicUsize = AtomicUsize::new(0);

    pub fn point(name: &str, place: &str) {
        let Some((at, count)) = &*AT else { return };
        let here = at.split_once('/').is_some_and(|(n, p)| n == name && p == place);
        if here && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *count {
            tracing::error!(name, place, "dying here, as the test asked");
            std::process::abort();
        }
    }
}

/// Dies here if a test asked for it.
#[cfg(debug_assertions)]
pub fn point(name: &str, place: &str) {
    armed::point(name, place);
}

/// Nothing, in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_name: &str, _place: &str) {}
