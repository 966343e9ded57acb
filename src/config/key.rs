//! One key of the file.

/// A key, what it is when left out, what it says.
pub struct Key {
    pub path: &'static str,
    pub default: &'static str,
    pub says: &'static str,
}

pub(super) const fn key(path: &'static str, default: &'static str, says: &'static str) -> Key {
    Key { path, default, says }
}
