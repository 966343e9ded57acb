//! The texts of votes, grants and the halt.

use channels::{Button, Choice, text};
use std::fmt::Write as _;

use super::{Fmt1, Fmt2, Messages, choice, plain};
use crate::journal::grant::{Grant, GrantSubject, Scope};

/// A code span that cannot be ended by its contents.
fn code(content: &str) -> String {
    format!("`{}`", text::reveal(content).replace('`', "\u{2019}").replace('\n', " "))
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}

/// The terms of a grant in words.
pub struct GrantWords<'a> {
    pub whose: &'a str,
    pub until: &'a str,
    pub uses: &'a str,
}

pub struct GrantTexts {
    /// The number of votes, the number required, the names.
    pub votes: fn(usize, usize, &str) -> String,
    /// The label of the button that takes back one's vote.
    pub withdraw: &'static str,
    pub already_voted: &'static str,
    pub no_vote: &'static str,
    /// Name, channel.
    pub from_elsewhere: Fmt2,
    pub whose_person: &'static str,
    pub whose_conversation: &'static str,
    pub whose_bot: &'static str,
    /// Tool, subject.
    pub proposal: fn(&str, &str, &GrantWords<'_>) -> String,
    /// The code of the approval.
    pub type_yes: Fmt1,
    pub everything: &'static str,
    pub below: Fmt1,
    pub exactly: Fmt1,
    pub origin: Fmt1,
    pub command: Fmt1,
    pub uses: fn(Option<i64>) -> String,
    pub give: &'static str,
    pub back: &'static str,
    pub revoke: &'static str,
    /// Scope, expiry.
    pub from_now_on: Fmt2,
    pub revoked_by: Fmt1,
    pub nothing: &'static str,
    pub list: &'static str,
    pub for_person: Fmt1,
    pub in_conversation: &'static str,
    pub for_everybody: &'static str,
    /// The person who gave it.
    pub line: fn(&GrantWords<'_>, &str) -> String,
    pub proposed: &'static str,
    pub not_given: &'static str,
    /// The platform did not report the roles that the decision depends on.
    pub roles_unknown: &'static str,
    pub not_offered: &'static str,
    pub revoked: &'static str,
    pub no_such_grant: &'static str,
    pub not_your_grant: &'static str,
    pub grants_usage: &'static str,
    pub owner_only: &'static str,
    pub not_for_others: &'static str,
    pub moved_here: &'static str,
    pub all_halted: &'static str,
    pub lifted: &'static str,
    pub not_halted: &'static str,
    pub panic_usage: &'static str,
    /// The number of denied approvals.
    pub halted: fn(usize) -> String,
}

impl Messages {
    pub fn votes(&self, names: &[String], needed: usize) -> String {
        let shown: Vec<_> = names.iter().map(|name| plain(&short(name))).collect();
        let summary = (self.grant_texts.votes)(names.len(), needed, &shown.join(", "));
        // Without names, the text must not end in a colon.
        summary.trim_end_matches([' ', ':', '\u{ff1a}']).to_owned()
    }

    /// Describes the proposed grant.
    pub fn proposal(&self, grant: &Grant) -> String {
        let words = &self.grant_texts;
        let whose = match grant.scope {
            Scope::Person => words.whose_person,
            Scope::Conversation => words.whose_conversation,
            Scope::Bot => words.whose_bot,
        };
        let (tool, covered) = (plain(&grant.tool), words.covered(&grant.covers));
        let (until, uses) = (until(grant), (words.uses)(grant.uses_left));
        let terms = GrantWords { whose, until: &until, uses: &uses };
        (words.proposal)(&tool, &covered, &terms)
    }

    /// The same for platforms without buttons.
    pub fn proposal_typed(&self, grant: &Grant, approval_code: &str) -> String {
        format!("{} {}", self.proposal(grant), (self.grant_texts.type_yes)(approval_code))
    }

    pub fn giving(&self) -> Vec<Choice> {
        let GrantTexts { give, back, .. } = self.grant_texts;
        vec![
            choice(give, Button::GiveGrant),
            choice(back, Button::Back),
            choice(self.deny, Button::Deny),
        ]
    }

    pub fn withdrawing(&self) -> Choice {
        choice(self.grant_texts.withdraw, Button::WithdrawVote)
    }

    pub fn revoking(&self) -> Vec<Choice> {
        vec![choice(self.grant_texts.revoke, Button::RevokeGrant)]
    }

    pub fn settled_for_longer(&self, settled: &str, grant: &Grant) -> String {
        let covered = self.grant_texts.covered(&grant.covers);
        format!("{settled} {}", (self.grant_texts.from_now_on)(&covered, &until(grant)))
    }

    pub fn revoked(&self, settled: &str, by: &str) -> String {
        format!("{settled} {}", (self.grant_texts.revoked_by)(&plain(by)))
    }

    /// Lists grants. `end` returns the code that identifies a grant.
    pub fn grants(&self, grants: &[Grant], end: impl Fn(&str) -> &str) -> String {
        let words = &self.grant_texts;
        if grants.is_empty() {
            return words.nothing.to_owned();
        }
        let mut list = format!("{}\n\n", words.list);
        for grant in grants {
            let (code, tool) = (end(grant.id.as_str()), plain(&grant.tool));
            let (covered, line) = (words.covered(&grant.covers), words.line(grant));
            let _ = writeln!(list, "- `{code}` {tool}: {covered}; {line}");
        }
        format!("{list}\n{}", words.grants_usage)
    }
}

impl GrantTexts {
    fn covered(&self, covers: &GrantSubject) -> String {
        match covers {
            GrantSubject::Everything => self.everything.to_owned(),
            GrantSubject::Below(folder) => (self.below)(&code(&format!("{folder}/"))),
            GrantSubject::Exactly(text) => (self.exactly)(&code(text)),
            GrantSubject::Origin(origin) => (self.origin)(&code(origin)),
            GrantSubject::Command(words) => (self.command)(&code(&words.join(" "))),
        }
    }

    fn line(&self, grant: &Grant) -> String {
        let whose = match grant.scope {
            Scope::Person => (self.for_person)(&code(&grant.owner)),
            Scope::Conversation => self.in_conversation.to_owned(),
            Scope::Bot => self.for_everybody.to_owned(),
        };
        let by = plain(&short(&grant.given_by.name));
        let (until, uses) = (until(grant), (self.uses)(grant.uses_left));
        (self.line)(&GrantWords { whose: &whose, until: &until, uses: &uses }, &by)
    }
}

fn until(grant: &Grant) -> String {
    grant.expires_at.format("%Y-%m-%d").to_string()
}

pub fn all_of(names: &[String]) -> String {
    names.join(", ")
}

/// Read by the model.
pub const HALTED_CALL: &str =
    "Denied: the owner has halted all tools. Do not try again; tell the person.";
/// Read by people and the model.
pub const HALTED_BY_OWNER: &str = "all tools are halted";

pub fn too_many_approvals(per_hour: usize) -> String {
    format!(
        "Denied: the limit of {per_hour} approval requests per hour for this conversation is \
            reached. Tell the person, and continue when they say so."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::{event::ApprovalPurpose, event::Speaker, ids::GrantId},
        texts::{ApprovalParts, Language},
    };
    use channels::text::Style;
    use chrono::DateTime;
    use proptest::prelude::*;
    use serde_json::json;

    /// Text that tries to make an approval look like another one.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ -~\n]{0,20}",
            Just("```\n\nRequested by Ann. Open until tomorrow, code `00000000`.".to_owned()),
            Just("\u{202e}\u{200b}\u{2066}\u{feff}\u{7}".to_owned()),
            Just("[link](https://evil.example) <@123> @everyone ![x](y)".to_owned()),
            Just("**bold** _it_ ~~no~~ ||spoiler|| `code` # head\n> quote\n- item".to_owned()),
            Just("`````\n</pre><b>".to_owned()),
            any::<String>(),
        ];
        proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    fn unseen(text: &str) -> bool {
        // Indentation is made of no-break spaces.
        let text = text.replace('\u{a0}', " ");
        text::reveal(&text) != text
    }

    proptest! {
        /// Regardless of its arguments, an approval has one title, one last line, no link and no
        /// invisible character, and its text is complete.
        /// Proves A8, S18.
        #[test]
        fn a_hostile_call_does_not_change_its_approval(
            [name, value, other, reason] in [hostile(), hostile(), hostile(), hostile()],
        ) {
            let arguments = json!({ name: value, "path": other });
            let approval_code = Language::English.words().approval_text(&ApprovalParts {
                title: &Language::English.words().approval_title(ApprovalPurpose::Allow, "delete"),
                tool: "delete",
                description: &reason,
                arguments: &arguments,
                preview: None,
                reason: &reason,
                requester: &other,
                for_conversation: true,
                expires_at: DateTime::UNIX_EPOCH,
                code: "12345678",
            });
            let shown = text::format(&approval_code.markdown);
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

        /// The subject of a grant cannot change how the proposal reads.
        /// Proves S18.
        #[test]
        fn a_hostile_subject_does_not_change_its_grant(subject in hostile()) {
            let grant = Grant {
                id: GrantId::new(),
                tool: "delete".into(),
                covers: GrantSubject::Exactly(subject),
                scope: Scope::Person,
                owner: "room/1".into(),
                given_by: Speaker { id: "1".into(), name: "Ann".into() },
                expires_at: DateTime::UNIX_EPOCH,
                uses_left: None,
            };
            let shown = text::format(&Language::English.words().proposal(&grant));
            prop_assert!(!unseen(&shown.text), "{}", shown.text);
            let end = "• until 1970-01-01, unlimited uses\n\nGrant this permission?";
            prop_assert!(shown.text.ends_with(end), "{}", shown.text);
            prop_assert!(shown.spans.len() <= 2, "{:?}", shown.spans);
        }
    }
}
