//! What every channel does, whatever its platform: each adapter runs these on a stage of its own.
//!
//! `conformance!(stage)` makes the tests; `stage` is an `async fn() -> impl Stage`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use channels::{
    Batch, Channel, Choice, Incoming, Intake, Outgoing, Place, Receipt, SendError, Shipment,
    incoming::{Batches, What},
    limits::Repeat,
};
use tokio_util::sync::CancellationToken;

/// A platform with one person in a private chat.
pub trait Stage {
    fn channel(&self) -> Arc<dyn Channel>;
    fn place(&self) -> Place;
    fn says(&self, text: &str);
    fn attaches(&self, name: &str, bytes: Bytes);
    fn presses(&self, label: &str);
    /// Delivers everything once more that was delivered.
    fn repeats(&self);
    /// What the bot shows, oldest first.
    fn shown(&self) -> Vec<Seen>;
    /// The next request that shows something is refused for so long.
    fn throttles(&self, wait: Duration);
    /// The next request that shows something is granted, and its answer lost. Of an edit, where
    /// the channel edits its content in.
    fn loses_answer(&self);
}

/// A message of the bot's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub text: String,
    pub buttons: Vec<String>,
    pub file: Option<Bytes>,
}

const BUTTON_TOKEN: &str = "1aAAAAAAAAAAAAAAAAAAAAAA";

fn text(markdown: &str) -> Outgoing {
    Outgoing::Text { markdown: markdown.to_owned(), reply_to: None }
}

fn question() -> Outgoing {
    let choices = [("Allow", 'a'), ("Deny", 'd')]
        .map(|(label, key)| Choice { label: label.to_owned(), key })
        .to_vec();
    let approval = "abcdefgh".to_owned();
    Outgoing::Question { markdown: "Allow it?".to_owned(), approval, choices, reply_to: None }
}

/// One thing on its way, sent as the gateway sends it: under one key, and, where the platform knows
/// none, into a placeholder.
struct Parcel {
    channel: Arc<dyn Channel>,
    shipment: Shipment,
}

impl Parcel {
    async fn new(stage: &impl Stage, key: &str, what: Outgoing) -> Self {
        let shipment = Shipment {
            key: key.to_owned(),
            place: stage.place(),
            what,
            receipt: None,
            bytes: None,
            token: Some(BUTTON_TOKEN.to_owned()),
        };
        let mut parcel = Self { channel: stage.channel(), shipment };
        if parcel.channel.limits().repeat == Repeat::EditInPlace {
            let what = Outgoing::Placeholder { reply_to: None };
            let placeholder = Shipment { what, ..parcel.shipment.clone() };
            let placed = parcel.channel.send(&placeholder).await.expect("a place is made");
            parcel.shipment.receipt = Some(placed);
        }
        parcel
    }

    async fn send(&self) -> Result<Receipt, SendError> {
        self.channel.send(&self.shipment).await
    }
}

async fn show(stage: &impl Stage, key: &str, what: Outgoing) -> Receipt {
    Parcel::new(stage, key, what).await.send().await.expect("shown")
}

/// The channel at its work, and the far end of its intake.
struct Ears {
    batches: Batches,
    stop: CancellationToken,
    channel: Arc<dyn Channel>,
}

impl Ears {
    fn open(stage: &impl Stage) -> Self {
        let (intake, batches) = Intake::new();
        let (channel, stop) = (stage.channel(), CancellationToken::new());
        let (listener, stopped) = (Arc::clone(&channel), stop.clone());
        tokio::spawn(async move { listener.listen(intake, None, stopped).await });
        Self { batches, stop, channel }
    }

    async fn hears(&mut self) -> Incoming {
        loop {
            let (batch, committed): (Batch, _) = self.batches.recv().await.expect("it listens");
            committed.send(()).expect("it waits for the commit");
            if let Some(incoming) = batch.incomings.into_iter().next() {
                return incoming;
            }
        }
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// M1, M8
pub async fn receives_what_a_person_says(stage: &impl Stage) {
    let mut ears = Ears::open(stage);
    stage.says("hello 👍");
    let heard = ears.hears().await;
    assert_eq!(heard.place, stage.place());
    let person = heard.person.expect("somebody");
    assert!(!person.id.is_empty() && !person.is_bot);
    let What::Text { text, addressed, files, .. } = heard.what else { panic!("a text") };
    assert_eq!((text.as_str(), addressed, files.len()), ("hello 👍", true, 0));
}

/// R9, M1
pub async fn names_what_comes_twice_the_same(stage: &impl Stage) {
    let mut ears = Ears::open(stage);
    stage.says("once");
    let first = ears.hears().await;
    stage.repeats();
    assert_eq!(ears.hears().await, first);
    stage.says("another");
    assert_ne!(ears.hears().await.key, first.key);
}

/// M8
pub async fn takes_a_file_in(stage: &impl Stage) {
    let mut ears = Ears::open(stage);
    let bytes = Bytes::from(vec![7_u8; 200_000]);
    stage.attaches("a b.txt", bytes.clone());
    let What::Text { files, .. } = ears.hears().await.what else { panic!("a text") };
    assert_eq!((files.len(), files[0].name.as_str()), (1, "a b.txt"));
    assert_eq!(files[0].size_bytes, Some(200_000));
    assert_eq!(ears.channel.fetch(&files[0]).await.expect("fetched"), bytes);
}

/// M3: an answer that is lost leaves one message, not two.
pub async fn shows_a_text_once_whatever_is_lost(stage: &impl Stage) {
    let parcel = Parcel::new(stage, "k1", text("**Hi** there")).await;
    stage.loses_answer();
    assert!(parcel.send().await.is_err(), "nobody knows yet");
    parcel.send().await.expect("shown");
    let shown = stage.shown();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].text.contains("Hi"), "{shown:?}");
}

/// M4
pub async fn says_how_long_a_full_line_has_to_wait(stage: &impl Stage) {
    let parcel = Parcel::new(stage, "k1", text("hi")).await;
    stage.throttles(Duration::from_secs(2));
    let Err(SendError::Retry { after, .. }) = parcel.send().await else { panic!("refused") };
    assert_eq!(after, Some(Duration::from_secs(2)));
    parcel.send().await.expect("shown");
}

/// M5
pub async fn shows_a_long_text_whole(stage: &impl Stage) {
    let limits = stage.channel().limits().clone();
    let long = "**Bold** words and 👍🏽 emoji, 漢字, مرحبا.\n\n```py\nprint(1)\n```\n\n".repeat(150);
    let parts = text(&long).degrade(&limits);
    assert!(parts.len() > 1);
    for (number, part) in parts.into_iter().enumerate() {
        show(stage, &format!("k{number}"), part).await;
    }
    let all: String = stage.shown().into_iter().map(|seen| seen.text).collect();
    for (words, times) in [("words and 👍🏽 emoji, 漢字, مرحبا.", 150), ("print(1)", 150)]
    {
        assert_eq!(all.matches(words).count(), times);
    }
}

/// A1, A3
pub async fn asks_hears_the_press_and_settles(stage: &impl Stage) {
    let mut ears = Ears::open(stage);
    let asked = show(stage, "k1", question()).await;
    assert_eq!(stage.shown()[0].buttons, ["Allow", "Deny"]);
    stage.presses("Deny");
    let What::Press { press, message, data, .. } = ears.hears().await.what else {
        panic!("a press")
    };
    assert_eq!((message.as_str(), data), (asked.message.as_str(), format!("{BUTTON_TOKEN}d")));
    let toast = Outgoing::Toast { press, text: "Denied".to_owned(), alert: false };
    let sending = |what, receipt: Option<&Receipt>| Shipment {
        key: "k2".to_owned(),
        place: stage.place(),
        what,
        receipt: receipt.cloned(),
        bytes: None,
        token: None,
    };
    ears.channel.send(&sending(toast, None)).await.expect("answered");
    let markdown = "Denied by Ann.".to_owned();
    let settled = Outgoing::Settled { markdown, approval: None, choices: vec![] };
    for _ in 0..2 {
        ears.channel.send(&sending(settled.clone(), Some(&asked))).await.expect("edited");
    }
    let seen = Seen { text: "Denied by Ann.".to_owned(), buttons: vec![], file: None };
    assert_eq!(stage.shown(), [seen]);
}

/// M3: a file is sent once, also when the answer to it is lost.
pub async fn sends_a_file_once_whatever_is_lost(stage: &impl Stage) {
    let bytes = Bytes::from_static(b"a;b\n1;2\n");
    let what = Outgoing::File {
        name: "table.csv".to_owned(),
        media_type: "text/csv".to_owned(),
        size_bytes: bytes.len() as u64,
        digest: "d".to_owned(),
        caption: Some("Here.".to_owned()),
        reply_to: None,
    };
    let mut parcel = Parcel::new(stage, "k1", what).await;
    parcel.shipment.bytes = Some(bytes.clone());
    stage.loses_answer();
    assert!(parcel.send().await.is_err(), "nobody knows yet");
    parcel.send().await.expect("shown");
    let seen = Seen { text: "Here.".to_owned(), buttons: vec![], file: Some(bytes) };
    assert_eq!(stage.shown(), [seen]);
}

/// One test for each, on a stage of its own.
macro_rules! conformance {
    ($stage:expr => $($test:ident)*) => {
        $(
            #[tokio::test]
            async fn $test() {
                $crate::conformance::$test(&$stage.await).await;
            }
        )*
    };
    ($stage:expr) => {
        $crate::conformance::conformance! { $stage =>
            receives_what_a_person_says
            names_what_comes_twice_the_same
            takes_a_file_in
            shows_a_text_once_whatever_is_lost
            says_how_long_a_full_line_has_to_wait
            shows_a_long_text_whole
            asks_hears_the_press_and_settles
            sends_a_file_once_whatever_is_lost
        }
    };
}
pub(crate) use conformance;
