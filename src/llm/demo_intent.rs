//! Recognises what a person requests from the demo model.

use regex::{Captures, Regex};
use std::{borrow::Cow, sync::LazyLock};

use super::demo_document::Format;
use crate::texts::Language;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DemoIntent {
    Hello,
    Help,
    Summary,
    Report { topic: String, format: Format },
    Note { text: String },
    Read { path: String },
    List { path: String },
    Time { zone: String },
    Replace { old: String, new: String, path: String },
    Send { path: String },
    Remind { text: String, after: String },
    Remember { text: String },
    Delete { path: String },
    Run { command: String },
    Thanks,
    Introduction,
    Unknown,
}

impl DemoIntent {
    /// Without tools the model can only reply with text, so any mention of a summary requests one.
    pub(super) fn read(text: &str, only_talk: bool) -> Self {
        if only_talk && text.to_lowercase().contains("summar") {
            return Self::Summary;
        }
        let text = in_english(without_author(text.trim()));
        for (rule, intent) in RULES.iter() {
            if let Some(found) = rule.captures(&text) {
                return intent(&found);
            }
        }
        Self::Unknown
    }
}

/// In a group each message begins with the name of its author, as in `[Ann]: help`.
fn without_author(text: &str) -> &str {
    text.strip_prefix('[').and_then(|t| t.split_once("]: ")).map_or(text, |(_, said)| said)
}

/// Translates the suggestions of the web chat, which may be followed by more text.
fn in_english(text: &str) -> Cow<'_, str> {
    let starts = |language: Language| {
        let page = &language.words().page;
        [page.start_ask, page.start_note, page.start_report]
    };
    let all = Language::ALL.into_iter().filter(|language| *language != Language::English);
    let mut pairs = all.flat_map(|own| starts(own).into_iter().zip(starts(Language::English)));
    let found = pairs.find_map(|(own, english)| {
        let rest = text.strip_prefix(own.trim_end())?;
        Some(format!("{english}{rest}").into())
    });
    found.unwrap_or(text.into())
}

type Rule = (Regex, fn(&Captures<'_>) -> DemoIntent);

/// The first match wins.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |pattern: &str, intent: fn(&Captures<'_>) -> DemoIntent| {
        let pattern =
            format!(r"(?is)^\s*(?:please\s+|(?:can|could|would) you\s+(?:please\s+)?)?{pattern}");
        (Regex::new(&pattern).expect("the patterns below are well-formed"), intent)
    };
    vec![
        rule(r"(?:hi|hello|hey|good (?:morning|day|evening)|/start)\b[\s!.,]*$", |_| {
            DemoIntent::Hello
        }),
        rule(r"(?:.*\bwhat can you do\b|/?help\b|\?+\s*$|what do you understand)", |_| {
            DemoIntent::Help
        }),
        rule(r"summari[sz]e\b", |_| DemoIntent::Summary),
        rule(r"(?:many\s+)?(?:thanks|thank you|thx|cheers)\b[^?]{0,40}$", |_| DemoIntent::Thanks),
        rule(r"(?:who|what) are you\b|are you (?:an? |real|human)", |_| DemoIntent::Introduction),
        rule(
            r"(?:save|write|make|take|keep|add)\s+(?:me\s+|down\s+)?(?:a\s+|the\s+)?note\b(?:\s+(?:that|saying|about))?\s*[:,–-]?\s*(.*)$",
            |found| DemoIntent::Note { text: found[1].trim().to_owned() },
        ),
        rule(
            r"remind me in (\d+\s*(?:s|m|h|d|seconds?|minutes?|hours?|days?))\s+(?:to|of|about|that)?\s*(.+)$",
            |found| DemoIntent::Remind {
                text: or(&found[2], "something"),
                after: found[1].to_owned(),
            },
        ),
        rule(r"remember(?:\s+that)?\s*[:,]?\s+(.+)$", |found| DemoIntent::Remember {
            text: bare(&found[1]),
        }),
        rule(
            r"replace\s+(.+?)\s+(?:with|by)\s+(.+?)\s+in\s+(?:the\s+)?(?:file\s+)?(\S+)\s*$",
            |found| DemoIntent::Replace {
                old: bare(&found[1]),
                new: bare(&found[2]),
                path: path(&found[3]),
            },
        ),
        rule(
            r"(?:list|show|which)\s+(?:me\s+)?(?:all\s+|the\s+|my\s+)*files\b(?:.*?\bin\s+(\S+))?",
            |found| DemoIntent::List {
                path: found.get(1).map_or(".".to_owned(), |p| path(p.as_str())),
            },
        ),
        rule(
            r"(?:.*\b(?:what|tell me|which)\b.*\b(?:time|date|day)\b)(?:.*?\bin\s+([\w/ +-]+))?",
            |found| DemoIntent::Time { zone: zone(found.get(1).map_or("", |z| z.as_str())) },
        ),
        rule(
            r"(?:write|make|create|draft|prepare|give|render|generate|build|produce)\b(.*?\b(?:report|document|paper|memo|letter|overview|spreadsheet|workbook|table|sheet|presentation|deck|slides?|pdf|docx|word|xlsx|excel|pptx|powerpoint)\b.*)$",
            |found| report(&found[1]),
        ),
        rule(r"(?:delete|remove)\s+(?:the\s+)?(?:file\s+)?(\S+)\s*$", |found| DemoIntent::Delete {
            path: path(&found[1]),
        }),
        rule(r"(?:run|execute)\s+(?:the\s+)?(?:command\s+|program\s+)?(.+)$", |found| {
            DemoIntent::Run { command: bare(&found[1]) }
        }),
        rule(r"send\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(\S+)\s*$", |found| DemoIntent::Send {
            path: path(&found[1]),
        }),
        rule(r"(?:read|show|open|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(\S+)\s*$", |found| {
            DemoIntent::Read { path: path(&found[1]) }
        }),
    ]
});

/// Parses `a report about X as pdf` into the topic and the format, which is named last or first.
fn report(text: &str) -> DemoIntent {
    static AS: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"(?is)^(.*?)\s*,?\s+(?:as|in|into)\s+(?:an?\s+)?(pdf|docx|word|xlsx|excel|spreadsheet|pptx|powerpoint|slides|presentation)(?:\s+(?:file|document|format))?[\s.!?]*$";
        Regex::new(pattern).expect("the pattern is well-formed")
    });
    static ABOUT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?is)^(.*?)\b(?:about|on|of|for)\s+(.+)$").expect("the pattern is well-formed")
    });
    let (rest, named) = match AS.captures(text) {
        Some(found) => (found[1].to_owned(), Format::of(&found[2])),
        None => (text.to_owned(), None),
    };
    let (kind, topic) = match ABOUT.captures(&rest) {
        Some(found) => (found[1].to_owned(), bare(found[2].trim_end_matches(['.', '!', '?']))),
        None => (rest, String::new()),
    };
    let by_kind = kind.split(|c: char| !c.is_alphanumeric()).find_map(Format::of);
    DemoIntent::Report {
        topic: or(&topic, "our work"),
        format: named.or(by_kind).unwrap_or(Format::Pdf),
    }
}

fn or(text: &str, otherwise: &str) -> String {
    let text = text.trim();
    if text.is_empty() { otherwise.to_owned() } else { text.to_owned() }
}

/// Removes the quotes around the text.
fn bare(text: &str) -> String {
    let text = text.trim();
    let quotes = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('«', '»')];
    let inner = quotes.iter().find_map(|(a, b)| text.strip_prefix(*a)?.strip_suffix(*b));
    inner.filter(|t| !t.is_empty()).unwrap_or(text).to_owned()
}

fn path(text: &str) -> String {
    bare(text.trim_end_matches(['!', '?', ',', ';', '.']))
}

/// The time zone of a city, or a zone's name; otherwise UTC.
fn zone(place: &str) -> String {
    let place = place.trim().trim_end_matches('?').trim().replace(' ', "_").to_lowercase();
    let is_it = |zone: &&chrono_tz::Tz| {
        let name = zone.name().to_lowercase();
        !place.is_empty() && (name == place || name.rsplit('/').next() == Some(place.as_str()))
    };
    let found = chrono_tz::TZ_VARIANTS.iter().find(is_it);
    found.map_or_else(|| "UTC".to_owned(), |zone| zone.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> DemoIntent {
        DemoIntent::read(text, false)
    }

    #[test]
    fn a_report_has_a_topic_and_a_format() {
        let report = |topic: &str, format| DemoIntent::Report { topic: topic.into(), format };
        for (text, intent) in [
            ("write a report about bees as pdf", report("bees", Format::Pdf)),
            (
                "Please write a report about solar power in Spain as docx.",
                report("solar power in Spain", Format::Docx),
            ),
            ("write a report about X as word", report("X", Format::Docx)),
            ("create a report on Q3 sales as an Excel file", report("Q3 sales", Format::Xlsx)),
            ("make a spreadsheet of costs", report("costs", Format::Xlsx)),
            ("write a report about trains as slides", report("trains", Format::Pptx)),
            ("make me a presentation about trains", report("trains", Format::Pptx)),
            ("could you write a pdf about \"cats\"?", report("cats", Format::Pdf)),
            ("write a report about cats as powerpoint!", report("cats", Format::Pptx)),
            ("write a report", report("our work", Format::Pdf)),
        ] {
            assert_eq!(read(text), intent, "{text}");
        }
    }

    #[test]
    fn the_other_plain_requests_are_understood() {
        let s = str::to_owned;
        for (text, intent) in [
            ("what can you do?", DemoIntent::Help),
            ("help", DemoIntent::Help),
            ("[Ann]: help", DemoIntent::Help),
            ("Hi!", DemoIntent::Hello),
            ("save a note: buy honey", DemoIntent::Note { text: s("buy honey") }),
            ("save a note", DemoIntent::Note { text: String::new() }),
            ("Save a note: ", DemoIntent::Note { text: String::new() }),
            (
                "Save a note that the bees are back",
                DemoIntent::Note { text: s("the bees are back") },
            ),
            ("read notes/a.md", DemoIntent::Read { path: s("notes/a.md") }),
            ("show me the file `a.txt`", DemoIntent::Read { path: s("a.txt") }),
            ("list files", DemoIntent::List { path: s(".") }),
            ("list the files in notes", DemoIntent::List { path: s("notes") }),
            ("what time is it", DemoIntent::Time { zone: s("UTC") }),
            ("What time is it in New York?", DemoIntent::Time { zone: s("America/New_York") }),
            ("what time is it in Asia/Tokyo", DemoIntent::Time { zone: s("Asia/Tokyo") }),
            ("what's the date?", DemoIntent::Time { zone: s("UTC") }),
            ("send me notes/a.md", DemoIntent::Send { path: s("notes/a.md") }),
            (
                "replace \"old words\" with 'new words' in notes/a.md",
                DemoIntent::Replace {
                    old: s("old words"),
                    new: s("new words"),
                    path: s("notes/a.md"),
                },
            ),
            (
                "remind me in 5 minutes to call Bob",
                DemoIntent::Remind { text: s("call Bob"), after: s("5 minutes") },
            ),
            ("Remember that I like honey", DemoIntent::Remember { text: s("I like honey") }),
            ("Thanks!", DemoIntent::Thanks),
            ("thank you very much", DemoIntent::Thanks),
            ("who are you?", DemoIntent::Introduction),
            ("Are you a human?", DemoIntent::Introduction),
            ("delete notes/a.md", DemoIntent::Delete { path: s("notes/a.md") }),
            ("run `ls -l`", DemoIntent::Run { command: s("ls -l") }),
            ("sing me a song", DemoIntent::Unknown),
            ("", DemoIntent::Unknown),
        ] {
            assert_eq!(read(text), intent, "{text}");
        }
    }

    #[test]
    fn a_request_for_a_summary_needs_no_tools() {
        assert_eq!(DemoIntent::read("Write a summary of all this.", true), DemoIntent::Summary);
        assert_eq!(read("Summarise our talk"), DemoIntent::Summary);
    }

    #[test]
    fn the_ideas_of_the_web_chat_are_understood_in_every_language() {
        for language in Language::ALL {
            let page = &language.words().page;
            let intent = |start: &str| DemoIntent::read(&format!("{start} Donau"), false);
            assert_eq!(intent(page.start_ask), DemoIntent::Help);
            assert_eq!(intent(page.start_note), DemoIntent::Note { text: "Donau".into() });
            let (topic, format) = ("Donau".to_owned(), Format::Pdf);
            assert_eq!(intent(page.start_report), DemoIntent::Report { topic, format });
        }
    }
}
