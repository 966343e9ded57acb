//! MarkdownV2, as far as other clients' checks need it: <https://core.telegram.org/bots/api#markdownv2-style>.

use serde_json::{Value, json};

use super::rules::{Refusal, units};

const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

/// The text without marks, and its entities.
pub(super) fn parse(source: &str) -> Result<(String, Vec<Value>), Refusal> {
    let mut text = String::new();
    let mut entities = Vec::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let inside = open.last().map(|(mark, _)| *mark).filter(|mark| mark.starts_with('`'));
        let marks = ["```", "`", "||", "__", "*", "_", "~"];
        let mark = marks.into_iter().find(|mark| rest.starts_with(mark));
        let mark = mark.filter(|mark| inside.is_none_or(|open| open == *mark));
        if c == '\\' && rest[1..].starts_with(|next: char| next.is_ascii_punctuation()) {
            text.push_str(&rest[1..2]);
            rest = &rest[2..];
        } else if let Some(mark) = mark {
            match open.pop_if(|(last, _)| *last == mark) {
                Some((_, from)) => entities.push(entity(mark, from, units(&text))),
                None => open.push((mark, units(&text))),
            }
            rest = &rest[mark.len()..];
        } else if inside.is_none() && RESERVED.contains(c) {
            return Err(Refusal::bad(&format!(
                "can't parse entities: Character '{c}' is reserved and must be escaped with the \
                 preceding '\\'"
            )));
        } else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    match open.pop() {
        None => Ok((text, entities)),
        Some((_, from)) => Err(Refusal::bad(&format!(
            "can't parse entities: Can't find end of the entity starting at byte offset {from}"
        ))),
    }
}

fn entity(mark: &str, from: usize, to: usize) -> Value {
    let kind = match mark {
        "```" => "pre",
        "`" => "code",
        "||" => "spoiler",
        "__" => "underline",
        "*" => "bold",
        "_" => "italic",
        _ => "strikethrough",
    };
    json!({ "type": kind, "offset": from, "length": to - from })
}
