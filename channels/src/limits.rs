//! What a channel can show, and how an [`Outgoing`] is degraded to fit.

use std::time::Duration;

use crate::{
    button::Button,
    outgoing::{Choice, Outgoing},
    text::{self, Unit},
};

/// What one platform can show and accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The maximum length of a message in `unit`s, counted after Markdown is converted to
    /// formatting.
    pub text: usize,
    /// The maximum length of a file's caption.
    pub caption: usize,
    /// The unit in which the platform measures texts.
    pub unit: Unit,
    /// The maximum size of a file that can be sent.
    pub upload_bytes: u64,
    /// Whether messages can have buttons. If not, an approval lists the commands to type.
    pub buttons: bool,
    /// How a send can be repeated without showing the message twice.
    pub repeat: Repeat,
    /// How long a typing indicator is shown before it has to be repeated; `None` if there is none.
    pub typing_for: Option<Duration>,
    /// How often a draft may be updated; `None` if drafts are not shown.
    pub drafts: Option<Duration>,
    /// Whether private chats have native drafts. Elsewhere a draft is shown by editing a message.
    pub supports_drafts: bool,
    /// Whether a button press can open a form for a reason (a modal). Elsewhere people reply.
    pub reasons: bool,
    /// Whether pictures are shown inline.
    pub pictures: bool,
    /// Whether the bot can react to messages of people.
    pub reactions: bool,
    /// The maximum number of pictures in an album; 1 if there are no albums.
    pub album: usize,
    /// The platform's rate limits.
    pub rate_limits: RateLimits,
}

/// Rate limits as a number of messages per time window; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateLimits {
    /// For each private chat.
    pub private: Option<RateLimit>,
    /// For each group.
    pub group: Option<RateLimit>,
    /// For all chats together.
    pub bot: Option<RateLimit>,
}

/// A number of messages per time window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The maximum number of messages in any window.
    pub messages: usize,
    /// The length of the window.
    pub within: Duration,
}

/// How to repeat a send whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Send again with the same key. The platform drops the duplicate (Discord, the web chat).
    NativeKey,
    /// Send a placeholder and then edit the content in, since an edit can be repeated (Telegram,
    /// Slack).
    EditInPlace,
}

impl Outgoing {
    /// Converts the message to those that this channel can show, in order. Long texts are split, a
    /// caption that is too long becomes a text after the file, and an approval without buttons
    /// becomes a text that lists the commands. Empty if the channel cannot show it (drafts,
    /// typing).
    pub fn degrade(self, limits: &Limits) -> Vec<Outgoing> {
        match self {
            Self::Text { markdown, reply_to } => texts(&markdown, reply_to, limits),
            whole @ Self::Approval { .. } => asked(whole, limits),
            settled @ Self::Settled { .. } => ended(settled, limits),
            Self::File { name, size_bytes, caption, reply_to, .. }
                if size_bytes > limits.upload_bytes =>
            {
                texts(&too_large(&name, size_bytes, limits, caption.as_deref()), reply_to, limits)
            }
            file @ Self::File { .. } => captioned(file, limits),
            Self::Draft { .. } if limits.drafts.is_none() => Vec::new(),
            Self::Draft { markdown } => newest(&markdown, limits),
            Self::Typing if limits.typing_for.is_none() => Vec::new(),
            Self::Reaction { .. } if !limits.reactions => Vec::new(),
            same @ (Self::Typing
            | Self::Reaction { .. }
            | Self::Placeholder { .. }
            | Self::Removal
            | Self::Toast { .. }) => vec![same],
        }
    }
}

fn texts(markdown: &str, reply_to: Option<String>, limits: &Limits) -> Vec<Outgoing> {
    let parts = text::split(markdown, limits.text, limits.unit);
    let later = reply_to.as_deref().and_then(Outgoing::behind);
    let replies = std::iter::once(reply_to).chain(std::iter::repeat(later));
    let text = |(markdown, reply_to)| Outgoing::Text { markdown, reply_to };
    parts.into_iter().zip(replies).map(text).collect()
}

/// An approval. The buttons are attached to the last part.
fn asked(whole: Outgoing, limits: &Limits) -> Vec<Outgoing> {
    let Outgoing::Approval { markdown, approval, mut choices, reply_to } = whole else {
        return vec![whole];
    };
    choices.retain(|choice| limits.reasons || choice.button != Button::DenyWithReason);
    if !limits.buttons {
        return texts(&with_commands(&markdown, &approval, &choices), reply_to, limits);
    }
    let mut shown = texts(&markdown, reply_to, limits);
    let (markdown, reply_to) = match shown.pop() {
        Some(Outgoing::Text { markdown, reply_to }) => (markdown, reply_to),
        _ => (markdown, None),
    };
    shown.push(Outgoing::Approval { markdown, approval, choices, reply_to });
    shown
}

/// A settled approval. The edit shows the first part, and the remaining parts follow as messages.
fn ended(settled: Outgoing, limits: &Limits) -> Vec<Outgoing> {
    let Outgoing::Settled { markdown, approval, choices } = settled else { return vec![settled] };
    let (first, rest) = text::split_off(&markdown, limits.text, limits.unit);
    let choices = if limits.buttons { choices } else { Vec::new() };
    let markdown = first.unwrap_or_default();
    let mut shown = vec![Outgoing::Settled { markdown, approval, choices }];
    shown.extend(texts(&rest.unwrap_or_default(), None, limits));
    shown
}

fn captioned(file: Outgoing, limits: &Limits) -> Vec<Outgoing> {
    let Outgoing::File { name, media_type, size_bytes, digest, caption, reply_to } = file else {
        return vec![file];
    };
    let (caption, rest) = caption
        .map_or((None, None), |caption| text::split_off(&caption, limits.caption, limits.unit));
    let mut shown =
        vec![Outgoing::File { name, media_type, size_bytes, digest, caption, reply_to }];
    shown.extend(texts(&rest.unwrap_or_default(), None, limits));
    shown
}

/// A draft, which is one message that shows the end of the text.
fn newest(markdown: &str, limits: &Limits) -> Vec<Outgoing> {
    let last = text::split(markdown, limits.text, limits.unit).pop();
    last.map(|markdown| Outgoing::Draft { markdown }).into_iter().collect()
}

/// How many characters of an approval's id a person has to type.
const CODE_CHARS: usize = 8;

fn with_commands(markdown: &str, approval: &str, choices: &[Choice]) -> String {
    // The end of the id, because the beginning is the same for all ids of one minute.
    let start = approval.len().saturating_sub(CODE_CHARS);
    let code = approval.get(start..).unwrap_or(approval);
    let line = |choice: &Choice| {
        let label = text::escape(&choice.label);
        if let Button::Option(_) = choice.button {
            let answer = text::neutralise(&choice.label).replace('`', "\u{2019}");
            return Some(format!("- {label}: `/answer {code} {answer}`\n"));
        }
        let command = command(choice.button)?;
        Some(format!("- {label}: `/{command} {code}`\n"))
    };
    let lines: String = choices.iter().filter_map(line).collect();
    format!("{markdown}\n\nTo answer, type:\n\n{lines}")
}

/// The command that is equivalent to a button.
fn command(button: Button) -> Option<&'static str> {
    match button {
        Button::Allow | Button::RunAgain => Some("allow"),
        Button::AllowConversation => Some("here"),
        Button::ProposeGrant => Some("always"),
        Button::Deny | Button::Skip => Some("deny"),
        _ => None,
    }
}

fn too_large(name: &str, size_bytes: u64, limits: &Limits, caption: Option<&str>) -> String {
    let name = text::escape(&text::neutralise(name));
    let (size, limit) = (megabytes(size_bytes), megabytes(limits.upload_bytes));
    let caption = caption.map(|caption| format!("\n\n{caption}")).unwrap_or_default();
    format!("The file {name} can't be sent here: it has {size}, and the limit is {limit}.{caption}")
}

/// Rounded up, so that a size above a limit is never displayed as the limit.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1024 * 1024);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Limits {
        Limits {
            text: 40,
            caption: 10,
            unit: Unit::Utf16,
            upload_bytes: 1024 * 1024,
            buttons: true,
            repeat: Repeat::EditInPlace,
            typing_for: None,
            drafts: None,
            supports_drafts: false,
            reasons: false,
            pictures: false,
            reactions: false,
            album: 1,
            rate_limits: RateLimits::default(),
        }
    }

    fn file(size_bytes: u64, caption: &str) -> Outgoing {
        Outgoing::File {
            name: "a_b.pdf".into(),
            media_type: "application/pdf".into(),
            size_bytes,
            digest: "d".into(),
            caption: Some(caption.into()),
            reply_to: None,
        }
    }

    fn asking(markdown: &str, approval: &str) -> Outgoing {
        Outgoing::Approval {
            markdown: markdown.into(),
            approval: approval.into(),
            choices: choices(),
            reply_to: None,
        }
    }

    fn choices() -> Vec<Choice> {
        [
            ("Allow", Button::Allow),
            ("In this conversation", Button::AllowConversation),
            ("Deny", Button::Deny),
            ("Look", Button::ShowEverything),
        ]
        .map(|(label, button)| Choice { label: label.into(), button })
        .to_vec()
    }

    fn text_of(outgoing: &Outgoing) -> &str {
        match outgoing {
            Outgoing::Text { markdown, .. }
            | Outgoing::Approval { markdown, .. }
            | Outgoing::Settled { markdown, .. } => markdown,
            other => panic!("{other:?} has no text"),
        }
    }

    /// Proves M5, M12.
    #[test]
    fn a_long_text_comes_in_parts_and_only_the_first_replies() {
        let text = "word ".repeat(30);
        let shown = Outgoing::Text { markdown: text, reply_to: Some("7".into()) }.degrade(&small());
        assert_eq!(shown.len(), 4);
        let replies: Vec<bool> =
            shown.iter().map(|o| matches!(o, Outgoing::Text { reply_to: Some(_), .. })).collect();
        assert_eq!(replies, [true, false, false, false]);
    }

    #[test]
    fn a_long_approval_has_its_buttons_under_the_last_part() {
        let markdown = format!("{}\n\nAllow?", "word ".repeat(12));
        let whole = asking(&markdown, "abc");
        let shown = whole.degrade(&small());
        assert!(
            matches!(shown.last(), Some(Outgoing::Approval { choices, .. }) if choices.len() == 4)
        );
        assert!(shown[..shown.len() - 1].iter().all(|o| matches!(o, Outgoing::Text { .. })));
        assert!(text_of(&shown[shown.len() - 1]).ends_with("Allow?"));
    }

    #[test]
    fn without_buttons_an_approval_names_the_commands() {
        let limits = Limits { buttons: false, text: 400, ..small() };
        let approval = "0123456789abcdef";
        let whole = asking("Delete?", approval);
        let shown = whole.degrade(&limits);
        assert_eq!(shown.len(), 1);
        insta::assert_snapshot!(text::format(text_of(&shown[0])).text, @r"
        Delete?

        To answer, type:

        • Allow: /allow 89abcdef
        • In this conversation: /here 89abcdef
        • Deny: /deny 89abcdef
        ");
    }

    /// a question of a server's names the words that answer it.
    #[test]
    fn without_buttons_an_answer_is_typed_in_its_own_words() {
        let limits = Limits { buttons: false, text: 400, ..small() };
        let choices = [
            ("Red", Button::Option(0)),
            ("Dark `blue`", Button::Option(1)),
            ("No answer", Button::Deny),
        ]
        .map(|(label, button)| Choice { label: label.into(), button });
        let whole = Outgoing::Approval {
            markdown: "Which colour?".into(),
            approval: "0123456789abcdef".into(),
            choices: choices.to_vec(),
            reply_to: None,
        };
        let shown = whole.degrade(&limits);
        insta::assert_snapshot!(text::format(text_of(&shown[0])).text, @r"
        Which colour?

        To answer, type:

        • Red: /answer 89abcdef Red
        • Dark `blue`: /answer 89abcdef Dark ’blue’
        • No answer: /deny 89abcdef
        ");
    }

    #[test]
    fn a_long_caption_goes_on_behind_the_file() {
        let shown = file(5, "one two three four five").degrade(&small());
        assert!(
            matches!(&shown[0], Outgoing::File { caption: Some(c), .. } if c == "one two"),
            "{shown:?}"
        );
        assert_eq!(text_of(&shown[1]), "three four five");
    }

    #[test]
    fn a_file_over_the_limit_is_reported() {
        let limits = Limits { text: 400, ..small() };
        let shown = file(1024 * 1024 + 1, "Here.").degrade(&limits);
        assert_eq!(
            text::format(text_of(&shown[0])).text,
            "The file a_b.pdf can't be sent here: it has 1.1 MB, and the limit is 1.0 MB.\n\nHere."
        );
        assert_eq!(file(1024 * 1024, "Here.").degrade(&limits).len(), 1);
    }

    #[test]
    fn a_settled_approval_stays_one_edit() {
        let shown =
            Outgoing::Settled { markdown: "word ".repeat(12), approval: None, choices: vec![] }
                .degrade(&small());
        assert!(matches!(shown[0], Outgoing::Settled { .. }));
        assert!(matches!(shown[1], Outgoing::Text { .. }));
    }

    #[test]
    fn unsupported_parts_are_omitted() {
        assert_eq!(Outgoing::Draft { markdown: "d".into() }.degrade(&small()), []);
        assert_eq!(Outgoing::Typing.degrade(&small()), []);
        let placeholder =
            Outgoing::Placeholder { markdown: "a …".into(), reply_to: Some("7".into()) };
        assert_eq!(placeholder.clone().degrade(&small()), [placeholder]);
        let drafts = Limits { drafts: Some(Duration::ZERO), ..small() };
        let shown = Outgoing::Draft { markdown: "word ".repeat(12) + "end" }.degrade(&drafts);
        assert!(matches!(&shown[..], [Outgoing::Draft { markdown }] if markdown.ends_with("end")));
    }
}
