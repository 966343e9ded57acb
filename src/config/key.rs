//! A configuration key.

/// A key with its default and description.
pub struct ConfigKey {
    pub path: &'static str,
    pub default: &'static str,
    pub description: &'static str,
}

pub(super) const fn key(
    path: &'static str,
    default: &'static str,
    description: &'static str,
) -> ConfigKey {
    ConfigKey { path, default, description }
}
