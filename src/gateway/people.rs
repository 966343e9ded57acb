//! Who may talk on a channel: people whom `allow` names and people who redeemed a pairing code.

use anyhow::Result;
use channels::Person;
use std::collections::{BTreeMap, BTreeSet};

use super::{ChannelSettings, Gateway, intake_context::IntakeContext};
use crate::{
    journal::{event::Speaker, role::Role},
    store::{
        Tx,
        audit::{self, AuditKind, Fact},
        people::{
            self,
            pairing::{self, Bearer, Pairing},
        },
    },
    texts::Language,
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

/// The reply to a stranger. A pairing code in the text is redeemed.
pub(super) async fn offer_pairing(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    person: &Person,
    text: &str,
) -> Result<String> {
    let IntakeContext { channel, owned, now, .. } = context;
    let (channel, owned, now) = (channel.as_str(), *owned, *now);
    let words = Language::of(person.language.as_deref()).words();
    let Some(code) = pairing_code(text) else { return Ok(words.stranger(&person.id)) };
    let bearer = Bearer { channel, id: &person.id, name: &person.name, code: &code, owned };
    let pairing = pairing::pair(tx, bearer, now).await?;
    if let Pairing::Paired(role) = pairing {
        let fact = Fact::new(AuditKind::Paired, &person.id)
            .with("channel", channel)
            .with("role", role.as_str());
        audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    }
    Ok(match pairing {
        Pairing::Paired(Role::Owner) => words.paired_owner,
        Pairing::Paired(_) => words.paired,
        Pairing::Wrong => words.wrong_code,
        Pairing::Locked => words.locked,
    }
    .to_owned())
}

/// The letters of a code, without those that look alike. There are 32, so that each byte maps to
/// one without bias.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE: usize = 10;

/// Creates a code of 50 bits. Five wrong guesses lock a person out for 15 minutes.
pub fn new_code() -> String {
    let mut bytes = [0_u8; CODE];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect()
}

/// The code in `/start CODE`, `/pair CODE`, or a message that consists of a code only.
pub(super) fn pairing_code(text: &str) -> Option<String> {
    let word = text.trim();
    let word = word.strip_prefix("/start").or_else(|| word.strip_prefix("/pair")).unwrap_or(word);
    let code: String =
        word.chars().filter(|c| !c.is_whitespace() && *c != '-').collect::<String>().to_uppercase();
    let is_code = code.len() == CODE && code.bytes().all(|b| LETTERS.contains(&b));
    is_code.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_what_people_type() {
        let code = new_code();
        assert_eq!(pairing_code(&code), Some(code.clone()));
        assert_eq!(pairing_code(&format!("/start {code}")), Some(code.clone()));
        let (left, right) = code.split_at(5);
        assert_eq!(pairing_code(&format!(" {}-{right} ", left.to_lowercase())), Some(code));
        assert_eq!(pairing_code("/start"), None);
        assert_eq!(pairing_code("hello there"), None);
    }

    #[test]
    fn only_ids_and_the_wildcard_give_access() {
        assert_eq!(Allow::from_list(&["1".into(), "*".into()]), Allow::Everybody);
        assert_eq!(Allow::from_list(&[]), Allow::Only(BTreeSet::new()));
    }
}
