//! What the platform, the model and the tools recorded during a run, and what was done to the
//! gateway meanwhile. Nothing in it comes from the gateway's own database or logs.

use std::{fmt, time::Duration};

/// The time since the start of the run.
pub type Moment = Duration;

/// Identifies one message of a person. People write it, the model repeats it in its answer and
/// passes it to tools, so that every record can be attributed: `c3m5`, and `c3m5e` for the edited
/// version of that message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    pub chat: u32,
    pub message: u32,
    pub edited: bool,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edited = if self.edited { "e" } else { "" };
        write!(f, "c{}m{}{edited}", self.chat, self.message)
    }
}

impl Tag {
    /// The message before it was edited.
    pub fn original(self) -> Self {
        Self { edited: false, ..self }
    }

    fn parse(word: &str) -> Option<Self> {
        let (chat, rest) = word.strip_prefix('c')?.split_once('m')?;
        let (message, edited) = rest.strip_suffix('e').map_or((rest, false), |m| (m, true));
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(chat) || !is_number(message) {
            return None;
        }
        Some(Self { chat: chat.parse().ok()?, message: message.parse().ok()?, edited })
    }
}

/// The tags in a text, in their order, each with the word in front of it.
pub fn tags(text: &str) -> Vec<(Tag, &str)> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = "";
    let mut found = Vec::new();
    for word in words {
        found.extend(Tag::parse(word).map(|tag| (tag, before)));
        before = word;
    }
    found
}

/// What the model answers to these messages.
pub fn answer_to(tags: &[Tag]) -> String {
    let tags: Vec<_> = tags.iter().map(Tag::to_string).collect();
    format!("{ANSWER}{}{END}", tags.join(", "))
}

const ANSWER: &str = "Answer to ";
/// Separates a notice from the answer below it.
const PARAGRAPH: &str = "\n\n";
const END: &str = ". Done.";
/// How a message ends that was sent before its content.
const PLACEHOLDER: &str = "…";

/// What a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// An answer.
    Say,
    /// A call of a tool that runs at most once and that a rule allows.
    Note,
    /// A call of a tool that runs at most once and needs approval.
    Launch,
}

impl Request {
    pub fn word(self) -> &'static str {
        match self {
            Self::Say => "answer",
            Self::Note => "note",
            Self::Launch => "launch",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Say, Self::Note, Self::Launch].into_iter().find(|request| request.word() == word)
    }
}

/// A message of a person, or the new version of an edited one.
#[derive(Debug, Clone)]
pub struct Said {
    pub at: Moment,
    /// When the platform was told that the bot has it. A process that is killed before that may
    /// have lost it, and another one gets it again.
    pub arrived: Moment,
    pub tag: Tag,
    pub request: Request,
    /// The platform's id of the message.
    pub message: i64,
    /// Whether the person has edited it since. Then the new version must be answered, unless the
    /// model had read the old one before the new one arrived.
    pub replaced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalPurpose {
    /// Whether a call may run.
    Allow,
    /// Whether a call whose outcome is unknown is to run again.
    Retry,
}

/// An approval request, as it was shown when a person first saw it.
#[derive(Debug, Clone)]
pub struct Question {
    pub at: Moment,
    pub tag: Tag,
    pub message: i64,
    pub asks: ApprovalPurpose,
}

/// A press of a button, as the platform took it.
#[derive(Debug, Clone)]
pub struct Press {
    pub at: Moment,
    pub message: i64,
    pub by: String,
    pub choice: Choice,
    /// Whether that person is allowed to decide.
    pub may_decide: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Allow,
    Deny,
    Again,
    Skip,
}

/// A message of the bot at the end of the run.
#[derive(Debug, Clone)]
pub struct Shown {
    pub message: i64,
    pub text: String,
}

impl Shown {
    /// The messages that this one answers.
    pub fn answers(&self) -> Vec<Tag> {
        let answer = self.text.rsplit(PARAGRAPH).next().unwrap_or_default();
        if answer.starts_with(ANSWER) && answer.ends_with(END) {
            tags(answer).into_iter().map(|(tag, _)| tag).collect()
        } else {
            Vec::new()
        }
    }

    /// Whether a notice above the answer says that it may be shown twice.
    pub fn is_marked_repeat(&self) -> bool {
        self.text.contains(PARAGRAPH) && !self.answers().is_empty()
    }

    /// Whether it says that a turn has failed.
    pub fn is_failure(&self) -> bool {
        self.text.to_lowercase().contains("reference")
    }

    /// Whether it was sent for an answer that was then shown elsewhere, or never.
    pub fn is_orphan(&self) -> bool {
        let begun = self.text.starts_with(ANSWER) || ANSWER.starts_with(self.text.trim());
        self.text.ends_with(PLACEHOLDER) || (begun && !self.text.ends_with(END))
    }
}

/// One chat of the platform.
#[derive(Debug, Clone, Default)]
pub struct Chat {
    /// By which tags name it.
    pub number: u32,
    /// The platform's id.
    pub id: i64,
    /// When the first message was written there.
    pub since: Moment,
    pub said: Vec<Said>,
    pub questions: Vec<Question>,
    pub presses: Vec<Press>,
    /// In the order of the chat.
    pub shown: Vec<Shown>,
}

impl Chat {
    /// The final text of a message of the bot.
    pub fn text_of(&self, message: i64) -> &str {
        let shown = self.shown.iter().find(|shown| shown.message == message);
        shown.map_or("", |shown| shown.text.as_str())
    }
}

/// One execution of a tool, as the tool saw it.
#[derive(Debug, Clone)]
pub struct Run {
    pub tag: Tag,
    pub tool: String,
    /// The gateway process that asked for it.
    pub node: usize,
    pub began: Moment,
    /// `None` if the caller disconnected before the result was written.
    pub ended: Option<Moment>,
}

/// One request to the model: the messages of people in it, in their order.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub at: Moment,
    pub tags: Vec<Tag>,
}

/// The end of a gateway process.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    pub at: Moment,
    pub node: usize,
}

/// The time in which the database was down.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    pub from: Moment,
    pub to: Moment,
}

/// Everything that was recorded in a run.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub chats: Vec<Chat>,
    pub runs: Vec<Run>,
    pub prompts: Vec<Prompt>,
    pub kills: Vec<Kill>,
    pub outages: Vec<Outage>,
    /// Messages that the platform posted without confirming it to the bot.
    pub unconfirmed: usize,
    /// What had not come to its end in time after the last kill.
    pub undrained: Vec<String>,
    /// Processes that ended without being killed.
    pub exits: Vec<String>,
    /// Requests that broke the model's protocol.
    pub malformed: Vec<String>,
    /// Files in which a secret of the configuration was found.
    pub secrets: Vec<String>,
    /// The database's integrity report: `ok`.
    pub integrity: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_any_text() {
        let tag = |chat, message, edited| Tag { chat, message, edited };
        let text = "(changed to:) @bot please launch c1m2e, then **note** \"c13m4\". a1c2m3 cm";
        assert_eq!(tags(text), [(tag(1, 2, true), "launch"), (tag(13, 4, false), "note")]);
        let all = [tag(1, 2, false), tag(1, 3, true)];
        let shown = Shown { message: 1, text: answer_to(&all) };
        assert_eq!(shown.answers(), all);
        assert!(!shown.is_orphan() && !shown.is_failure());
    }

    #[test]
    fn an_answer_may_stand_below_a_notice() {
        let tag = Tag { chat: 1, message: 2, edited: false };
        let shown = |text| Shown { message: 1, text };
        let marked = shown(format!("This may be a duplicate.\n\n{}", answer_to(&[tag])));
        assert!(marked.answers() == [tag] && marked.is_marked_repeat());
        assert!(!shown(answer_to(&[tag])).is_marked_repeat());
        assert!(!shown("Saved.\n\nLater.".to_owned()).is_marked_repeat());
    }

    #[test]
    fn an_unfinished_answer_is_an_orphan() {
        for text in ["…", "Saved …", "Answer", "Answer to c1m", "Answer to c1m2, c1m3. Do"] {
            let shown = Shown { message: 1, text: text.to_owned() };
            assert!(shown.is_orphan() && shown.answers().is_empty(), "{text}");
        }
        let other = Shown { message: 1, text: "I am busy.".to_owned() };
        assert!(!other.is_orphan());
    }
}
