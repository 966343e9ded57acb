//! The roles of people in a group, which are looked up for presses and commands. They are unknown if
//! the platform does not report them within two seconds.

use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use futures::future::join_all;
use serde_json::Value;
use teloxide::{
    payloads::GetChatMember,
    types::{ChatId, UserId},
};
use tokio::time::Instant;

use super::{
    Telegram,
    api::{Api, Failure},
};
use crate::{Incoming, Place, PlaceKind, incoming::IncomingContent};

/// How long an answer is cached: a dismissed administrator keeps the role for at most a minute.
const KNOWN_FOR: Duration = Duration::from_mins(1);
/// The timeout. A slow answer delays the other updates of the batch.
const WITHIN: Duration = Duration::from_secs(2);
/// The maximum number of cached answers.
const AT_MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Roles(Mutex<Known>);

/// The cached answers by chat and person, with the time of each.
type Known = HashMap<(i64, u64), (Instant, Vec<String>)>;

impl Telegram {
    /// Looks up each person once, however often they press.
    pub(super) async fn fill_in_roles(&self, incomings: &mut [Incoming]) {
        let mut seen = BTreeSet::new();
        let mut is_first = |incoming: &&mut Incoming| {
            let person = incoming.person.as_ref().map(|person| person.id.clone());
            seen.insert((incoming.place.chat.clone(), person))
        };
        let wanted = incomings.iter_mut().filter(|incoming| needs_roles(incoming));
        let (first, again): (Vec<_>, Vec<_>) = wanted.partition(&mut is_first);
        join_all(first.into_iter().map(|incoming| self.roles.fill_in(&self.api, incoming))).await;
        for incoming in again {
            self.roles.fill_in_known(incoming);
        }
    }
}

impl Roles {
    async fn fill_in(&self, api: &Api, incoming: &mut Incoming) {
        let Some(person) = &mut incoming.person else { return };
        match self.at(api, &incoming.place, &person.id).await {
            Ok(roles) => person.roles = roles,
            Err(_) => person.roles_unknown = true,
        }
    }

    fn fill_in_known(&self, incoming: &mut Incoming) {
        let Some(person) = &mut incoming.person else { return };
        let known = match (incoming.place.chat.parse(), person.id.parse()) {
            (Ok(chat), Ok(id)) => self.known(chat, id),
            _ => None,
        };
        person.roles_unknown = known.is_none();
        person.roles = known.unwrap_or_default();
    }

    pub(super) async fn at(
        &self,
        api: &Api,
        place: &Place,
        person: &str,
    ) -> Result<Vec<String>, Failure> {
        let group = place.kind == PlaceKind::Group;
        match (place.chat.parse(), person.parse()) {
            (Ok(chat), Ok(id)) if group => self.of(api, chat, id).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn of(&self, api: &Api, chat: i64, person: u64) -> Result<Vec<String>, Failure> {
        if let Some(roles) = self.known(chat, person) {
            return Ok(roles);
        }
        let asked_at = Instant::now();
        let ask = GetChatMember::new(ChatId(chat), UserId(person));
        let answer = match api.call(&ask, WITHIN).await {
            Ok(answer) => answer,
            Err(Failure::Refused { description, .. }) if is_no_member(&description) => Value::Null,
            Err(failure) => return Err(failure),
        };
        let role = match answer["status"].as_str() {
            Some("creator") => Some("owner"),
            Some("administrator") => Some("admin"),
            _ => None,
        };
        let roles: Vec<String> = role.map(str::to_owned).into_iter().collect();
        let mut known = self.0.lock();
        if known.len() >= AT_MOST {
            known.clear();
        }
        known.insert((chat, person), (asked_at, roles.clone()));
        Ok(roles)
    }

    fn known(&self, chat: i64, person: u64) -> Option<Vec<String>> {
        let known = self.0.lock();
        let (asked_at, roles) = known.get(&(chat, person))?;
        (asked_at.elapsed() < KNOWN_FOR).then(|| roles.clone())
    }
}

/// Whether the person is not in the group.
fn is_no_member(description: &str) -> bool {
    ["user not found", "member not found", "PARTICIPANT_ID_INVALID", "USER_ID_INVALID"]
        .iter()
        .any(|refusal| description.contains(refusal))
}

/// Whether the roles of the author are looked up.
fn needs_roles(incoming: &Incoming) -> bool {
    let is_command = match &incoming.what {
        IncomingContent::Press { .. } => true,
        IncomingContent::Text { text, addressed, .. } => *addressed && text.starts_with('/'),
        _ => false,
    };
    let is_person = incoming.person.as_ref().is_some_and(|person| !person.is_bot);
    is_command && is_person && incoming.place.kind == PlaceKind::Group
}
