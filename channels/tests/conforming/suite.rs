//! The conformance suite of channels: each adapter runs it with its own setup.
//!
//! `conformance!(stage)` generates the tests; `stage` is a future of a [`Stage`]. A stage lists the
//! features that its platform does not have, and the test prints the reason.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use channels::{
    Batch, Button, Channel, Choice, Delivery, Incoming, Intake, Outgoing, Place, Receipt,
    SendError,
    incoming::{Batches, IncomingContent},
    limits::Repeat,
};
use tokio_util::sync::CancellationToken;

/// A platform with one person in a private chat.
pub trait Stage {
    fn channel(&self) -> Arc<dyn Channel>;
    fn place(&self) -> Place;
    /// The reason why a test (by its name) does not apply.
    fn lacks(&self, _test: &str) -> Option<&'static str> {
        None
    }
    /// Waits until the platform knows the listener, if it notifies only known ones.
    async fn hears_us(&self) {}
    fn says(&self, _text: &str) {
        panic!("{LACKING}");
    }
    /// Sends a file; returns the file name that the channel has to use.
    fn attaches(&self, _bytes: Bytes) -> &'static str {
        panic!("{LACKING}");
    }
    fn presses(&self, _label: &str) {
        panic!("{LACKING}");
    }
    /// Delivers every update a second time.
    fn repeats(&self) {
        panic!("{LACKING}");
    }
    /// The bot's messages, oldest first.
    fn shown(&self) -> Vec<Seen>;
    /// The next message request is throttled for this long.
    fn throttles(&self, _wait: Duration) {
        panic!("{LACKING}");
    }
    /// The next message request succeeds, but its response is lost; for channels that edit content
    /// in, this applies to the edit. `false` if a response cannot be lost: then the same message is
    /// sent twice, as after a crash.
    fn loses_answer(&self) -> bool;
}

/// A message of the bot's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub text: String,
    pub buttons: Vec<String>,
    pub file: Option<Bytes>,
}

/// The file that is sent, and its digest.
pub const TABLE: &[u8] = b"a;b\n1;2\n";
pub const DIGEST: &str = "d";
/// Features that a stage must have, unless its `lacks` gives a reason.
const LACKING: &str = "the stage neither does this nor says why";

const BUTTON_TOKEN: &str = "1aAAAAAAAAAAAAAAAAAAAAAA";

fn text(markdown: &str) -> Outgoing {
    Outgoing::Text { markdown: markdown.to_owned(), reply_to: None }
}

fn question() -> Outgoing {
    let choices = [("Allow", Button::Allow), ("Deny", Button::Deny)]
        .map(|(label, button)| Choice { label: label.to_owned(), button })
        .to_vec();
    let approval = "abcdefgh".to_owned();
    Outgoing::Approval { markdown: "Allow it?".to_owned(), approval, choices, reply_to: None }
}

/// One message, sent as the gateway does: with a key and, if the platform has none, into a
/// placeholder.
struct Parcel {
    channel: Arc<dyn Channel>,
    delivery: Delivery,
}

impl Parcel {
    /// Without a placeholder.
    fn bare(stage: &impl Stage, key: &str, what: Outgoing) -> Self {
        let delivery = Delivery {
            key: key.to_owned(),
            place: stage.place(),
            what,
            receipt: None,
            bytes: None,
            album: Vec::new(),
            token: Some(BUTTON_TOKEN.to_owned()),
        };
        Self { channel: stage.channel(), delivery }
    }

    async fn new(stage: &impl Stage, key: &str, what: Outgoing) -> Self {
        let mut parcel = Self::bare(stage, key, what);
        if parcel.channel.limits().repeat == Repeat::EditInPlace {
            let what = Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None };
            let placeholder = Delivery { what, ..parcel.delivery.clone() };
            let placed = parcel.channel.send(&placeholder).await.expect("a place is made");
            parcel.delivery.receipt = Some(placed);
        }
        parcel
    }

    async fn send(&self) -> Result<Receipt, SendError> {
        self.channel.send(&self.delivery).await
    }
}

async fn show(stage: &impl Stage, key: &str, what: Outgoing) -> Receipt {
    Parcel::new(stage, key, what).await.send().await.expect("shown")
}

/// Skips the delay.
async fn pass(wait: Duration) {
    tokio::time::pause();
    tokio::time::advance(wait).await;
    tokio::time::resume();
}

/// The running channel, and the receiver of its intake.
struct Ears {
    batches: Batches,
    heard: VecDeque<Incoming>,
    stop: CancellationToken,
    channel: Arc<dyn Channel>,
}

impl Ears {
    async fn open(stage: &impl Stage) -> Self {
        let (intake, batches) = Intake::new();
        let (channel, stop) = (stage.channel(), CancellationToken::new());
        let (listener, stopped) = (Arc::clone(&channel), stop.clone());
        tokio::spawn(async move { listener.listen(intake, None, stopped).await });
        stage.hears_us().await;
        Self { batches, heard: VecDeque::new(), stop, channel }
    }

    /// The next event of a person.
    async fn hears(&mut self) -> Incoming {
        loop {
            if let Some(incoming) = self.heard.pop_front() {
                return incoming;
            }
            let next = tokio::time::timeout(Duration::from_secs(20), self.batches.recv());
            let (batch, committed): (Batch, _) = next.await.expect("in time").expect("it listens");
            committed.send(()).expect("it waits for the commit");
            // Some platforms report the bot's own messages and memberships.
            let by_people = |it: &Incoming| it.person.as_ref().is_some_and(|who| !who.is_bot);
            let heard = batch.incomings.into_iter().filter(by_people);
            self.heard.extend(heard.filter(|it| it.what != IncomingContent::Admitted));
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
    let mut ears = Ears::open(stage).await;
    stage.says("hello 👍");
    let heard = ears.hears().await;
    assert_eq!(heard.place, stage.place());
    let person = heard.person.expect("somebody");
    assert!(!person.id.is_empty() && !person.is_bot);
    let IncomingContent::Text { text, addressed, files, .. } = heard.what else { panic!("a text") };
    assert_eq!((text.as_str(), addressed, files.len()), ("hello 👍", true, 0));
}

/// R9, M1: a duplicate is dropped, or recognised by its key.
pub async fn names_what_comes_twice_the_same(stage: &impl Stage) {
    let mut ears = Ears::open(stage).await;
    stage.says("once");
    let first = ears.hears().await;
    stage.repeats();
    stage.says("another");
    let mut next = ears.hears().await;
    while next.key == first.key {
        assert_eq!(next, first);
        next = ears.hears().await;
    }
    assert!(
        matches!(&next.what, IncomingContent::Text { text, .. } if text == "another"),
        "{next:?}"
    );
}

/// M8
pub async fn takes_a_file_in(stage: &impl Stage) {
    let mut ears = Ears::open(stage).await;
    let bytes = Bytes::from(vec![7_u8; 200_000]);
    let name = stage.attaches(bytes.clone());
    let IncomingContent::Text { files, .. } = ears.hears().await.what else { panic!("a text") };
    assert_eq!((files.len(), files[0].name.as_str()), (1, name));
    assert!(files[0].size_bytes.is_none_or(|size| size == 200_000), "{files:?}");
    assert_eq!(ears.channel.fetch(&files[0]).await.expect("fetched"), bytes);
}

/// M5
pub async fn shows_a_text(stage: &impl Stage) {
    show(stage, "k1", text("Hi there, 👍🏽 漢字 مرحبا")).await;
    let text = "Hi there, 👍🏽 漢字 مرحبا".to_owned();
    assert_eq!(stage.shown(), [Seen { text, buttons: vec![], file: None }]);
}

/// M8
pub async fn sends_a_file(stage: &impl Stage) {
    let (parcel, seen) = a_file(stage).await;
    parcel.send().await.expect("shown");
    assert_eq!(stage.shown(), [seen]);
}

/// M3: a lost response leaves one message, not two, for each kind.
pub async fn shows_once_what_lost_its_answer(stage: &impl Stage) {
    let (file, seen) = a_file(stage).await;
    let parcels = [
        Parcel::new(stage, "k1", text("Hi there")).await,
        Parcel::new(stage, "k2", question().degrade(stage.channel().limits()).remove(0)).await,
        file,
    ];
    for parcel in &parcels {
        if stage.loses_answer() {
            assert!(parcel.send().await.is_err(), "nobody knows yet");
        } else {
            println!("no answer of this platform can be lost: sent twice instead");
            parcel.send().await.expect("shown");
        }
        parcel.send().await.expect("shown");
    }
    let shown = stage.shown();
    assert_eq!(shown.len(), parcels.len(), "{shown:#?}");
    assert!(shown.iter().any(|seen| seen.text == "Hi there"), "{shown:#?}");
    assert!(shown.iter().any(|seen| seen.text.starts_with("Allow it?")), "{shown:#?}");
    assert!(shown.contains(&seen), "{shown:#?}");
}

/// M4
pub async fn says_how_long_a_full_line_has_to_wait(stage: &impl Stage) {
    let wait = Duration::from_secs(2);
    let parcel = Parcel::new(stage, "k1", text("hi")).await;
    stage.throttles(wait);
    let Err(SendError::Retry { after, .. }) = parcel.send().await else { panic!("refused") };
    assert_eq!(after, Some(wait));
    pass(wait).await;
    parcel.send().await.expect("shown");
}

/// M5
pub async fn shows_a_long_text_whole(stage: &impl Stage) {
    let limits = stage.channel().limits().clone();
    let sentence = "**Bold** words and 👍🏽 emoji, 漢字, مرحبا. ";
    let paragraph = format!("{}\n\n```py\nprint(1)\n```\n\n", sentence.repeat(30));
    let times = limits.text / 1000 + 1;
    let parts = text(&paragraph.repeat(times)).degrade(&limits);
    assert!(parts.len() > 1);
    for (number, part) in parts.into_iter().enumerate() {
        show(stage, &format!("k{number}"), part).await;
    }
    let all: String = stage.shown().into_iter().map(|seen| seen.text).collect();
    assert_eq!(all.matches("words and 👍🏽 emoji, 漢字, مرحبا.").count(), 30 * times);
    assert_eq!(all.matches("print(1)").count(), times);
}

/// A1: by a button or, without buttons, by the command named in the approval.
pub async fn asks_and_hears_the_answer(stage: &impl Stage) {
    let mut ears = Ears::open(stage).await;
    let limits = ears.channel.limits().clone();
    let asked = show(stage, "k1", question().degrade(&limits).remove(0)).await;
    let shown = stage.shown().remove(0);
    if !limits.buttons {
        let command = shown.text.lines().find_map(|line| line.split_once("Deny: "));
        let command = command.expect("it is named").1;
        assert_eq!(command, "/deny abcdefgh");
        stage.says(command);
        let heard = ears.hears().await.what;
        assert!(
            matches!(&heard, IncomingContent::Text { text, .. } if text == command),
            "{heard:?}"
        );
        return;
    }
    assert_eq!(shown.buttons, ["Allow", "Deny"]);
    stage.presses("Deny");
    let IncomingContent::Press { press, message, data, .. } = ears.hears().await.what else {
        panic!("a press")
    };
    assert_eq!((message.as_str(), data), (asked.message.as_str(), format!("{BUTTON_TOKEN}d")));
    let toast = Outgoing::Toast { press, text: "Denied".to_owned(), alert: false };
    let parcel = Parcel::bare(stage, "k2", toast);
    parcel.send().await.expect("answered");
}

/// A3: the approval shows its outcome once, and has no buttons any more.
pub async fn settles_a_question(stage: &impl Stage) {
    let asked = show(stage, "k1", question().degrade(stage.channel().limits()).remove(0)).await;
    let markdown = "Denied by Ann.".to_owned();
    let settled = Outgoing::Settled { markdown, approval: None, choices: vec![] };
    let mut parcel = Parcel::bare(stage, "k2", settled);
    parcel.delivery.receipt = Some(asked);
    for _ in 0..2 {
        parcel.send().await.expect("edited");
    }
    let seen = Seen { text: "Denied by Ann.".to_owned(), buttons: vec![], file: None };
    let shown = stage.shown();
    assert_eq!(shown.last(), Some(&seen));
    assert_eq!(shown.iter().filter(|other| **other == seen).count(), 1);
    assert!(shown.iter().all(|other| other.buttons.is_empty()), "{shown:#?}");
}

async fn a_file(stage: &impl Stage) -> (Parcel, Seen) {
    let bytes = Bytes::from_static(TABLE);
    let what = Outgoing::File {
        name: "table.csv".to_owned(),
        media_type: "text/csv".to_owned(),
        size_bytes: bytes.len() as u64,
        digest: DIGEST.to_owned(),
        caption: Some("Here.".to_owned()),
        reply_to: None,
    };
    let mut parcel = Parcel::new(stage, "file", what).await;
    parcel.delivery.bytes = Some(bytes.clone());
    (parcel, Seen { text: "Here.".to_owned(), buttons: vec![], file: Some(bytes) })
}

/// One test for each, with its own stage; ignored if the stage needs a peer that a script starts.
macro_rules! conformance {
    (@one [$($ignored:tt)*] $stage:expr => $test:ident) => {
        #[tokio::test]
        $($ignored)*
        async fn $test() {
            let stage = $stage.await;
            match $crate::suite::Stage::lacks(&stage, stringify!($test)) {
                Some(why) => println!("{}: does not apply: {why}", stringify!($test)),
                None => $crate::suite::$test(&stage).await,
            }
        }
    };
    (@each $ignored:tt $stage:expr => $($test:ident)*) => {
        $( $crate::suite::conformance! { @one $ignored $stage => $test } )*
    };
    (@all $ignored:tt $stage:expr) => {
        $crate::suite::conformance! { @each $ignored $stage =>
            receives_what_a_person_says
            shows_a_text
            asks_and_hears_the_answer
            settles_a_question
            takes_a_file_in
            sends_a_file
            shows_a_long_text_whole
            says_how_long_a_full_line_has_to_wait
            names_what_comes_twice_the_same
            shows_once_what_lost_its_answer
        }
    };
    (ignore = $why:literal, $stage:expr) => {
        $crate::suite::conformance! { @all [#[ignore = $why]] $stage }
    };
    ($stage:expr) => {
        $crate::suite::conformance! { @all [] $stage }
    };
}
pub(crate) use conformance;
