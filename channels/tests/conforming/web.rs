//! The web chat setup for the shared conformance suite: one open page.

use std::{
    future::ready,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use channels::{
    Channel, Outgoing, Place, PlaceKind, text,
    web::{Web, WebShown},
};
use tokio::sync::broadcast::Receiver;

use crate::suite::{DIGEST, Seen, Stage, TABLE, conformance};

struct OnWeb {
    channel: Arc<Web>,
    page: Mutex<Page>,
}

/// A page and its content.
struct Page {
    told: Receiver<WebShown>,
    shown: Vec<WebShown>,
}

fn stage() -> OnWeb {
    let channel = Arc::new(Web::new("web"));
    let page = Mutex::new(Page { told: channel.subscribe(), shown: Vec::new() });
    OnWeb { channel, page }
}

impl Page {
    /// An item replaces another one by its key or by the `replaces` field.
    fn read(&mut self) {
        while let Ok(new) = self.told.try_recv() {
            let same =
                |old: &WebShown| old.key == new.key || new.replaces.as_ref() == Some(&old.key);
            match self.shown.iter().position(same) {
                Some(at) => self.shown[at] = new,
                None => self.shown.push(new),
            }
        }
    }
}

/// The bytes of a file are fetched by its digest from the server.
fn seen(shown: &WebShown) -> Seen {
    let (markdown, choices, file) = match &shown.what {
        Outgoing::Text { markdown, .. } => (markdown.as_str(), &[][..], None),
        Outgoing::Approval { markdown, choices, .. }
        | Outgoing::Settled { markdown, choices, .. } => (markdown.as_str(), &choices[..], None),
        Outgoing::File { caption, digest, .. } => {
            let file = (digest == DIGEST).then(|| Bytes::from_static(TABLE));
            (caption.as_deref().unwrap_or_default(), &[][..], file)
        }
        other => panic!("not for a page to keep: {other:?}"),
    };
    let buttons = choices.iter().map(|choice| choice.label.clone()).collect();
    Seen { text: text::format(markdown).text, buttons, file }
}

impl Stage for OnWeb {
    fn channel(&self) -> Arc<dyn Channel> {
        self.channel.clone()
    }

    fn place(&self) -> Place {
        Place { chat: "c1".to_owned(), thread: None, kind: PlaceKind::Private }
    }

    /// A page talks to the admin server and not to the channel, see src/admin/tests.
    fn lacks(&self, test: &str) -> Option<&'static str> {
        match test {
            "receives_what_a_person_says" | "names_what_comes_twice_the_same" => {
                Some("heard by the server: a_message_sent_twice_is_said_once")
            }
            "asks_and_hears_the_answer" => Some(
                "pressed at the server: \
                 a_press_decides_once_and_the_settled_question_replaces_the_card",
            ),
            "takes_a_file_in" => Some("a page sends no files"),
            "says_how_long_a_full_line_has_to_wait" => {
                Some("our own pages set no limit; one that lags reads its history again")
            }
            _ => None,
        }
    }

    fn shown(&self) -> Vec<Seen> {
        let mut page = self.page.lock().expect("not poisoned");
        page.read();
        page.shown.iter().map(seen).collect()
    }

    fn loses_answer(&self) -> bool {
        false
    }
}

conformance!(ready(stage()));
