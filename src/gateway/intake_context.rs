//! What is at hand while something is taken in, and how it is answered.

use anyhow::Result;
use channels::{Limits, Outgoing, Person, Place, PlaceKind};
use chrono::{DateTime, Utc};

use super::{Manners, people::Allow};
use crate::{
    agent::approvers::Voter,
    journal::{event::Speaker, ids::ConversationId, role::Role},
    store::{Tx, journal, outbox, pairing::Owned, places::ConversationKey},
    texts::{Language, Messages},
};

/// What is needed to take something in.
#[derive(Clone)]
pub(super) struct IntakeContext {
    pub channel: String,
    pub allow: Allow,
    pub manners: Manners,
    /// What the channel can show.
    pub limits: Limits,
    /// The model of the channel's agent, and those that there are.
    pub model: String,
    pub models: Vec<String>,
    pub messages_per_minute: u32,
    pub owned: Owned,
    pub now: DateTime<Utc>,
}

/// A message that a person typed.
pub(super) struct TypedMessage<'a> {
    pub by: &'a Speaker,
    /// What the platform says they are in that place.
    pub roles: &'a [String],
    pub text: &'a str,
    pub message: &'a str,
    /// The message that it answers.
    pub reply_to: Option<&'a str>,
    pub role: Role,
    /// Whether others read along: then an answer names what it answers.
    pub group: bool,
    pub language: Language,
}

impl IntakeContext {
    /// Where that person talks with the bot.
    pub(super) fn seat<'a>(&self, place: &'a Place, person: &'a Person) -> ConversationKey<'a> {
        let own = self.manners.per_person && place.kind == PlaceKind::Group;
        ConversationKey { place, person: if own { &person.id } else { "" } }
    }
}

impl TypedMessage<'_> {
    /// The message, where an answer names it: in a group, and for a command of a platform's own
    /// kind, which wants an answer as such.
    pub fn answered(&self) -> Option<String> {
        (self.group || is_platform_command(self.message)).then(|| self.message.to_owned())
    }

    pub fn words(&self) -> &'static Messages {
        self.language.words()
    }

    /// Who typed it, as questions see them.
    pub fn voter(&self, channel: &str) -> Voter {
        Voter {
            speaker: self.by.clone(),
            channel: channel.to_owned(),
            role: Some(self.role),
            platform_roles: self.roles.to_vec(),
            language: self.language,
        }
    }
}

/// Answers in the conversation.
pub(super) async fn answer(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    (markdown, reply_to): (String, Option<String>),
) -> Result<()> {
    let seq = journal::last_seq(tx, conversation).await?;
    let shows = Outgoing::Text { markdown, reply_to }.degrade(&desk.limits);
    outbox::put(tx, conversation, seq, shows, desk.now).await
}

/// Whether it was typed as a command of the platform's own kind.
pub(super) fn is_platform_command(message: &str) -> bool {
    message.starts_with("i:")
}
