//! The choice that a person made with a button or a typed command.

use channels::Button;
use chrono::TimeDelta;
use serde_json::Value;

use crate::{
    journal::{
        event::{ApprovalPurpose, Decision},
        grant::Scope,
        ids::ApprovalId,
    },
    store::approvals::request::Approval,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Once,
    Conversation,
    /// Show what "always" would cover. This decides nothing.
    Propose,
    /// Return from the proposal to the approval.
    Back,
    /// Give the proposed grant, which also allows this call.
    Give(GrantBounds),
    Deny {
        reason: Option<String>,
    },
    /// An answer to an elicitation of a running call.
    Answer(String),
    /// Withdraw one's own vote, where several people have to agree.
    Withdraw,
}

/// The scope, lifetime and number of uses of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantBounds {
    pub scope: Scope,
    pub valid_for: TimeDelta,
    pub uses: Option<i64>,
}

impl Default for GrantBounds {
    fn default() -> Self {
        Self { scope: Scope::Person, valid_for: TimeDelta::days(30), uses: None }
    }
}

/// A grant for a longer time is equivalent to a rule and belongs in the configuration.
const MAX_DAYS: i64 = 366;

/// A command that decides or answers an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionCommand {
    Allow,
    Here,
    Always,
    Answer,
    Withdraw,
    Deny,
}

impl DecisionCommand {
    pub fn parse(command: &str) -> Option<Self> {
        match command {
            "allow" => Some(Self::Allow),
            "here" => Some(Self::Here),
            "always" => Some(Self::Always),
            "answer" => Some(Self::Answer),
            "withdraw" => Some(Self::Withdraw),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

impl Choice {
    /// Returns the choice that a button makes on this kind of approval.
    pub fn from_button(
        asks: ApprovalPurpose,
        button: Button,
        reason: Option<&str>,
    ) -> Option<Self> {
        let reason = reason.map(str::trim).filter(|r| !r.is_empty()).map(str::to_owned);
        match (asks, button) {
            (ApprovalPurpose::Allow, Button::Allow)
            | (ApprovalPurpose::Retry, Button::RunAgain) => Some(Self::Once),
            (ApprovalPurpose::Allow, Button::AllowConversation) => Some(Self::Conversation),
            (ApprovalPurpose::Allow, Button::ProposeGrant) => Some(Self::Propose),
            (ApprovalPurpose::Allow, Button::GiveGrant) => Some(Self::Give(GrantBounds::default())),
            (ApprovalPurpose::Allow, Button::Back) => Some(Self::Back),
            (ApprovalPurpose::Allow | ApprovalPurpose::Retry, Button::WithdrawVote) => {
                Some(Self::Withdraw)
            }
            (ApprovalPurpose::Allow | ApprovalPurpose::Answer, Button::Deny)
            | (ApprovalPurpose::Retry, Button::Skip) => Some(Self::Deny { reason }),
            _ => None,
        }
    }

    /// Parses `/allow [code]`, `/here [code]`, `/always [code] [yes …]`, `/answer [code] …`,
    /// `/withdraw [code]` and `/deny [code] [reason]` into a choice and a code.
    pub fn from_command(command: DecisionCommand, rest: &str) -> (Self, String) {
        let (word, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_code = word.len() == CODE && word.bytes().all(|b| b.is_ascii_hexdigit());
        let (code, rest) = if is_code { (word, more) } else { ("", rest) };
        let rest = rest.trim();
        let choice = match command {
            DecisionCommand::Allow => Self::Once,
            DecisionCommand::Here => Self::Conversation,
            DecisionCommand::Always => GrantBounds::parse(rest).map_or(Self::Propose, Self::Give),
            DecisionCommand::Answer => Self::Answer(rest.to_owned()),
            DecisionCommand::Withdraw => Self::Withdraw,
            DecisionCommand::Deny => {
                Self::Deny { reason: Some(rest.to_owned()).filter(|r| !r.is_empty()) }
            }
        };
        (choice, code.to_lowercase())
    }

    /// The button that the approval must have for this choice; `None` for choices without one.
    fn button(&self, asks: ApprovalPurpose) -> Option<Button> {
        match (self, asks) {
            (Self::Once, ApprovalPurpose::Allow) => Some(Button::Allow),
            (Self::Once, ApprovalPurpose::Retry) => Some(Button::RunAgain),
            (Self::Conversation, _) => Some(Button::AllowConversation),
            (Self::Propose | Self::Back | Self::Give(_), _) => Some(Button::ProposeGrant),
            (Self::Deny { .. }, ApprovalPurpose::Allow | ApprovalPurpose::Answer) => {
                Some(Button::Deny)
            }
            (Self::Deny { .. }, ApprovalPurpose::Retry) => Some(Button::Skip),
            (Self::Once, ApprovalPurpose::Answer) | (Self::Answer(_) | Self::Withdraw, _) => None,
        }
    }

    /// Whether the approval offers this choice. A button that was not offered cannot be pressed.
    pub(super) fn is_offered(&self, approval: &Approval) -> bool {
        match self {
            Self::Answer(text) => {
                approval.asks == ApprovalPurpose::Answer
                    && (approval.offers.typed || is_option(approval, text))
            }
            Self::Withdraw => true,
            _ => {
                let button = self.button(approval.asks);
                button.is_some_and(|button| approval.offers.buttons.contains(&button))
            }
        }
    }

    pub(super) fn decision(self) -> Decision {
        match self {
            Self::Deny { reason } => Decision::Deny { reason },
            Self::Answer(text) => Decision::Answer { text },
            Self::Conversation => Decision::Conversation,
            Self::Once | Self::Give(_) | Self::Propose | Self::Back | Self::Withdraw => {
                Decision::Once
            }
        }
    }
}

impl GrantBounds {
    /// Parses `yes` and any changes to the default terms: `conversation`, `bot`, `7d`, `5x`. Text
    /// that cannot be parsed does not count as a yes.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        if words.next() != Some("yes") {
            return None;
        }
        let number = |word: &str, unit| word.strip_suffix(unit)?.parse::<i64>().ok();
        words.try_fold(Self::default(), |terms, word| {
            if let Some(scope) = Scope::parse(word) {
                return Some(Self { scope, ..terms });
            }
            if let Some(days) = number(word, 'd').filter(|days| (1..=MAX_DAYS).contains(days)) {
                return Some(Self { valid_for: TimeDelta::days(days), ..terms });
            }
            let uses = number(word, 'x').filter(|uses| *uses > 0)?;
            Some(Self { uses: Some(uses), ..terms })
        })
    }
}

/// The button labels of an elicitation, in order.
pub(super) fn options(approval: &Approval) -> impl Iterator<Item = &str> {
    let all = approval.arguments["options"].as_array().into_iter().flatten();
    all.filter_map(Value::as_str)
}

/// Whether the text matches one of the labels, ignoring case and spacing.
pub(super) fn is_option(approval: &Approval, text: &str) -> bool {
    let text = text.to_lowercase();
    options(approval).any(|label| label.to_lowercase() == text)
}

const CODE: usize = 8;

/// The code that a person types to name an approval: the end of its id, which differs even between
/// ids of the same second.
pub fn code(id: &ApprovalId) -> String {
    code_suffix(id.as_str()).to_owned()
}

pub(super) fn code_suffix(id: &str) -> &str {
    &id[id.len().saturating_sub(CODE)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_commands_are_parsed() {
        let deny = |reason: &str| Choice::Deny { reason: Some(reason.to_owned()) };
        let give = |scope, days, uses| {
            Choice::Give(GrantBounds { scope, valid_for: TimeDelta::days(days), uses })
        };
        for (command, rest, choice, code) in [
            ("allow", "", Choice::Once, ""),
            ("allow", "1A2b3c4d", Choice::Once, "1a2b3c4d"),
            ("here", "1a2b3c4d", Choice::Conversation, "1a2b3c4d"),
            ("deny", "1a2b3c4d too risky", deny("too risky"), "1a2b3c4d"),
            ("deny", "too risky", deny("too risky"), ""),
            ("deny", "", Choice::Deny { reason: None }, ""),
            ("answer", "1a2b3c4d dark red", Choice::Answer("dark red".into()), "1a2b3c4d"),
            ("always", "", Choice::Propose, ""),
            ("always", "1a2b3c4d", Choice::Propose, "1a2b3c4d"),
            ("always", "yes", give(Scope::Person, 30, None), ""),
            ("always", "1a2b3c4d yes bot 7d 5x", give(Scope::Bot, 7, Some(5)), "1a2b3c4d"),
            ("always", "yes conversation", give(Scope::Conversation, 30, None), ""),
            ("always", "yes please", Choice::Propose, ""),
            ("always", "yes 0x", Choice::Propose, ""),
            ("always", "yes 9999d", Choice::Propose, ""),
            ("always", "yes 1d", give(Scope::Person, 1, None), ""),
            ("always", "yes 366d", give(Scope::Person, 366, None), ""),
            ("always", "yes 367d", Choice::Propose, ""),
            ("always", "yes 0d", Choice::Propose, ""),
            ("always", "please yes", Choice::Propose, ""),
            ("allow", "1a2b3c4", Choice::Once, ""),
            ("withdraw", "1a2b3c4d", Choice::Withdraw, "1a2b3c4d"),
            ("deny", "1a2b3c4g", deny("1a2b3c4g"), ""),
        ] {
            let read = Choice::from_command(DecisionCommand::parse(command).unwrap(), rest);
            assert_eq!(read, (choice, code.to_owned()), "/{command} {rest}");
        }
    }

    /// A word that is not one of the commands decides nothing.
    #[test]
    fn only_the_commands_of_decisions_decide() {
        for command in ["", "back", "Deny", "denied", "stop"] {
            assert_eq!(DecisionCommand::parse(command), None, "{command}");
        }
    }

    /// A button makes a choice only on the kinds of approvals that show it.
    #[test]
    fn a_button_counts_only_on_approvals_that_have_it() {
        use ApprovalPurpose::{Allow, Answer, Retry};
        let denied = || Choice::Deny { reason: None };
        let expected = |asks, button| match (asks, button) {
            (Allow, Button::Allow) | (Retry, Button::RunAgain) => Some(Choice::Once),
            (Allow, Button::AllowConversation) => Some(Choice::Conversation),
            (Allow, Button::ProposeGrant) => Some(Choice::Propose),
            (Allow, Button::GiveGrant) => Some(Choice::Give(GrantBounds::default())),
            (Allow, Button::Back) => Some(Choice::Back),
            (Allow | Retry, Button::WithdrawVote) => Some(Choice::Withdraw),
            (Allow | Answer, Button::Deny) | (Retry, Button::Skip) => Some(denied()),
            _ => None,
        };
        for asks in [Allow, Retry, Answer] {
            for button in ('A'..='z').filter_map(Button::from_key) {
                let choice = Choice::from_button(asks, button, None);
                assert_eq!(choice, expected(asks, button), "{asks:?} {button:?}");
            }
        }
        let reason = Choice::from_button(Allow, Button::Deny, Some(" too risky "));
        assert_eq!(reason, Some(Choice::Deny { reason: Some("too risky".into()) }));
        assert_eq!(Choice::from_button(Allow, Button::Deny, Some("  ")), Some(denied()));
    }
}
