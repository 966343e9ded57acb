//! The bot's own account.

use serde::Deserialize;

/// From `getMe`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Me {
    pub(super) id: u64,
    pub(super) username: Option<String>,
}

impl Me {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.username.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }
}
