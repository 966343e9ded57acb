//! What people read about votes, leave for longer and the halt.

use channels::{Choice, text};
use std::fmt::Write as _;

use super::{button, plain};
use crate::journal::standing::{Covers, Grant, Scope};

/// Inside of a code span, which no backtick and no line end leaves.
fn code(foreign: &str) -> String {
    format!("`{}`", text::neutralise(foreign).replace('`', "\u{2019}").replace('\n', " "))
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}

pub fn votes(names: &[String], needed: usize) -> String {
    let names: Vec<_> = names.iter().map(|name| plain(&short(name))).collect();
    if names.is_empty() {
        return format!("0 of {needed}");
    }
    format!("{} of {needed}: {}", names.len(), names.join(", "))
}

pub fn all_of(names: &[String]) -> String {
    names.join(", ")
}

pub fn from_elsewhere(name: &str, channel: &str) -> String {
    format!("{name}, on {channel}")
}

/// What a lasting leave would cover, in lines.
pub fn proposal(grant: &Grant) -> String {
    let whose = match grant.scope {
        Scope::Person => "for what the person who asked wants, in every chat",
        Scope::Conversation => "for everybody in this conversation",
        Scope::Bot => "for everybody, in every chat",
    };
    format!(
        "**Always** would allow, without asking again:\n\n\
         - {}: {}\n- {whose}\n- until {}, {}\n\nGive this leave?",
        plain(&grant.tool),
        covered(&grant.covers),
        grant.expires_at.format("%Y-%m-%d"),
        uses(grant.uses_left)
    )
}

/// The same where there are no buttons.
pub fn proposal_typed(grant: &Grant, question: &str) -> String {
    format!(
        "{} Type `/always {question} yes`, and behind it what is to differ: `conversation`, \
         `7d`, `5x`.",
        proposal(grant)
    )
}

fn covered(covers: &Covers) -> String {
    match covers {
        Covers::Everything => "whatever its arguments are".to_owned(),
        Covers::Below(folder) => format!("only paths below {}", code(&format!("{folder}/"))),
        Covers::Exactly(text) => format!("only {}", code(text)),
        Covers::Origin(origin) => format!("only addresses of {}", code(origin)),
        Covers::Command(words) => {
            format!("only {}, with no other options", code(&words.join(" ")))
        }
    }
}

fn uses(left: Option<i64>) -> String {
    match left {
        None => "as often as wanted".to_owned(),
        Some(1) => "once".to_owned(),
        Some(n) => format!("{n} times"),
    }
}

pub fn giving() -> Vec<Choice> {
    vec![button("Give", 'y'), button("Back", 'b'), button("Deny", 'd')]
}

pub fn revoking() -> Vec<Choice> {
    vec![button("Revoke", 'v')]
}

pub fn settled_for_longer(settled: &str, grant: &Grant) -> String {
    let until = grant.expires_at.format("%Y-%m-%d");
    format!("{settled} From now on without asking: {}, until {until}.", covered(&grant.covers))
}

pub fn revoked(settled: &str, by: &str) -> String {
    format!("{settled} Leave for later calls was revoked by {}.", plain(by))
}

/// `end` gives the code by which a grant is named.
pub fn grants(grants: &[Grant], end: impl Fn(&str) -> &str) -> String {
    if grants.is_empty() {
        return "Nothing is allowed for longer.".to_owned();
    }
    let mut list = String::from("Allowed without asking:\n\n");
    for grant in grants {
        let whose = match grant.scope {
            Scope::Person => format!("for {}", code(&grant.owner)),
            Scope::Conversation => "in one conversation".to_owned(),
            Scope::Bot => "for everybody".to_owned(),
        };
        let _ = writeln!(
            list,
            "- `{}` {}: {}; {whose}, until {}, {}, given by {}",
            end(grant.id.as_str()),
            plain(&grant.tool),
            covered(&grant.covers),
            grant.expires_at.format("%Y-%m-%d"),
            uses(grant.uses_left),
            plain(&short(&grant.given_by.name))
        );
    }
    format!("{list}\n{GRANTS_USAGE}")
}

pub const PROPOSED: &str = "Read what it would allow, then give it or go back.";
pub const NOT_GIVEN: &str = "Nothing was decided.";
pub const NOT_OFFERED: &str = "This can only be allowed once, or denied.";
pub const REVOKED: &str = "Revoked: I ask again from now on.";
pub const NO_SUCH_GRANT: &str = "This leave does not hold any more.";
pub const NOT_YOUR_GRANT: &str = "You may not revoke this leave.";
pub const GRANTS_USAGE: &str = "`/grants revoke 1a2b3c4d` takes one back, by its code.";
pub const OWNER_ONLY: &str = "Only the owner of this bot may do that.";
pub const MOVED_HERE: &str =
    "I cannot show this question where it was asked any more, so I ask you here.";

/// The model reads it.
pub const NOT_FOR_OTHERS: &str = "Leave for everybody here is for somebody to give who may decide \
    for everybody here. Leave it out, and it holds for the person who asked.";
pub const HALTED_CALL: &str =
    "Denied: the owner has halted all tools. Do not try again; tell the person.";
/// To whom it may concern; the model reads it too.
pub const HALTED_BY_OWNER: &str = "all tools are halted";
pub const HALTED: &str = "All tools are halted. Nothing can be allowed until the owner lifts that.";
pub const LIFTED: &str = "Lifted: tools run again.";
pub const NOT_HALTED: &str = "Nothing was halted.";
pub const PANIC_USAGE: &str =
    "`/panic` halts all tools and denies all open questions; `/panic off` lifts it.";

pub fn halted(denied: usize) -> String {
    format!("All tools are halted, on every node. Questions denied: {denied}. /panic off lifts it.")
}

pub fn too_many_questions(per_hour: usize) -> String {
    format!(
        "Denied: people were asked {per_hour} questions here within an hour, the most there may \
         be. Tell the person, and go on when they say so."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::{event::Asks, event::Speaker, ids::GrantId},
        texts::{self, QuestionParts},
    };
    use channels::text::Style;
    use chrono::DateTime;
    use proptest::prelude::*;
    use serde_json::json;

    /// What somebody writes who wants a question to read like another one.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ -~\n]{0,20}",
            Just("```\n\nAsked for by Ann. Open until tomorrow, code `00000000`.".to_owned()),
            Just("\u{202e}\u{200b}\u{2066}\u{feff}\u{7}".to_owned()),
            Just("[link](https://evil.example) <@123> @everyone ![x](y)".to_owned()),
            Just("**bold** _it_ ~~no~~ ||spoiler|| `code` # head\n> quote\n- item".to_owned()),
            Just("`````\n</pre><b>".to_owned()),
            any::<String>(),
        ];
        proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    fn unseen(text: &str) -> bool {
        text::neutralise(text) != text
    }

    proptest! {
        /// A8, S18: whatever stands in a call, its question has one title, one last line, no link
        /// and no character that cannot be seen; and all of the text is there.
        #[test]
        fn a_hostile_call_does_not_change_its_question(
            [name, value, other, reason] in [hostile(), hostile(), hostile(), hostile()],
        ) {
            let arguments = json!({ name: value, "path": other });
            let markdown = texts::question(&QuestionParts {
                title: &texts::question_title(Asks::Allow, "delete"),
                summary: &reason,
                arguments: &arguments,
                preview: None,
                reason: &reason,
                requester: &other,
                expires_at: DateTime::UNIX_EPOCH,
                code: "12345678",
            });
            let shown = text::format(&markdown);
            prop_assert!(!unseen(&shown.text), "{}", shown.text);
            prop_assert!(shown.text.starts_with("Allow delete?"), "{}", shown.text);
            let end = "Open until 1970-01-01 00:00 UTC, code 12345678.";
            prop_assert!(shown.text.trim_end().ends_with(end), "{}", shown.text);
            for span in &shown.spans {
                let harmless = matches!(span.style, Style::Bold | Style::Code | Style::Pre { .. });
                prop_assert!(harmless, "{span:?} in {}", shown.text);
            }
            let bold = shown.spans.iter().filter(|span| matches!(span.style, Style::Bold));
            prop_assert_eq!(bold.count(), 1);
        }

        /// S18: nor does it change the leave that it proposes.
        #[test]
        fn a_hostile_subject_does_not_change_its_leave(subject in hostile()) {
            let grant = Grant {
                id: GrantId::new(),
                tool: "delete".into(),
                covers: Covers::Exactly(subject),
                scope: Scope::Person,
                owner: "room/1".into(),
                given_by: Speaker { id: "1".into(), name: "Ann".into() },
                expires_at: DateTime::UNIX_EPOCH,
                uses_left: None,
            };
            let shown = text::format(&proposal(&grant));
            prop_assert!(!unseen(&shown.text), "{}", shown.text);
            let end = "• until 1970-01-01, as often as wanted\n\nGive this leave?";
            prop_assert!(shown.text.ends_with(end), "{}", shown.text);
            prop_assert!(shown.spans.len() <= 2, "{:?}", shown.spans);
        }
    }
}
