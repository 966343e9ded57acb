//! Who may talk on a channel: people whom `allow` names and people who redeemed a pairing code.

use anyhow::Result;
use channels::Person;
use std::collections::{BTreeMap, BTreeSet};

use super::{ChannelSettings, Gateway};
use crate::{
    journal::{event::Speaker, role::Role},
    store::{Tx, people},
};

/// The `allow` setting. Only platform ids count, never names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    Everybody,
    Only(BTreeSet<String>),
}

impl Allow {
    pub fn from_list(list: &[String]) -> Self {
        if list.iter().any(|entry| entry == "*") {
            return Self::Everybody;
        }
        Self::Only(list.iter().cloned().collect())
    }

    fn names(&self, id: &str) -> bool {
        match self {
            Self::Everybody => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// The role of a person in a place; `None` for a stranger.
///
/// Platform ids are assigned by the platform, so they can grant access. Anybody can be `owner` or
/// `admin` of a chat they create, so these only raise the role of people who have access anyway.
pub async fn role(
    tx: &mut Tx<'_>,
    channel: &str,
    allow: &Allow,
    roles: &BTreeMap<String, Role>,
    person: &Person,
) -> Result<Option<Role>> {
    let stored = people::role(tx, channel, &person.id).await?;
    Ok(role_with(stored, allow, roles, person))
}

/// The role of a person in a place, given the stored one; `None` for a stranger.
pub fn role_with(
    stored: Option<Role>,
    allow: &Allow,
    roles: &BTreeMap<String, Role>,
    person: &Person,
) -> Option<Role> {
    let allowed = allow.names(&person.id);
    let is_word = |role: &&String| matches!(role.as_str(), "owner" | "admin");
    let (words, ids): (Vec<_>, Vec<_>) = person.roles.iter().partition(is_word);
    let given = |of: &[&String]| of.iter().filter_map(|id| roles.get(*id)).max().copied();
    let own = roles.get(&person.id).copied();
    let role = own.max(stored).max(given(&ids)).max(allowed.then_some(Role::Member));
    let role = role.map(|role| given(&words).map_or(role, |raised| role.max(raised)));
    role.map(|role| people::at_most(&person.id, role))
}

/// A person in a web chat, where the platform assigns no roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPerson {
    pub speaker: Speaker,
    /// The role that depends on the claims of the OpenID provider.
    pub oidc_role: Option<Role>,
}

/// The channel of callers of the API with a token, whose ids begin with [`TOKEN`].
pub const API: &str = "api";
/// The beginning of the ids of tokens, so that they cannot be ids on a platform.
pub const TOKEN: &str = "token:";
/// The channel of the programs that receive webhook deliveries, whose ids begin with [`WEBHOOK_ID`].
pub const WEBHOOK: &str = "webhook";
/// The beginning of the ids of programs that receive webhook deliveries.
pub const WEBHOOK_ID: &str = "webhook:";

/// The beginning of the ids of people who signed in with an OpenID provider.
pub const OIDC: &str = "oidc:";

/// Whether the id is that of a person who signed in with an OpenID provider.
pub fn has_signed_in_with_oidc(id: &str) -> bool {
    id.starts_with(OIDC)
}

/// Who may talk on a channel, and the configured roles.
#[derive(Debug, Clone)]
pub struct ChannelAccess {
    channel: String,
    allow: Allow,
    roles: BTreeMap<String, Role>,
}

impl ChannelAccess {
    /// `None` if there is no such channel.
    pub fn to(gateway: &Gateway, channel: &str) -> Option<Self> {
        let connected = gateway.channels.get(channel)?;
        Some(Self::new(channel, &connected.allow, &connected.settings))
    }

    pub(super) fn new(channel: &str, allow: &Allow, settings: &ChannelSettings) -> Self {
        let (allow, roles) = (allow.clone(), settings.roles.clone());
        Self { channel: channel.to_owned(), allow, roles }
    }

    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Whether the configuration gives roles, by the id of a person or by a role of the platform.
    pub(super) fn maps_roles(&self) -> bool {
        !self.roles.is_empty()
    }

    /// The ids to which the configuration gives this role or a higher one.
    pub(super) fn configured(&self, role: Role) -> impl Iterator<Item = &String> {
        self.roles.iter().filter(move |(_, given)| **given >= role).map(|(id, _)| id)
    }

    /// The role of a person with these roles on the platform; `None` for a stranger.
    pub(super) async fn role(&self, tx: &mut Tx<'_>, person: &Person) -> Result<Option<Role>> {
        role(tx, &self.channel, &self.allow, &self.roles, person).await
    }

    /// The role of a person in this web chat; `None` for a stranger.
    pub async fn role_of(&self, tx: &mut Tx<'_>, person: &WebPerson) -> Result<Option<Role>> {
        let Speaker { id, name } = person.speaker.clone();
        let known = Person { name, ..known_by(&id, Vec::new()) };
        let role = self.role(tx, &known).await?;
        Ok(role.max(person.oidc_role))
    }
}

/// A person of whom only the id and the roles on the platform are known.
pub(super) fn known_by(id: &str, roles: Vec<String>) -> Person {
    Person {
        id: id.to_owned(),
        name: String::new(),
        language: None,
        is_bot: false,
        roles,
        roles_unknown: false,
    }
}

/// Whether a person still has access while the platform's roles are unknown. Where roles grant
/// access, the person is assumed to have one.
pub async fn has_access(
    tx: &mut Tx<'_>,
    channel: &str,
    allow: &Allow,
    roles: &BTreeMap<String, Role>,
    id: &str,
) -> Result<bool> {
    if allow.names(id) {
        return Ok(true);
    }
    let role = role(tx, channel, allow, roles, &known_by(id, vec![])).await?;
    let by_platform = roles.keys().any(|of| !matches!(of.as_str(), "owner" | "admin"));
    Ok(role.map_or(by_platform, |role| role >= Role::Member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_and_the_wildcard_give_access() {
        assert_eq!(Allow::from_list(&["1".into(), "*".into()]), Allow::Everybody);
        assert_eq!(Allow::from_list(&[]), Allow::Only(BTreeSet::new()));
    }
}
