//! Files of people: names and contents.

use channels::{Channel, FileRef, SendError, incoming::IncomingContent};
use fakes::telegram::{FakeTelegram, File, Trouble};
use serde_json::json;

use super::*;

fn files(what: IncomingContent) -> (String, Vec<FileRef>, Option<String>) {
    match what {
        IncomingContent::Text { text, files, album, .. } => (text, files, album),
        other => panic!("{other:?}"),
    }
}

/// Proves M8.
#[tokio::test]
async fn each_kind_of_file_arrives_with_a_name_and_can_be_fetched() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    let cases = [
        ("document", "a b.csv", "text/csv", "a b.csv"),
        ("photo", "", "image/jpeg", "photo_N.jpg"),
        ("voice", "", "audio/ogg", "voice_N.ogg"),
        ("audio", "song.mp3", "audio/mpeg", "song.mp3"),
        ("video", "v.mp4", "video/mp4", "v.mp4"),
        ("video_note", "", "video/mp4", "video_note_N.mp4"),
        ("animation", "x.mp4", "video/mp4", "x.mp4"),
        ("sticker", "", "image/webp", "sticker_N.webp"),
    ];
    for (kind, given, media_type, name) in cases {
        let bytes = [magic(media_type), kind.as_bytes()].concat();
        let sent = File::new(given, media_type, bytes.clone());
        let (message, id) = fake.user_sends(chat, "Ann", (kind, sent));
        let (text, files, album) = files(listening.what().await);
        assert_eq!(text, if kind == "sticker" { "[sticker 👍]" } else { "" });
        let expected = FileRef {
            id,
            name: name.replace('N', &message.to_string()),
            media_type: Some(media_type.to_owned()),
            size_bytes: Some(bytes.len() as u64),
            is_voice: kind == "voice",
        };
        assert_eq!((&files[..], album), (&[expected][..], None));
        assert_eq!(channel.fetch(&files[0]).await.expect("fetched"), bytes);
    }
    listening.end().await.expect("it ends well");
}

/// The signature of that file type.
fn magic(media_type: &str) -> &'static [u8] {
    match media_type {
        "image/jpeg" => b"\xff\xd8\xff",
        "image/webp" => b"RIFF\0\0\0\0WEBP",
        "audio/ogg" => b"OggS",
        "audio/mpeg" => b"ID3",
        "video/mp4" => b"\0\0\0\x18ftypmp42",
        _ => b"",
    }
}

/// Proves S8.
#[tokio::test]
async fn a_file_that_is_not_what_it_says_is_not_fetched() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    fake.user_sends_document(chat, "Ann", File::new("cat.png", "image/png", "<script>"));
    let (_, files, _) = files(listening.what().await);
    let told = channel.fetch(&files[0]).await;
    assert!(
        matches!(&told, Err(SendError::Rejected(why)) if why.contains("declared type")),
        "{told:?}"
    );
    listening.end().await.expect("it ends well");
}

/// Proves M9.
#[tokio::test]
async fn an_album_has_an_id_and_a_caption_is_text() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let mut listening = Listening::begin(&telegram(&fake), None);
    let photos = ["one", "two", "three"].map(|bytes| File::new("", "image/jpeg", bytes)).to_vec();
    fake.user_sends_album(chat, "Ann", photos, "compare them");
    let events = listening.events(3).await;
    let heard: Vec<_> = events.into_iter().map(|event| files(event.what)).collect();
    let texts: Vec<&str> = heard.iter().map(|(text, ..)| text.as_str()).collect();
    assert_eq!(texts, ["compare them", "", ""]);
    assert!(
        heard
            .iter()
            .all(|(_, files, album)| { files.len() == 1 && album.as_deref() == Some("album1") })
    );
    listening.end().await.expect("it ends well");
}

/// Proves M8, M12.
#[tokio::test]
async fn in_a_group_a_file_of_another_is_read_when_it_is_pointed_at() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    let mut listening = Listening::begin(&telegram(&fake), None);
    let sent = File::new("plan.txt", "text/plain", "the plan");
    let (message, id) = fake.user_sends_document(group, "Bob", sent);
    let IncomingContent::Text { addressed, .. } = listening.what().await else { panic!("a text") };
    assert!(!addressed);
    fake.user_replies(group, "Ann", message, "@counter_bot read this");
    let IncomingContent::Text { text, addressed, files, .. } = listening.what().await else {
        panic!("a text")
    };
    assert_eq!((text.as_str(), addressed), ("read this", true));
    assert_eq!((files.len(), files[0].id.as_str()), (1, id.as_str()));
    listening.end().await.expect("it ends well");
}

/// Proves M8.
#[tokio::test]
async fn a_location_arrives_as_text_and_its_updates_are_ignored() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let mut listening = Listening::begin(&telegram(&fake), None);
    let at = |latitude: f64| json!({ "latitude": latitude, "longitude": 13.25, "live_period": 60 });
    fake.user_posts(chat, "Ann", json!({ "location": at(52.5) }));
    let event = listening.event().await;
    let IncomingContent::Text { text, addressed: true, message, .. } = event.what else {
        panic!("a text")
    };
    assert_eq!(text, "[location: 52.5, 13.25, moving]");

    let number: i64 = message.parse().expect("a number");
    let from = json!({ "id": chat, "is_bot": false, "first_name": "Ann" });
    fake.push_raw(json!({ "edited_message": {
        "message_id": number, "date": 1, "edit_date": 2, "from": from, "location": at(52.75),
        "chat": { "id": chat, "type": "private", "first_name": "Ann" },
    }}));
    let text = "[location: 52.75, 13.25, moving]".to_owned();
    assert_eq!(listening.what().await, IncomingContent::Edited { message, text, addressed: false });
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn a_file_that_a_person_sent_is_fetched_up_to_the_limit() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    let sent = |size: usize| {
        let file = File::new("a.txt", "text/plain", vec![7_u8; size]);
        let (_, id) = fake.user_sends_document(chat, "Ann", file);
        FileRef {
            id,
            name: "a.txt".to_owned(),
            media_type: None,
            size_bytes: None,
            is_voice: false,
        }
    };
    let file = sent(300_000);
    assert_eq!(channel.fetch(&file).await.expect("fetched"), vec![7_u8; 300_000]);
    let is_large = |refused: Result<Bytes, SendError>| {
        assert!(matches!(&refused, Err(SendError::Rejected(reason)) if reason.contains("20 MB")));
    };
    let told = FileRef { size_bytes: Some(21 * 1024 * 1024), ..file.clone() };
    is_large(channel.fetch(&told).await);
    is_large(channel.fetch(&sent(20 * 1024 * 1024 + 1)).await);
    let none = FileRef { id: "none".to_owned(), ..file.clone() };
    assert!(matches!(channel.fetch(&none).await, Err(SendError::Rejected(_))));

    fake.fault("getFile", Trouble::TooMany { retry_after: 3 });
    assert!(matches!(channel.fetch(&file).await, Err(SendError::Retry { after: Some(_), .. })));
    fake.fault("getFile", Trouble::Cut);
    assert!(matches!(channel.fetch(&file).await, Err(SendError::Retry { .. })));
    fake.keeps_files_local();
    let refused = channel.fetch(&file).await;
    assert!(matches!(&refused, Err(SendError::Rejected(reason)) if reason.contains("--local")));
}
