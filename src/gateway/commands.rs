//! Commands such as `/new`, accepted only as a message that a person typed, never from a tool or
//! the model.

use anyhow::Result;

use super::{
    approvals::{self, Choice, DecisionCommand},
    intake_context::{IntakeContext, TypedMessage, answer},
    linking, prompts,
};
use crate::{
    journal::{
        event::{Event, Speaker, Status},
        ids::ConversationId,
        role::Role,
    },
    store::{
        Tx,
        approvals::{self as approval_store, withdrawal},
        conversations::{self, intake::IntakeState, journal, tasks},
        jobs, outbox,
    },
};

/// Executes the command in the text, or takes the text as the answer to an open elicitation.
/// Returns `false` if it is neither, so that the agent reads it.
pub(super) async fn execute(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    state: &IntakeState,
    typed: &TypedMessage<'_>,
) -> Result<bool> {
    if !context.source.takes_commands() {
        return Ok(false);
    }
    let conversation = &state.conversation;
    let (by, words) = (typed.by, typed.words());
    let Some((command, rest)) = split(typed.text) else {
        if !state.has_open_approvals {
            return Ok(false);
        }
        let taken = approvals::elicitation::typed(tx, context, conversation, typed).await?;
        let is_answer = taken.is_some();
        if let Some(markdown) = taken {
            answer(tx, context, conversation, markdown, typed.answered()).await?;
        }
        return Ok(is_answer);
    };
    let Some(command) = Command::parse(&command.to_lowercase()) else { return Ok(false) };
    let markdown = match command {
        Command::Help => {
            let commands: &[_] = if by.is_visitor() { &[] } else { &context.prompts };
            prompts::help(words, commands)
        }
        Command::Whoami => words.whoami(by, &context.channel, typed.role),
        Command::Status => {
            let open =
                (words.pending_approvals)(approval_store::pending(tx, conversation).await?.len());
            words.status(&open, &tasks::at_work(tx, conversation).await?)
        }
        Command::Stop => {
            stop(tx, context, conversation, by).await?;
            jobs::cancel_all(tx, conversation, by, context.now).await?;
            words.stopped.to_owned()
        }
        Command::New => {
            end_all(tx, context, conversation, Event::Restarted { by: by.clone() }, by).await?;
            words.conversation_restarted.to_owned()
        }
        Command::Grants => {
            let voter = typed.voter(&context.channel);
            approvals::grant_management::typed(tx, conversation, rest, &voter, context.now).await?
        }
        Command::Link => linking::typed(tx, context, typed, rest).await?,
        Command::Panic => {
            approvals::halt::typed(tx, rest, &typed.voter(&context.channel), context.now).await?
        }
        Command::Model => choose_model(tx, context, conversation, typed, rest).await?,
        Command::Decide(command) => {
            let (choice, code) = Choice::from_command(command, rest);
            let typed_choice = TypedChoice { choice, code };
            decide_typed(tx, context, conversation, typed, typed_choice).await?
        }
    };
    answer(tx, context, conversation, markdown, typed.answered()).await?;
    Ok(true)
}

/// A command that a person can type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Help,
    Whoami,
    Status,
    Stop,
    New,
    Grants,
    Link,
    Panic,
    Model,
    Decide(DecisionCommand),
}

impl Command {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "start" | "help" => Some(Self::Help),
            "whoami" => Some(Self::Whoami),
            "status" => Some(Self::Status),
            "stop" => Some(Self::Stop),
            "new" => Some(Self::New),
            "grants" => Some(Self::Grants),
            "link" => Some(Self::Link),
            "panic" => Some(Self::Panic),
            "model" => Some(Self::Model),
            _ => DecisionCommand::parse(text).map(Self::Decide),
        }
    }
}

/// Whether the text is a command that decides an approval.
pub(super) fn decides(text: &str) -> bool {
    let command = split(text).and_then(|(command, _)| Command::parse(&command.to_lowercase()));
    matches!(command, Some(Command::Decide(_)))
}

/// Splits `/command rest`.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let line = text.strip_prefix('/')?;
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((command, rest.trim()))
}

/// Lists the models, or switches to one.
async fn choose_model(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    conversation: &ConversationId,
    typed: &TypedMessage<'_>,
    name: &str,
) -> Result<String> {
    let words = typed.words();
    if name.is_empty() {
        let chosen = conversations::chosen_model(tx, conversation).await?;
        let chosen = chosen.filter(|model| context.models.contains(model));
        return Ok(words.models(&chosen.unwrap_or_else(|| context.model.clone()), &context.models));
    }
    if typed.role < Role::Operator {
        return Ok((words.may_not)(Role::Operator.as_str()));
    }
    let Some(model) = context.models.iter().find(|model| *model == name) else {
        return Ok(words.no_such_model(name, &context.models));
    };
    let event = Event::ModelChosen { by: typed.by.clone(), model: model.clone() };
    journal::append(tx, conversation, &event, context.now).await?;
    Ok((words.model_now)(model))
}

/// Ends the current turn and withdraws its approvals.
pub(super) async fn stop(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    conversation: &ConversationId,
    by: &Speaker,
) -> Result<()> {
    end_all(tx, context, conversation, Event::Stopped { by: by.clone() }, by).await
}

async fn end_all(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    conversation: &ConversationId,
    event: Event,
    by: &Speaker,
) -> Result<()> {
    journal::append(tx, conversation, &event, context.now).await?;
    tasks::stop(tx, conversation, by, context.now).await?;
    outbox::withdraw_answers(tx, conversation).await?;
    withdrawal::all(tx, conversation, Status::Withdrawn, &by.name, context.now).await
}

/// A decision that was typed, and the code of its approval; empty if none was typed.
struct TypedChoice {
    choice: Choice,
    code: String,
}

/// The approval that a command refers to: by the code in the command, by the message it replies to,
/// or the only open one that was shown, first in the person's own conversation, then in this place.
async fn decide_typed(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    conversation: &ConversationId,
    typed: &TypedMessage<'_>,
    TypedChoice { choice, code }: TypedChoice,
) -> Result<String> {
    let mut shown = Vec::new();
    let mut hidden = 0;
    for approval in approval_store::shown_beside(tx, conversation).await? {
        match outbox::receipt(tx, &approval.message).await? {
            Some(receipt) => shown.push((approval, receipt.message)),
            None => hidden += 1,
        }
    }
    let replied = shown.iter().position(|(_, message)| typed.reply_to == Some(message));
    if !code.is_empty() {
        shown.retain(|(approval, _)| approvals::code(&approval.id) == code);
    } else if let Some(replied) = replied {
        shown = vec![shown.swap_remove(replied)];
    } else if shown.iter().any(|(approval, _)| approval.shown_in == *conversation) {
        shown.retain(|(approval, _)| approval.shown_in == *conversation);
    }
    match shown.as_slice() {
        [(one, _)] => {
            let voter = typed.voter(&context.channel);
            let choice = approvals::grant_management::proposed_first(tx, one, choice).await?;
            Ok(approvals::decide(tx, one, choice, &voter, context.now).await?.text)
        }
        [] if hidden > 0 => Ok(typed.words().not_shown_yet.to_owned()),
        [] => Ok(typed.words().nothing_pending.to_owned()),
        _ => Ok(typed.words().which_one.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;

    /// Every command is in the help, in each language, and in the documentation.
    #[test]
    fn every_command_is_in_the_help_and_in_the_documentation() {
        let page = include_str!("../../docs/reference/chat-commands.md");
        let words = "whoami status stop new grants link panic model allow here always answer \
                     withdraw deny";
        for word in words.split_whitespace() {
            assert!(Command::parse(word).is_some(), "{word}");
            assert!(page.contains(&format!("`/{word}")), "the page lacks /{word}");
            for language in Language::ALL {
                let help = language.words().help;
                assert!(help.contains(&format!("/{word}")), "{language:?} lacks /{word}");
            }
        }
        assert!(page.contains("`/help`") && page.contains("`/start`") && page.contains("`/pair "));
    }

    #[test]
    fn a_command_is_a_line_that_begins_with_a_slash() {
        assert_eq!(split("/stop"), Some(("stop", "")));
        assert_eq!(split(" /deny 1a2b too risky "), Some(("deny", "1a2b too risky")));
        assert_eq!(split("please /stop"), None);
    }
}
