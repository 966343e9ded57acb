//! The list of a person's conversations in the web chat: names, search, and export as Markdown.

use anyhow::Result;
use axum::{
    Json,
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::Response,
};
use channels::{Outgoing, Place};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use super::{
    downloads,
    participant::{Participant, is_thread},
    regenerate::is_repeated,
    timeline::kept_since,
};
use crate::{
    admin::{
        Admin, language,
        problem::{BAD_REQUEST, NO_SUCH_PAGE, Problem, TOO_MANY_CONVERSATIONS},
        search::{CANDIDATES, ROUNDS, excerpt, folded, one_line, pattern, search_words},
    },
    journal::event::{Entry, Event},
    store::{
        Tx,
        conversations::{
            history::{self, RowsBefore, ShownRow},
            journal,
            own::{self as own_conversations, OwnConversation, SearchedMessages},
        },
    },
    texts::PageTexts,
};

/// The maximum number of conversations of a person.
const MAX_CONVERSATIONS: usize = 200;
/// The longest name, and the longest one that is taken from a message, in characters.
const NAME_CHARS: usize = 80;
const FIRST_WORDS_CHARS: usize = 50;
/// The maximum number of messages that a search finds.
const FOUND: usize = 100;
/// The maximum number of messages that are exported.
const EXPORTED: usize = 20_000;

#[derive(Default, Deserialize)]
pub struct Search {
    #[serde(default)]
    search: String,
}

/// A conversation in the list.
#[derive(Debug, Serialize)]
struct OwnView {
    /// Empty for the first one.
    id: String,
    name: String,
    created_at: DateTime<Utc>,
    last_at: DateTime<Utc>,
    /// Where the words of a search were found.
    found: Option<String>,
}

/// The conversations, the most recent ones first; with a search, those that contain the words.
pub async fn index(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    Query(Search { search }): Query<Search>,
) -> Result<Json<Value>, Problem> {
    let words = search_words(&search);
    let (channel, chat) = (participant.channel.clone(), participant.speaker.id.clone());
    let sought = words.clone();
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            let own = own_conversations::list(tx, &channel, &chat, MAX_CONVERSATIONS).await?;
            let pattern = pattern(&sought);
            let searched = SearchedMessages { channel, chat, pattern, limit: CANDIDATES };
            let excerpts = if sought.is_empty() {
                BTreeMap::new()
            } else {
                excerpts(tx, &searched, &sought).await?
            };
            Ok((own, excerpts))
        })
    });
    let (own, excerpts) = read.await?;
    Ok(Json(json!({ "items": listed(own, excerpts, &words) })))
}

/// Where the words were found, by conversation. The database only narrows the choice down: it does
/// not know the letters of all languages, and searches the names of JSON fields as well.
async fn excerpts(
    tx: &mut Tx<'_>,
    searched: &SearchedMessages,
    words: &str,
) -> Result<BTreeMap<String, String>> {
    let (mut excerpts, mut found, mut last) = (BTreeMap::new(), 0, None);
    for _ in 0..ROUNDS {
        let candidates = own_conversations::search(tx, searched, last.as_ref()).await?;
        let is_last = candidates.len() < searched.limit;
        last = candidates.last().cloned();
        for one in candidates {
            let (Event::Said { text, .. } | Event::Replied { text, .. }) = one.entry.event else {
                continue;
            };
            if let Some(excerpt) = excerpt(&text, words) {
                found += 1;
                excerpts.entry(one.thread).or_insert(excerpt);
            }
        }
        if is_last || found >= FOUND {
            break;
        }
    }
    Ok(excerpts)
}

fn listed(
    own: Vec<OwnConversation>,
    excerpts: BTreeMap<String, String>,
    words: &str,
) -> Vec<OwnView> {
    let matches = |own: &OwnConversation| {
        words.is_empty()
            || folded(&own.title).collect::<String>().contains(words)
            || excerpts.contains_key(&own.thread)
    };
    own.into_iter()
        .filter(matches)
        .map(|own| OwnView {
            found: excerpts.get(&own.thread).cloned(),
            id: own.thread,
            name: own.title,
            created_at: own.created_at,
            last_at: own.last_at,
        })
        .collect()
}

#[derive(Deserialize)]
pub struct Renamed {
    /// Empty for the first one.
    id: String,
    name: String,
}

pub async fn rename(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    Json(Renamed { id, name }): Json<Renamed>,
) -> Result<StatusCode, Problem> {
    let title: String = plain_name(&name).chars().take(NAME_CHARS).collect();
    if title.is_empty() || !(id.is_empty() || is_thread(&id)) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, BAD_REQUEST));
    }
    let place = Place { thread: Some(id).filter(|id| !id.is_empty()), ..participant.place() };
    let there = write_name(&admin, &participant, place, title).await?;
    let none = || Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE);
    there.then_some(StatusCode::NO_CONTENT).ok_or_else(none)
}

async fn write_name(
    admin: &Admin,
    participant: &Participant,
    place: Place,
    title: String,
) -> Result<bool> {
    let channel = participant.channel.clone();
    let write = admin.gateway.store.write("rename conversation", move |tx| {
        Box::pin(async move { own_conversations::rename(tx, &channel, &place, &title).await })
    });
    write.await
}

/// The name of a new conversation, taken from its first message; `None` if the conversation exists
/// or the message is a command. Fails if the person has too many conversations.
pub async fn new_name(
    admin: &Admin,
    participant: &Participant,
    text: &str,
) -> Result<Option<String>, Problem> {
    let (channel, place) = (participant.channel.clone(), participant.place());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            if journal::find_conversation(tx, &channel, &place).await?.is_some() {
                return Ok(None);
            }
            let own = own_conversations::list(tx, &channel, &place.chat, MAX_CONVERSATIONS).await?;
            Ok(Some(own.len()))
        })
    });
    match read.await? {
        None => Ok(None),
        Some(MAX_CONVERSATIONS..) => Err(Problem::unfit(TOO_MANY_CONVERSATIONS)),
        Some(_) => Ok(first_words(text)),
    }
}

/// The beginning of a message, cut after a word; `None` for a command.
fn first_words(text: &str) -> Option<String> {
    let line = plain_name(text);
    if line.is_empty() || line.starts_with('/') {
        return None;
    }
    let Some((end, _)) = line.char_indices().nth(FIRST_WORDS_CHARS) else { return Some(line) };
    let end = line[..end].rfind(' ').unwrap_or(end);
    Some(format!("{}…", &line[..end]))
}

/// A name on one line. PostgreSQL does not support NUL characters in text, and a page shows no other
/// control characters.
fn plain_name(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    one_line(&spaced)
}

/// Names the conversation of the request.
pub async fn name(admin: &Admin, participant: &Participant, title: String) -> Result<()> {
    write_name(admin, participant, participant.place(), title).await.map(drop)
}

/// The conversation as a Markdown file.
pub async fn export(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (channel, place) = (participant.channel.clone(), participant.place());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            let Some(id) = journal::find_conversation(tx, &channel, &place).await? else {
                return Ok(None);
            };
            let own = own_conversations::list(tx, &channel, &place.chat, MAX_CONVERSATIONS).await?;
            let thread = place.thread.unwrap_or_default();
            let title = own.into_iter().find(|one| one.thread == thread).map(|one| one.title);
            let range = history::EventRange { after: 0, before: i64::MAX };
            let said = history::events_within(tx, &id, range, EXPORTED).await?;
            let page_request = RowsBefore { seq: i64::MAX, limit: EXPORTED };
            let shown = history::before(tx, &id, page_request).await?;
            Ok(Some((title.unwrap_or_default(), said, shown)))
        })
    });
    let none = || Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE);
    let (title, mut said, shown) = read.await?.ok_or_else(none)?;
    let since = kept_since(&admin);
    said.retain(|entry| entry.at >= since);
    let words = &language::of(&headers).words().page;
    let title = if title.is_empty() { admin.bot.clone() } else { title };
    let text = exported(&title, &admin.bot, words, lines(said, shown, words));
    let mut response = downloads::attached(&format!("{title}.md"), text.into());
    let markdown = HeaderValue::from_static("text/markdown; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, markdown);
    Ok(response)
}

/// A message of an export.
struct ExportedMessage {
    order: (i64, usize),
    at: DateTime<Utc>,
    author: Author,
    markdown: String,
}

enum Author {
    Bot,
    Person {
        /// Whether the message was sent again for a new answer.
        again: bool,
    },
}

/// Messages and answers in their order. An edited message is exported as it is now.
fn lines(said: Vec<Entry>, shown: Vec<ShownRow>, words: &PageTexts) -> Vec<ExportedMessage> {
    let own = said.into_iter().filter_map(|entry| match entry.event {
        Event::Said { text, message, .. } => {
            let author = Author::Person { again: is_repeated(&message) };
            Some(ExportedMessage { order: (entry.seq, 0), at: entry.at, author, markdown: text })
        }
        _ => None,
    });
    let mut lines: Vec<_> = own.collect();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (place, row) in shown.into_iter().enumerate() {
        let markdown = match row.what {
            Outgoing::Text { markdown, .. }
            | Outgoing::Approval { markdown, .. }
            | Outgoing::Settled { markdown, .. } => markdown,
            Outgoing::File { name, .. } => format!("{}: `{name}`", words.sent_file),
            _ => continue,
        };
        if let Some(edited) = row.edits.as_ref().and_then(|edited| places.get(edited.as_str())) {
            lines[*edited].markdown = markdown;
        } else {
            places.insert(row.id.to_string(), lines.len());
            let order = (row.seq, place + 1);
            lines.push(ExportedMessage {
                order,
                at: row.created_at,
                author: Author::Bot,
                markdown,
            });
        }
    }
    lines.sort_by_key(|line| line.order);
    lines
}

fn exported(title: &str, bot: &str, words: &PageTexts, lines: Vec<ExportedMessage>) -> String {
    let mut text = format!("# {}\n", title.replace('\n', " "));
    for line in lines {
        let (who, note) = match line.author {
            Author::Bot => (bot, None),
            Author::Person { again } => {
                (words.script.you, again.then_some(words.script.sent_again))
            }
        };
        let at = line.at.format("%Y-%m-%d %H:%M UTC");
        let note = note.map(|note| format!(", {note}")).unwrap_or_default();
        let _ = write!(text, "\n**{who}**, {at}{note}\n\n{}\n", line.markdown.trim());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_named_after_its_first_words() {
        assert_eq!(first_words(" Plan\nthe trip "), Some("Plan the trip".into()));
        assert_eq!(first_words("Plan\0the\u{1b} trip"), Some("Plan the trip".into()));
        assert_eq!(first_words("/status"), None);
        assert_eq!(first_words(""), None);
        let long = first_words(&"word ".repeat(30)).unwrap();
        assert!(long.ends_with("word…") && long.chars().count() <= 51, "{long}");
    }

    #[test]
    fn a_search_shows_what_is_around_the_words() {
        let text = format!("{} The Danube flows {}", "a ".repeat(60), "b ".repeat(60));
        let shown = excerpt(&text, "danube").unwrap();
        assert!(shown.starts_with('…') && shown.contains("The Danube flows"), "{shown}");
        assert_eq!(excerpt("İstanbul", "bul"), Some("İstanbul".into()));
        assert_eq!(excerpt("nothing", "danube"), None);
        assert_eq!(
            excerpt("Der ÜBERGANG\n über", "übergang über"),
            Some("Der ÜBERGANG über".into())
        );
        let text = "%\"text\":\"";
        assert_eq!(pattern("50%_\\\"x"), format!("{text}%50\\%\\_\\\\\\\\\\\\\"x%"));
        assert_eq!(pattern("über  den"), format!("{text}%ber%den%"));
        assert_eq!(pattern("50%ü"), format!("{text}%50\\%%%"));
    }
}
