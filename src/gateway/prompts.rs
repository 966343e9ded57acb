//! Prompts of MCP servers, which people request by commands such as `/server:prompt`.
//!
//! A requested prompt is recorded like a file that comes with the message. The worker gets its text
//! from the server before the agent reads the message, and again after a crash.

use channels::FileRef;
use std::fmt::Write as _;

use super::intake_context::{IntakeContext, TypedMessage};
use crate::{
    agent::naming::sanitise,
    journal::event::{Event, PromptRequest},
    texts::Messages,
    tools::mcp::prompts::{self, PromptCommand, TypedPrompt},
};

/// The maximum number of prompts in the help text.
const MAX_LISTED: usize = 30;
/// The maximum size of a prompt's text.
pub(crate) const PROMPT_BYTES: usize = 256 * 1024;

/// The prompt that a person's message requests. Visitors of other sites cannot use any.
pub(super) fn requested(context: &IntakeContext, typed: &TypedMessage<'_>) -> Option<TypedPrompt> {
    let may_request = context.source.takes_commands() && !typed.by.is_visitor();
    if may_request { prompts::typed(&context.prompts, typed.text) } else { None }
}

/// The event for a requested prompt.
pub(super) fn sent(message: &str, request: PromptRequest) -> Event {
    let file = FileRef {
        id: String::new(),
        name: format!("{}_{}.md", sanitise(&request.server), sanitise(&request.prompt)),
        media_type: Some("text/markdown".to_owned()),
        size_bytes: Some(PROMPT_BYTES as u64),
        is_voice: false,
    };
    Event::FileSent { message: message.to_owned(), file, prompt: Some(request) }
}

/// The text of `/help`, with the prompts that the person can use.
pub(super) fn help(words: &Messages, commands: &[PromptCommand]) -> String {
    let mut text = words.help.to_owned();
    if commands.is_empty() {
        return text;
    }
    let _ = write!(text, "\n\n{}\n", words.help_prompts);
    for command in commands.iter().take(MAX_LISTED) {
        let _ = write!(text, "\n- `{}`", command.usage());
        if !command.description.is_empty() {
            let _ = write!(text, " {}", channels::text::escape(&command.description));
        }
    }
    let more = commands.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        let _ = write!(text, "\n- … (+{more})");
    }
    text
}
