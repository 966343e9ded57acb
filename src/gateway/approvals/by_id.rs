//! Decides an approval by its id, for callers that are signed in or have a token.

use anyhow::{Context as _, Result};
use channels::{Button, Place};

use super::{Choice, DecisionReply, ReasonedButton, answer, decide, platform_roles::RoleSource};
use crate::{
    agent::approvers::Voter,
    gateway::{
        Gateway,
        people::{ChannelAccess, WebPerson},
    },
    journal::role::Role,
    store::{
        approvals as approval_store,
        conversations::{self, journal},
    },
    texts::Language,
};

/// A button of an approval, by the public id of the approval.
#[derive(Debug, Clone, Copy)]
pub struct PressedButton<'a> {
    pub approval: &'a str,
    /// `None` for an unknown key.
    pub button: Option<Button>,
}

/// Presses a button of an approval that is shown in the given place. Used by the web chat. A person
/// who may not talk on the channel may not press either.
pub async fn decide_by_id(
    gateway: &Gateway,
    channel: &str,
    place: &Place,
    button: PressedButton<'_>,
    by: WebPerson,
) -> Result<String> {
    let lookups = RoleSource::new(gateway).before_deciding(button.approval).await?;
    let access = ChannelAccess::to(gateway, channel).context("there is no such channel")?;
    let (channel, place, id) = (channel.to_owned(), place.clone(), button.approval.to_owned());
    let pressed = ReasonedButton { button: button.button, reason: None };
    let now = gateway.clock.now();
    gateway
        .store
        .write("decide", move |tx| {
            Box::pin(async move {
                let role = access.role_of(tx, &by).await?;
                let here = journal::find_conversation(tx, &channel, &place).await?;
                let language = match &here {
                    Some(here) => {
                        Language::of(Some(&conversations::language(tx, here, None).await?))
                    }
                    None => Language::default(),
                };
                if role.is_none_or(|role| role < Role::Member) {
                    return Ok(language.words().not_for_you.to_owned());
                }
                let voter = Voter {
                    speaker: by.speaker,
                    channel,
                    role,
                    platform_roles: Vec::new(),
                    lookups,
                    language,
                };
                let found = approval_store::by_id(tx, &id).await?;
                let Some(approval) = found.filter(|a| here.as_ref() == Some(&a.shown_in)) else {
                    return Ok(voter.words().no_such_button.to_owned());
                };
                answer(tx, &approval, pressed, &voter, now).await
            })
        })
        .await
}

/// Decides any approval on behalf of an operator; the approval's own policy says who may decide.
/// `None` if there is no such approval.
pub async fn decide_as(
    gateway: &Gateway,
    id: &str,
    choice: Choice,
    voter: Voter,
) -> Result<Option<DecisionReply>> {
    let lookups = RoleSource::new(gateway).before_deciding(id).await?;
    let voter = Voter { lookups, ..voter };
    let (id, now) = (id.to_owned(), gateway.clock.now());
    gateway
        .store
        .write("decide", move |tx| {
            Box::pin(async move {
                let Some(approval) = approval_store::by_id(tx, &id).await? else { return Ok(None) };
                decide(tx, &approval, choice, &voter, now).await.map(Some)
            })
        })
        .await
}
