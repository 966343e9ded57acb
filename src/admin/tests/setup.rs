//! The configuration of a test server.

use std::collections::BTreeMap;

use crate::{gateway::people::Allow, journal::role::Role};

pub struct Setup {
    pub bot: &'static str,
    pub demo: bool,
    /// Who may talk in the own web chat.
    pub allow: Allow,
    /// The roles there.
    pub roles: BTreeMap<String, Role>,
    pub messages_per_minute: u32,
    pub upload_bytes: Option<u64>,
    /// The ids of the models.
    pub models: Vec<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            bot: "Countersign",
            demo: false,
            allow: Allow::Everybody,
            roles: BTreeMap::new(),
            messages_per_minute: 30,
            upload_bytes: None,
            models: vec!["main".into()],
        }
    }
}
