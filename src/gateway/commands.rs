//! `/commands`: only what a person typed as a message of their own, never what a tool or the model
//! wrote.

use anyhow::Result;

use super::{
    approvals::{self, Choice},
    intake_context::{IntakeContext, TypedMessage, answer},
    linking,
};
use crate::{
    crash,
    journal::{
        event::{Event, Speaker, Status},
        ids::ConversationId,
        role::Role,
    },
    store::{
        Tx, approval_withdrawal, approvals as questions, conversations, journal, outbox, tasks,
    },
};

/// Does what the text commands, or takes it as the answer that a call under way waits for. `false`:
/// it is neither, the agent reads it.
pub(super) async fn obey(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    typed: &TypedMessage<'_>,
) -> Result<bool> {
    let (by, words) = (typed.by, typed.words());
    let Some((command, rest)) = split(typed.text) else {
        let taken = approvals::elicitation::typed(tx, desk, conversation, typed).await?;
        let is_answer = taken.is_some();
        if let Some(markdown) = taken {
            answer(tx, desk, conversation, (markdown, typed.answered())).await?;
        }
        return Ok(is_answer);
    };
    let markdown = match command.to_lowercase().as_str() {
        "start" | "help" => words.help.to_owned(),
        "whoami" => words.whoami([&by.name, &by.id, &desk.channel, typed.role.as_str()]),
        "status" => {
            let open = (words.open_questions)(questions::pending(tx, conversation).await?.len());
            words.status(&open, &tasks::at_work(tx, conversation).await?)
        }
        "stop" => {
            stop(tx, desk, conversation, by).await?;
            words.stopped.to_owned()
        }
        "new" => {
            end_all(tx, desk, conversation, Event::Restarted { by: by.clone() }, by).await?;
            words.fresh.to_owned()
        }
        "grants" => {
            let voter = typed.voter(&desk.channel);
            approvals::lasting_grants::typed(tx, conversation, (rest, &voter), desk.now).await?
        }
        "link" => linking::typed(tx, desk, typed, rest).await?,
        "panic" => approvals::halt::typed(tx, rest, &typed.voter(&desk.channel), desk.now).await?,
        "model" => choose_model(tx, desk, conversation, typed, rest).await?,
        "allow" | "here" | "always" | "answer" | "deny" => {
            let choice = Choice::from_command(&command.to_lowercase(), rest);
            decide_typed(tx, desk, conversation, typed, choice).await?
        }
        _ => return Ok(false),
    };
    answer(tx, desk, conversation, (markdown, typed.answered())).await?;
    Ok(true)
}

/// `/command the rest`.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let line = text.strip_prefix('/').or_else(|| crash::planted("slash").then_some(text))?;
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((command, rest.trim()))
}

/// Shows the models, or switches to one.
async fn choose_model(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    typed: &TypedMessage<'_>,
    name: &str,
) -> Result<String> {
    let words = typed.words();
    if name.is_empty() {
        let chosen = conversations::chosen_model(tx, conversation).await?;
        let chosen = chosen.filter(|model| desk.models.contains(model));
        return Ok(words.models(&chosen.unwrap_or_else(|| desk.model.clone()), &desk.models));
    }
    if typed.role < Role::Operator {
        return Ok((words.may_not)(Role::Operator.as_str()));
    }
    let Some(model) = desk.models.iter().find(|model| *model == name) else {
        return Ok(words.no_such_model(name, &desk.models));
    };
    let event = Event::ModelChosen { by: typed.by.clone(), model: model.clone() };
    journal::append(tx, conversation, &event, desk.now).await?;
    Ok((words.model_now)(model))
}

/// Ends the turn at hand, and every question of it.
pub(super) async fn stop(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    by: &Speaker,
) -> Result<()> {
    end_all(tx, desk, conversation, Event::Stopped { by: by.clone() }, by).await
}

async fn end_all(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    event: Event,
    by: &Speaker,
) -> Result<()> {
    journal::append(tx, conversation, &event, desk.now).await?;
    tasks::stop(tx, conversation, by, desk.now).await?;
    outbox::withdraw_answers(tx, conversation).await?;
    approval_withdrawal::all(tx, conversation, (Status::Withdrawn, &by.name), desk.now).await
}

/// The question that the command names by the code in it, the one that it replies to, or the only
/// one that is open and shown: in their own conversation, or else at that place.
async fn decide_typed(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    typed: &TypedMessage<'_>,
    (choice, code): (Choice, String),
) -> Result<String> {
    let mut shown = Vec::new();
    let mut hidden = 0;
    for question in questions::shown_beside(tx, conversation).await? {
        match outbox::receipt(tx, &question.question).await? {
            Some(receipt) => shown.push((question, receipt.message)),
            None => hidden += 1,
        }
    }
    let replied = shown.iter().position(|(_, message)| typed.reply_to == Some(message));
    if !code.is_empty() {
        shown.retain(|(question, _)| approvals::code(&question.id) == code);
    } else if let Some(replied) = replied {
        shown = vec![shown.swap_remove(replied)];
    } else if shown.iter().any(|(question, _)| question.shown_in == *conversation) {
        shown.retain(|(question, _)| question.shown_in == *conversation);
    }
    match shown.as_slice() {
        [(one, _)] => {
            let voter = typed.voter(&desk.channel);
            Ok(approvals::decide(tx, one, choice, &voter, desk.now).await?.text)
        }
        [] if hidden > 0 => Ok(typed.words().not_shown_yet.to_owned()),
        [] => Ok(typed.words().nothing_pending.to_owned()),
        _ => Ok(typed.words().which_one.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_line_that_begins_with_a_slash() {
        assert_eq!(split("/stop"), Some(("stop", "")));
        assert_eq!(split(" /deny 1a2b too risky "), Some(("deny", "1a2b too risky")));
        assert_eq!(split("please /stop"), None);
    }
}
