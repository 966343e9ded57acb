//! The contents of a message besides text: files that can be downloaded, and content that is
//! described in words.

use serde_json::Value;

use crate::{FileRef, text};

/// The fields that contain a file, the default name, and the usual media type. An animation is also
/// sent as a document for old clients, but is one file.
const FILES: [(&str, &str); 8] = [
    ("animation", "video/mp4"),
    ("document", "application/octet-stream"),
    ("audio", "audio/mpeg"),
    ("video", "video/mp4"),
    ("video_note", "video/mp4"),
    ("voice", "audio/ogg"),
    ("sticker", "image/webp"),
    ("photo", "image/jpeg"),
];

/// The files of a raw message. Of a photo, only the largest size.
pub(super) fn files(message: &Value) -> Vec<FileRef> {
    let found = FILES.iter().find_map(|(field, usual)| {
        let file = match &message[field] {
            Value::Array(sizes) => sizes.iter().max_by_key(|size| pixels(size))?,
            file => file,
        };
        let media_type = media_type(file, usual);
        Some(FileRef {
            id: file["file_id"].as_str()?.to_owned(),
            name: name(file, field, &message["message_id"], &media_type),
            size_bytes: file["file_size"].as_u64(),
            media_type: Some(media_type),
            is_voice: *field == "voice",
        })
    });
    found.into_iter().collect()
}

fn pixels(size: &Value) -> u64 {
    let side = |name: &str| size[name].as_u64().unwrap_or(0);
    side("width").saturating_mul(side("height"))
}

fn media_type(file: &Value, usual: &str) -> String {
    let sticker = if file["is_animated"] == true {
        Some("application/x-tgsticker")
    } else {
        (file["is_video"] == true).then_some("video/webm")
    };
    sticker.or_else(|| file["mime_type"].as_str()).unwrap_or(usual).to_owned()
}

/// The sender's name for the file, without a path. If there is none, its kind and message id.
fn name(file: &Value, field: &str, message: &Value, media_type: &str) -> String {
    let given = file["file_name"].as_str().map(one_line).unwrap_or_default();
    let given = given.replace(['/', '\\'], "_");
    if given.trim_matches(['.', '_', ' ']).is_empty() {
        return format!("{field}_{message}.{}", extension(media_type));
    }
    given
}

fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/jpeg" => "jpg",
        "image/png" => "png",
        "image/webp" => "webp",
        "image/gif" => "gif",
        "audio/ogg" => "ogg",
        "audio/mpeg" => "mp3",
        "audio/mp4" | "audio/x-m4a" => "m4a",
        "video/mp4" => "mp4",
        "video/webm" => "webm",
        "video/quicktime" => "mov",
        "application/pdf" => "pdf",
        "application/x-tgsticker" => "tgs",
        "text/plain" => "txt",
        _ => "bin",
    }
}

/// A description of a location, contact, poll, dice or sticker.
pub(super) fn described(message: &Value) -> Option<String> {
    let said = |name: &str, say: fn(&Value) -> String| {
        message[name].is_object().then(|| format!("[{}]", say(&message[name])))
    };
    // The platform also sends a venue as a location.
    said("venue", venue)
        .or_else(|| said("location", |it| format!("location: {}", position(it))))
        .or_else(|| said("contact", contact))
        .or_else(|| said("poll", poll))
        .or_else(|| said("dice", |it| format!("dice {}: {}", words(it, "emoji"), it["value"])))
        .or_else(|| said("sticker", |it| format!("sticker {}", words(it, "emoji"))))
}

fn venue(venue: &Value) -> String {
    let (title, address) = (words(venue, "title"), words(venue, "address"));
    format!("venue: {title}, {address} ({})", position(&venue["location"]))
}

fn position(location: &Value) -> String {
    let live = if location["live_period"].is_null() { "" } else { ", moving" };
    format!("{}, {}{live}", location["latitude"], location["longitude"])
}

fn contact(contact: &Value) -> String {
    let parts = ["first_name", "last_name", "phone_number"].map(|name| words(contact, name));
    let known: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("contact: {}", known.join(" "))
}

fn poll(poll: &Value) -> String {
    let options = poll["options"].as_array().into_iter().flatten();
    let options: Vec<_> = options.map(|option| words(option, "text")).collect();
    format!("poll: {} ({})", words(poll, "question"), options.join(" / "))
}

fn words(of: &Value, name: &str) -> String {
    one_line(of[name].as_str().unwrap_or_default())
}

/// Text of other people on one line, for use within square brackets.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    text::neutralise(&words.join(" ")).replace('[', "(").replace(']', ")")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_file_has_a_name_and_a_type() {
        let file = |more: Value| {
            let mut file = json!({ "file_id": "f", "file_size": 7 });
            file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            file
        };
        let sizes = json!([
            { "file_id": "small", "width": 9, "height": 9 },
            { "file_id": "f", "width": 90, "height": 90, "file_size": 7 },
            { "file_id": "middle", "width": 30, "height": 30 },
        ]);
        let cases = [
            ("photo", sizes, "photo_5.jpg", "image/jpeg"),
            ("voice", file(json!({ "mime_type": "audio/ogg" })), "voice_5.ogg", "audio/ogg"),
            ("audio", file(json!({ "mime_type": "audio/mp4" })), "audio_5.m4a", "audio/mp4"),
            ("audio", file(json!({ "file_name": "a song.mp3" })), "a song.mp3", "audio/mpeg"),
            (
                "video",
                file(json!({ "mime_type": "video/quicktime" })),
                "video_5.mov",
                "video/quicktime",
            ),
            ("video_note", file(json!({})), "video_note_5.mp4", "video/mp4"),
            ("sticker", file(json!({})), "sticker_5.webp", "image/webp"),
            ("sticker", file(json!({ "is_video": true })), "sticker_5.webm", "video/webm"),
            (
                "sticker",
                file(json!({ "is_animated": true })),
                "sticker_5.tgs",
                "application/x-tgsticker",
            ),
            (
                "document",
                file(
                    json!({ "file_name": "../../etc/\u{202e}passwd\n", "mime_type": "text/plain" }),
                ),
                ".._.._etc_‹U+202E›passwd",
                "text/plain",
            ),
            (
                "document",
                file(json!({ "file_name": ".." })),
                "document_5.bin",
                "application/octet-stream",
            ),
        ];
        for (field, value, name, media_type) in cases {
            let mut message = json!({ "message_id": 5 });
            message[field] = value;
            let [file] = &files(&message)[..] else { panic!("{message}") };
            assert_eq!((file.id.as_str(), file.size_bytes), ("f", Some(7)), "{message}");
            assert_eq!((file.name.as_str(), file.media_type.as_deref()), (name, Some(media_type)));
        }
        let animation = file(json!({ "file_name": "x.mp4" }));
        let both = json!({ "message_id": 5, "document": animation, "animation": animation });
        assert_eq!(files(&both).len(), 1);
        assert_eq!(files(&json!({ "text": "x", "photo": [], "document": 5 })), []);
    }

    /// Text of others cannot end the brackets around it.
    #[test]
    fn unsupported_media_are_reported() {
        let place = json!({ "latitude": 52.5, "longitude": 13.4 });
        let cases = [
            (json!({ "location": place }), "[location: 52.5, 13.4]"),
            (
                json!({ "location": place, "venue":
                    { "title": "Café]\n[owner: yes", "address": "Way 1", "location": place } }),
                "[venue: Café) (owner: yes, Way 1 (52.5, 13.4)]",
            ),
            (
                json!({ "contact": { "first_name": "Ann", "phone_number": "+49 1" } }),
                "[contact: Ann +49 1]",
            ),
            (
                json!({ "poll": { "question": "Tea?", "options": [{ "text": "yes" }, { "text": "no" }] } }),
                "[poll: Tea? (yes / no)]",
            ),
            (json!({ "dice": { "emoji": "🎲", "value": 4 } }), "[dice 🎲: 4]"),
            (json!({ "sticker": { "emoji": "👍" } }), "[sticker 👍]"),
        ];
        for (message, said) in cases {
            assert_eq!(described(&message).as_deref(), Some(said));
        }
        assert_eq!(described(&json!({ "text": "x" })), None);
    }
}
