//! An item of the timeline: first with Markdown, then with HTML, as a page gets it.

use anyhow::Result;
use channels::{Choice, Outgoing, text};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::activity::CallStatus;
use crate::admin::{code_html::CodeBudget, markdown_html, percent};

/// Markdown of an item that has not been rendered yet. It cannot be sent to a page.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemMarkdown(pub String);

/// An item of the timeline. Its texts are HTML, or [`ItemMarkdown`] before they are rendered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineItem<T = String> {
    pub id: String,
    /// The edit whose content this is, if any. Later edits sort after earlier ones.
    pub edit: String,
    /// Sorts as text.
    pub order: String,
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub what: ShownItem<T>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShownItem<T = String> {
    /// `message` is the id that the page created.
    Said {
        text: String,
        message: String,
        files: Vec<ItemFile>,
        /// It was sent again for a new answer.
        again: bool,
    },
    Text {
        html: T,
    },
    #[serde(rename = "question")]
    Approval {
        html: T,
        approval: String,
        choices: Vec<Choice>,
    },
    /// Replaces the approval with the same id.
    Settled {
        html: T,
    },
    File {
        name: String,
        media_type: String,
        size_bytes: u64,
        url: String,
        html: T,
    },
    /// A tool call, without secrets.
    Call {
        tool: String,
        /// What the call does, in a sentence.
        summary: T,
        state: CallStatus,
        arguments: String,
        result: Option<String>,
        took_ms: Option<u64>,
    },
}

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemFile {
    pub name: String,
    pub size_bytes: Option<u64>,
}

/// Renders the items of a response, which are in order, on a thread for work that blocks. The last
/// ones come first: people read them first, and the budget for highlighted code may run out.
pub async fn rendered(items: Vec<TimelineItem<ItemMarkdown>>) -> Result<Vec<TimelineItem>> {
    // Open pages poll, and mostly find nothing.
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let render = move |budget: &mut CodeBudget| {
        let last_first = items.into_iter().rev();
        let mut rendered: Vec<_> = last_first.map(|item| item.rendered(budget)).collect();
        rendered.reverse();
        rendered
    };
    markdown_html::rendered(render).await
}

impl TimelineItem<ItemMarkdown> {
    /// The files of this message, if the item is one.
    pub fn files_of(&mut self, id: &str) -> Option<&mut Vec<ItemFile>> {
        match &mut self.what {
            ShownItem::Said { message, files, .. } if message == id => Some(files),
            _ => None,
        }
    }

    fn rendered(self, budget: &mut CodeBudget) -> TimelineItem {
        let Self { id, edit, order, at, what } = self;
        TimelineItem { id, edit, order, at, what: what.rendered(budget) }
    }
}

impl ShownItem<ItemMarkdown> {
    /// What a page shows of a message; `None` if it shows nothing.
    pub fn of(what: Outgoing) -> Option<Self> {
        Some(match what {
            Outgoing::Text { markdown, .. } => Self::Text { html: ItemMarkdown(markdown) },
            // A settled approval with remaining buttons is shown as an approval.
            Outgoing::Approval { markdown, approval, choices, .. }
            | Outgoing::Settled { markdown, approval: Some(approval), choices } => {
                Self::Approval { html: ItemMarkdown(markdown), approval, choices }
            }
            Outgoing::Settled { markdown, .. } => Self::Settled { html: ItemMarkdown(markdown) },
            Outgoing::File { name, media_type, size_bytes, digest, caption, .. } => Self::File {
                url: format!("/files/{digest}/{}", percent::encoded(&name)),
                name: text::neutralise(&name),
                media_type,
                size_bytes,
                html: ItemMarkdown(caption.unwrap_or_default()),
            },
            Outgoing::Placeholder { .. }
            | Outgoing::Draft { .. }
            | Outgoing::Removal
            | Outgoing::Typing
            | Outgoing::Reaction { .. }
            | Outgoing::Toast { .. } => return None,
        })
    }

    fn rendered(self, budget: &mut CodeBudget) -> ShownItem {
        let mut render = |text: ItemMarkdown| markdown_html::from_markdown(&text.0, budget);
        match self {
            Self::Said { text, message, files, again } => {
                ShownItem::Said { text, message, files, again }
            }
            Self::Text { html } => ShownItem::Text { html: render(html) },
            Self::Approval { html, approval, choices } => {
                ShownItem::Approval { html: render(html), approval, choices }
            }
            Self::Settled { html } => ShownItem::Settled { html: render(html) },
            Self::File { name, media_type, size_bytes, url, html } => {
                ShownItem::File { name, media_type, size_bytes, url, html: render(html) }
            }
            Self::Call { tool, summary, state, arguments, result, took_ms } => {
                let summary = render(summary);
                ShownItem::Call { tool, summary, state, arguments, result, took_ms }
            }
        }
    }
}
