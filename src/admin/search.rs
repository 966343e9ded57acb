//! Full-text search in messages. The database only narrows the choice down: it does not know the
//! letters of all languages, and searches the names of JSON fields as well.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::json;

use super::Admin;
use crate::{
    journal::event::Event,
    store::lists::conversations::{FoundMessage, SearchedEvents, search},
};

/// The longest search, in characters.
const SEARCH_CHARS: usize = 200;
/// How many messages that may contain the words are read at once, and how often.
pub const CANDIDATES: usize = 500;
pub const ROUNDS: usize = 20;
/// How much of a found message is shown around the words.
const AROUND_CHARS: usize = 40;
/// The maximum number of messages that an operator's search finds.
const FOUND: usize = 100;

/// A message or an answer with the words.
#[derive(Debug, Serialize)]
pub struct FoundView {
    pub conversation: String,
    pub channel: String,
    pub chat: String,
    pub at: DateTime<Utc>,
    /// The name of the person who wrote it; `None` for an answer of the agent.
    pub by: Option<String>,
    /// Without secrets.
    pub excerpt: String,
}

/// Searches the messages and answers of the last days in all conversations, newest first.
pub async fn everywhere(admin: &Admin, text: &str, days: i64) -> Result<Vec<FoundView>> {
    let words = search_words(text);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let since = admin.gateway.clock.now() - TimeDelta::days(days);
    let searched = SearchedEvents { pattern: pattern(&words), since, limit: CANDIDATES };
    let (mut found, mut last) = (Vec::new(), None);
    for _ in 0..ROUNDS {
        let (searched, after) = (searched.clone(), last.take());
        let read = admin.gateway.store.read(move |tx| {
            let (searched, after) = (searched.clone(), after.clone());
            Box::pin(async move { search(tx, &searched, after.as_ref()).await })
        });
        let candidates = read.await?;
        let is_last = candidates.len() < CANDIDATES;
        last = candidates.last().cloned();
        found.extend(candidates.into_iter().filter_map(|one| view(admin, one, &words)));
        if is_last || found.len() >= FOUND {
            break;
        }
    }
    found.truncate(FOUND);
    Ok(found)
}

fn view(admin: &Admin, found: FoundMessage, words: &str) -> Option<FoundView> {
    let (text, by) = match found.entry.event {
        Event::Said { text, by, .. } => (text, Some(by.name)),
        Event::Replied { text, .. } => (text, None),
        _ => return None,
    };
    // Secrets are removed first, so that no part of one remains in the excerpt.
    let excerpt = excerpt(&admin.redactor().text(&text), words)?;
    Some(FoundView {
        conversation: found.conversation.0,
        channel: found.channel,
        chat: found.chat,
        at: found.entry.at,
        by,
        excerpt,
    })
}

/// The words of a search, in lower case and on one line.
pub fn search_words(text: &str) -> String {
    one_line(&folded(text).take(SEARCH_CHARS).collect::<String>())
}

/// The letters in lower case, one for each character.
pub fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c))
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A pattern for the JSON of messages that may contain these words. Databases know the lower case
/// of ASCII letters only, and the words may be separated by any white space.
pub fn pattern(words: &str) -> String {
    let json = json!(words).to_string();
    let mut pattern = "%\"text\":\"%".to_owned();
    for c in json[1..json.len() - 1].chars() {
        match c {
            '%' | '_' | '\\' => pattern.extend(['\\', c]),
            c if c.is_ascii() && c != ' ' => pattern.push(c),
            _ if pattern.ends_with('%') && !pattern.ends_with("\\%") => {}
            _ => pattern.push('%'),
        }
    }
    format!("{pattern}%")
}

/// The words with what is around them, on one line.
pub fn excerpt(text: &str, words: &str) -> Option<String> {
    let line = one_line(text);
    let lower: Vec<char> = folded(&line).collect();
    let wanted: Vec<char> = words.chars().collect();
    let at = lower.windows(wanted.len().max(1)).position(|window| window == wanted)?;
    let begin = at.saturating_sub(AROUND_CHARS);
    let shown: String = line.chars().skip(begin).take(2 * AROUND_CHARS + wanted.len()).collect();
    Some(if begin > 0 { format!("…{shown}") } else { shown })
}
