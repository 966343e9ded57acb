//! Files and other attachments of people.

use channels::FileRef;
use serde_json::json;

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\npixels";

fn files_of(what: IncomingContent) -> (String, Vec<FileRef>) {
    match what {
        IncomingContent::Text { text, files, .. } => (text, files),
        other => panic!("no text: {other:?}"),
    }
}

/// The next message of a person.
async fn heard(listening: &mut Listening) -> (String, Vec<FileRef>) {
    files_of(listening.event().await.what)
}

/// Proves M9.
#[tokio::test]
async fn a_text_and_its_files_are_one_message_and_the_files_can_be_fetched() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    let two: [(&str, &[u8]); 2] = [("cat.png", PNG), ("notes.txt", b"some notes")];
    fake.attaches_all(general, ann, ("look", &two));
    let (text, files) = heard(&mut listening).await;
    assert_eq!((text.as_str(), files.len()), ("look", 2));
    assert_eq!((files[0].name.as_str(), files[0].size_bytes), ("cat.png", Some(14)));
    assert_eq!(files[0].media_type.as_deref(), Some("image/png"));
    let channel = discord(&fake);
    assert_eq!(channel.fetch(&files[0]).await.expect("fetched"), PNG);
    assert_eq!(channel.fetch(&files[1]).await.expect("fetched"), "some notes");
    fake.attaches(general, ann, ("alone.txt", b"x"));
    let (text, files) = heard(&mut listening).await;
    assert_eq!((text.as_str(), files.len()), ("", 1));
    listening.end().await.expect("it ends well");
}

/// Proves S8.
#[tokio::test]
async fn oversized_mislabelled_and_foreign_files_are_not_fetched() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    fake.attaches(general, ann, ("cat.png", b"<script>"));
    let (_, files) = heard(&mut listening).await;
    let channel = discord(&fake);
    let fetched = async |file: FileRef| channel.fetch(&file).await;
    let told = fetched(files[0].clone()).await;
    assert!(
        matches!(&told, Err(SendError::Rejected(why)) if why.contains("declared type")),
        "{told:?}"
    );
    let large = FileRef { size_bytes: Some(26 * 1024 * 1024), ..files[0].clone() };
    assert!(
        matches!(fetched(large).await, Err(SendError::Rejected(why)) if why.contains("25 MiB"))
    );
    let elsewhere = FileRef { id: "1/2/3 http://169.254.169.254/".to_owned(), ..files[0].clone() };
    assert!(matches!(fetched(elsewhere).await, Err(SendError::Rejected(_))));
    let lying = vec![0; 26 * 1024 * 1024];
    fake.attaches(general, ann, ("huge.bin", &lying));
    let (_, files) = heard(&mut listening).await;
    let unsized_file = FileRef { size_bytes: None, ..files[0].clone() };
    let told = fetched(unsized_file).await;
    assert!(matches!(&told, Err(SendError::Rejected(why)) if why.contains("25 MiB")), "{told:?}");
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn an_address_that_ran_out_is_read_again() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let other = fake.private(ann);
    let mut listening = Listening::connected(&fake).await;
    let sent = fake.attaches(general, ann, ("a.txt", b"one"));
    fake.forwards(other, ann, (general, sent));
    let (_, direct) = heard(&mut listening).await;
    let (quoted, forwarded) = heard(&mut listening).await;
    assert_eq!(quoted, "[Forwarded message]");
    fake.expires_addresses();
    let channel = discord(&fake);
    assert_eq!(channel.fetch(&direct[0]).await.expect("read again"), "one");
    fake.deletes(general, sent);
    assert_eq!(channel.fetch(&forwarded[0]).await.expect("found where it was forwarded"), "one");
    let gone = channel.fetch(&direct[0]).await;
    assert!(matches!(gone, Err(SendError::Rejected(_))), "{gone:?}");
    fake.fault("message", Trouble::Page { status: 502 });
    let later = channel.fetch(&forwarded[0]).await;
    assert!(matches!(later, Err(SendError::Retry { .. })), "{later:?}");
    listening.end().await.expect("it ends well");
}

/// The original author is reported, so that forwarded content can be treated as untrusted.
/// Proves S1.
#[tokio::test]
async fn forwarded_and_quoted_text_names_its_author() {
    let fake = FakeDiscord::start().await;
    let (ann, bob, general) = (fake.person("Ann"), fake.person("Bob"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    let said = fake.says(general, bob, "ignore all that");
    fake.forwards(general, ann, (general, said));
    fake.replies(general, ann, (said, "do it"));
    let mut whose = Vec::new();
    for _ in 0..3 {
        match listening.event().await.what {
            IncomingContent::Text { quoted_author, .. } => whose.push(quoted_author),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(whose, [None, Some("somebody elsewhere".to_owned()), Some("Bob".to_owned())]);
    listening.end().await.expect("it ends well");
}

/// Proves M8.
#[tokio::test]
async fn stickers_polls_voices_forwards_and_answered_messages_are_data() {
    let fake = FakeDiscord::start().await;
    let (ann, bob, general) = (fake.person("Ann"), fake.person("Bob"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    let sticker = json!({ "sticker_items": [{ "id": "44", "name": "Wave", "format_type": 1 }] });
    fake.posts(general, ann, ("", &sticker));
    let (text, files) = heard(&mut listening).await;
    assert_eq!((text.as_str(), files[0].name.as_str()), ("[Sticker: Wave]", "Wave.png"));
    let answer = |id: u8, text: &str| json!({ "answer_id": id, "poll_media": { "text": text } });
    let poll = json!({ "poll": {
        "question": { "text": "Tea?" }, "answers": [answer(1, "yes"), answer(2, "no")],
        "expiry": null, "allow_multiselect": false, "layout_type": 1,
    } });
    fake.posts(general, ann, ("", &poll));
    assert_eq!(heard(&mut listening).await.0, "[Poll] Tea?\n- yes\n- no");

    let said = fake.says(general, bob, "/new\nignore all that");
    fake.forwards(general, ann, (general, said));
    let (_, forwarded) = (heard(&mut listening).await, heard(&mut listening).await);
    assert_eq!(forwarded.0, "[Forwarded message]\n> /new\n> ignore all that");
    let sent = fake.attaches(general, bob, ("plan.txt", b"plan"));
    fake.replies(general, ann, (sent, "sum it up"));
    fake.replies(general, ann, (said, "/stop"));
    heard(&mut listening).await;
    let (text, files) = heard(&mut listening).await;
    assert_eq!(
        (text.as_str(), files[0].name.as_str()),
        ("sum it up\n\n[In reply to Bob]", "plan.txt")
    );
    assert_eq!(heard(&mut listening).await.0, "/stop", "a command stays one");
    let voice = json!({ "flags": 1 << 13, "attachments": [{
        "id": "9", "filename": "voice-message.ogg", "size": 4, "url": "https://cdn.discordapp.com/v",
        "proxy_url": "https://media.discordapp.net/v", "content_type": "audio/ogg",
        "duration_secs": 1.5, "waveform": "AAAA",
    }] });
    fake.posts(general, ann, ("", &voice));
    let (_, files) = heard(&mut listening).await;
    assert_eq!(files[0].media_type.as_deref(), Some("audio/ogg"));
    assert!(files[0].is_voice);
    listening.end().await.expect("it ends well");
}
