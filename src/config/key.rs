//! A configuration key.

/// A key with its default and description.
pub struct ConfigKey {
    pub path: &'static str,
    pub default: &'static str,
    pub says: &'static str,
}

pub(super) const fn key(
    path: &'static str,
    default: &'static str,
    says: &'static str,
) -> ConfigKey {
    ConfigKey { path, default, says }
}
