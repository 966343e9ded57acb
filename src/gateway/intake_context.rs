//! The context for handling one inbound update, and helpers to reply.

use anyhow::{Result, bail};
use channels::{Limits, MessageRef, Outgoing, Person, Place, PlaceKind};
use chrono::{DateTime, Utc};
use std::sync::Arc;

use super::{
    ChannelSettings, Gateway,
    people::{self, Allow, ChannelAccess},
};
use crate::{
    agent::approvers::{RoleLookups, Voter},
    journal::{event::Speaker, ids::ConversationId, role::Role},
    store::{
        self, Tx, conversations::places::ConversationKey, outbox, people::pairing::OwnerSource,
    },
    texts::{Language, Messages},
    tools::mcp::prompts::PromptCommand,
};

/// Where updates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntakeOrigin {
    Platform,
    /// A page of the web chat, which waits for the result. The role depends on the claims of the
    /// OpenID provider.
    Web {
        oidc_role: Option<Role>,
    },
    /// A program with an API token of this role, which waits for the result. What it sends may have
    /// been written by others, so it is never taken for a command.
    Api {
        role: Role,
    },
}

impl IntakeOrigin {
    /// Whether a message can be a command, or the answer to an elicitation.
    pub(super) fn takes_commands(self) -> bool {
        !matches!(self, Self::Api { .. })
    }
}

/// The configuration and state that handling an update needs.
#[derive(Clone)]
pub(super) struct IntakeContext {
    pub channel: String,
    pub source: IntakeOrigin,
    pub allow: Allow,
    pub settings: ChannelSettings,
    /// The limits for new contents.
    pub limits: Limits,
    /// The model of the channel's agent, and all configured models.
    pub model: String,
    pub models: Vec<String>,
    /// The prompts of MCP servers that people can use with the channel's agent.
    pub prompts: Arc<Vec<PromptCommand>>,
    pub messages_per_minute: u32,
    pub owned: OwnerSource,
    pub now: DateTime<Utc>,
}

/// A message that a person typed.
pub(super) struct TypedMessage<'a> {
    pub by: &'a Speaker,
    /// The person's platform roles in this place.
    pub roles: &'a [String],
    /// What was looked up before the message, which may be a command that decides.
    pub lookups: &'a RoleLookups,
    pub text: &'a str,
    pub message: &'a str,
    /// The message that this one replies to.
    pub reply_to: Option<&'a str>,
    pub role: Role,
    /// Whether the chat is a group, where a reply names the message that it answers.
    pub group: bool,
    pub language: Language,
}

impl IntakeContext {
    pub(super) fn new(gateway: &Gateway, channel: &str, source: IntakeOrigin) -> Result<Self> {
        let Some(connected) = gateway.channels.get(channel) else {
            bail!("there is no channel `{channel}`");
        };
        Ok(Self {
            channel: channel.to_owned(),
            source,
            allow: connected.allow.clone(),
            settings: connected.settings.clone(),
            limits: connected.content_limits(),
            model: connected.model.clone(),
            models: gateway.models.clone(),
            prompts: gateway.prompts.of(&connected.agent),
            messages_per_minute: gateway.messages_per_minute,
            owned: gateway.owned(),
            now: gateway.clock.now(),
        })
    }

    /// The role of the sender; `None` for a stranger.
    pub(super) async fn role_of(&self, tx: &mut Tx<'_>, person: &Person) -> Result<Option<Role>> {
        let stored = store::people::role(tx, &self.channel, &person.id).await?;
        Ok(self.role_with(stored, person))
    }

    /// The role of the sender, given the stored one.
    pub(super) fn role_with(&self, stored: Option<Role>, person: &Person) -> Option<Role> {
        let role = people::role_with(stored, &self.allow, &self.settings.roles, person);
        match self.source {
            IntakeOrigin::Platform => role,
            IntakeOrigin::Web { oidc_role } => role.max(oidc_role),
            IntakeOrigin::Api { role: own } => role.max(Some(own)),
        }
    }

    /// Who may talk on the channel.
    pub(super) fn access(&self) -> ChannelAccess {
        ChannelAccess::new(&self.channel, &self.allow, &self.settings)
    }

    /// The key of this person's conversation in a place.
    pub(super) fn conversation_key<'a>(
        &self,
        place: &'a Place,
        person: &'a Person,
    ) -> ConversationKey<'a> {
        let own = self.settings.per_person && place.kind == PlaceKind::Group;
        ConversationKey { place, person: if own { &person.id } else { "" } }
    }
}

impl TypedMessage<'_> {
    /// The message id, where a reply has to name it: in a group, and for a native platform command,
    /// which must be answered as such.
    pub fn answered(&self) -> Option<String> {
        (self.group || is_platform_command(self.message)).then(|| self.message.to_owned())
    }

    pub fn words(&self) -> &'static Messages {
        self.language.words()
    }

    /// The author as a voter on approvals.
    pub fn voter(&self, channel: &str) -> Voter {
        Voter {
            speaker: self.by.clone(),
            channel: channel.to_owned(),
            role: Some(self.role),
            platform_roles: self.roles.to_vec(),
            lookups: self.lookups.clone(),
            language: self.language,
        }
    }
}

/// Replies in the conversation, before answers of the agent that wait.
pub(super) async fn answer(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    conversation: &ConversationId,
    markdown: String,
    reply_to: Option<String>,
) -> Result<()> {
    let shows = Outgoing::Text { markdown, reply_to }.degrade(&context.limits);
    outbox::put_before_answers(tx, conversation, shows, context.now).await
}

/// Whether the message is a native platform command.
pub(super) fn is_platform_command(message: &str) -> bool {
    matches!(MessageRef::parse(message), MessageRef::Command(_))
}
