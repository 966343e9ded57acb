//! What the buttons of an approval do.

use serde::{Deserialize, Serialize};

/// What a button does. On the wire and in the database it is one character, its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "char", try_from = "char")]
pub enum Button {
    /// Allows the call once.
    Allow,
    /// Allows the call for the rest of the conversation.
    AllowConversation,
    /// Shows the grant that would allow further calls. This decides nothing.
    ProposeGrant,
    /// Gives the grant that is shown, and allows the call.
    GiveGrant,
    /// Returns from the grant that is shown to the approval.
    Back,
    /// Denies the call, or declines to answer.
    Deny,
    /// Denies the call after asking for the reason. The resulting press is a [`Button::Deny`].
    DenyWithReason,
    /// Runs a call again whose outcome is unknown.
    RunAgain,
    /// Does not run a call again whose outcome is unknown.
    Skip,
    /// Shows what the text omits.
    ShowEverything,
    /// Withdraws the person's own vote.
    WithdrawVote,
    /// Revokes the grant that was given with the approval.
    RevokeGrant,
    /// Answers an elicitation with the option at this position, from 0 to [`Button::OPTIONS`] - 1.
    Option(u8),
}

/// The keys of all buttons but the options, which have upper-case letters.
const KEYS: [(Button, char); 12] = [
    (Button::Allow, 'a'),
    (Button::AllowConversation, 'c'),
    (Button::ProposeGrant, 'g'),
    (Button::GiveGrant, 'y'),
    (Button::Back, 'b'),
    (Button::Deny, 'd'),
    (Button::DenyWithReason, 'w'),
    (Button::RunAgain, 'r'),
    (Button::Skip, 's'),
    (Button::ShowEverything, 'e'),
    (Button::WithdrawVote, 'u'),
    (Button::RevokeGrant, 'v'),
];

impl Button {
    /// How many options an elicitation can have.
    pub const OPTIONS: u8 = 26;

    /// The buttons of options, in order.
    pub fn options() -> impl Iterator<Item = Self> {
        (0..Self::OPTIONS).map(Self::Option)
    }

    /// The last character of the button's data.
    pub fn key(self) -> char {
        if let Self::Option(position) = self {
            return char::from(b'A' + position.min(Self::OPTIONS - 1));
        }
        KEYS.iter().find(|(button, _)| *button == self).expect("every button has a key").1
    }

    /// The button with this key.
    pub fn from_key(key: char) -> Option<Self> {
        if key.is_ascii_uppercase() {
            return Some(Self::Option(u8::try_from(key).ok()? - b'A'));
        }
        KEYS.iter().find(|(_, known)| *known == key).map(|(button, _)| *button)
    }
}

impl From<Button> for char {
    fn from(button: Button) -> Self {
        button.key()
    }
}

impl TryFrom<char> for Button {
    type Error = String;

    fn try_from(key: char) -> Result<Self, Self::Error> {
        Self::from_key(key).ok_or_else(|| format!("no button has the key {key:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two buttons with one key could not be told apart, and Discord rejects the message.
    #[test]
    fn every_button_has_a_key_of_its_own() {
        let all: Vec<Button> =
            KEYS.iter().map(|(button, _)| *button).chain(Button::options()).collect();
        for (n, button) in all.iter().enumerate() {
            assert_eq!(Button::from_key(button.key()), Some(*button));
            assert!(all[..n].iter().all(|other| other.key() != button.key()), "{button:?}");
            let json = serde_json::to_value(button).unwrap();
            assert_eq!(json, button.key().to_string());
            assert_eq!(serde_json::from_value::<Button>(json).unwrap(), *button);
        }
        assert_eq!(Button::Option(0).key(), 'A');
        assert_eq!(Button::Option(25).key(), 'Z');
        for unknown in ['t', '0', '-', ' ', 'É'] {
            assert_eq!(Button::from_key(unknown), None, "{unknown:?}");
        }
    }
}
