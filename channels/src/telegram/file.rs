//! Sends a file as a picture, a voice note or a document.
//!
//! A single file is edited into a placeholder, because only an edit can be repeated without showing
//! the file twice. An album cannot be edited in. It is sent immediately and not repeated: if its
//! response is lost, the caller sends the pictures one by one, marked as possible duplicates. A voice
//! note cannot be edited in either.

use std::{iter, slice};

use serde_json::{Value, json};
use teloxide::types::MessageId;

use super::{
    api::{Api, Failure, Upload},
    outcome,
    target::{self, Target},
};
use crate::{
    Delivery, Outgoing, Receipt, SendError,
    error::rejected,
    text::{self, Formatted},
};

/// The limit of `sendPhoto`; a larger picture is sent as a document.
const PHOTO_BYTES: usize = 10 * 1024 * 1024;

/// How a file is shown.
#[derive(Clone, Copy, PartialEq)]
enum As {
    Photo,
    Voice,
    Document,
}

pub(super) async fn send(
    api: &Api,
    target: &Target,
    delivery: &Delivery,
) -> Result<Receipt, SendError> {
    let reply_to = target::number(delivery.what.reply_to())?;
    if !delivery.album.is_empty() {
        return album(api, target, delivery, reply_to).await;
    }
    let file = Attached::of(delivery, "file".to_owned())?;
    let shown = match (file.is_photo, file.is_voice && target.message.is_none()) {
        (true, _) => As::Photo,
        (_, true) => As::Voice,
        _ => As::Document,
    };
    let sending = Sending { api, target, file, reply_to };
    match sending.show(shown).await {
        // Too large, too narrow, not a valid picture, or forbidden here: it is sent as a document
        // instead.
        Err(SendError::Rejected(reason)) if shown == As::Photo && is_about_photo(&reason) => {
            sending.show(As::Document).await
        }
        // The person or the group does not accept voice notes, or it is none after all.
        Err(SendError::Rejected(reason)) if shown == As::Voice && is_about_voice(&reason) => {
            sending.show(As::Document).await
        }
        sent => sent,
    }
}

/// <https://core.telegram.org/bots/api#sendvoice>
fn is_about_voice(reason: &str) -> bool {
    reason.contains("VOICE") || reason.contains("voice")
}

/// Several pictures, one message each. Returns the receipt of the first.
async fn album(
    api: &Api,
    target: &Target,
    first: &Delivery,
    reply_to: Option<MessageId>,
) -> Result<Receipt, SendError> {
    let (mut media, mut uploads) = (Vec::new(), Vec::new());
    for (n, delivery) in iter::once(first).chain(&first.album).enumerate() {
        let file = Attached::of(delivery, format!("file{n}"))?;
        if !file.is_photo {
            return Err(rejected("of an album, all are pictures"));
        }
        media.push(file.media(As::Photo));
        uploads.push(file.upload);
    }
    let mut fields = vec![("media", json!(media).to_string())];
    fields.extend(place(target, reply_to));
    let sent = api.upload("SendMediaGroup", &fields, &uploads).await;
    sent.map(|answer| outcome::receipt(&answer[0])).map_err(outcome::once)
}

fn is_about_photo(reason: &str) -> bool {
    let signs = ["PHOTO", "IMAGE_PROCESS_FAILED", "rights to send photos"];
    signs.iter().any(|sign| reason.contains(sign))
}

/// The destination of a new message.
fn place(target: &Target, reply_to: Option<MessageId>) -> Vec<(&'static str, String)> {
    let mut fields = vec![("chat_id", target.chat.0.to_string())];
    let thread = target.thread.map(|thread| thread.0.0.to_string());
    fields.extend(thread.map(|thread| ("message_thread_id", thread)));
    let reply = reply_to.map(target::reply).map(|reply| json!(reply).to_string());
    fields.extend(reply.map(|reply| ("reply_parameters", reply)));
    fields
}

struct Attached {
    upload: Upload,
    caption: Formatted,
    /// Whether the platform shows it as a picture.
    is_photo: bool,
    /// Whether the platform shows it as a voice note.
    is_voice: bool,
}

impl Attached {
    fn of(delivery: &Delivery, field: String) -> Result<Self, SendError> {
        let Outgoing::File { name, media_type, caption, .. } = &delivery.what else {
            return Err(rejected("not a file"));
        };
        let bytes = delivery.bytes.clone();
        let bytes = bytes.ok_or_else(|| rejected("the file's bytes are missing"))?;
        Ok(Self {
            is_photo: delivery.what.is_picture() && bytes.len() <= PHOTO_BYTES,
            is_voice: delivery.what.is_voice_note(),
            caption: caption.as_deref().map(text::format).unwrap_or_default(),
            upload: Upload { field, name: name.clone(), media_type: media_type.clone(), bytes },
        })
    }

    /// An `InputMedia`.
    fn media(&self, shown: As) -> Value {
        json!({
            "type": if shown == As::Photo { "photo" } else { "document" },
            "media": self.reference(),
            "caption": self.caption.text,
            "caption_entities": target::entities(&self.caption.spans),
        })
    }

    fn reference(&self) -> String {
        format!("attach://{}", self.upload.field)
    }
}

struct Sending<'a> {
    api: &'a Api,
    target: &'a Target,
    file: Attached,
    reply_to: Option<MessageId>,
}

impl Sending<'_> {
    /// Edits the message if there is one. If it was deleted in the meantime, sends a new one.
    async fn show(&self, shown: As) -> Result<Receipt, SendError> {
        if let Some(message) = self.target.message {
            match outcome::edit_receipt(self.replace(message, shown).await, message) {
                Err(SendError::Rejected(reason)) if outcome::is_missing(&reason) => {}
                replaced => return replaced,
            }
        }
        self.upload(shown).await.map_err(outcome::once)
    }

    /// The Bot API can edit a text into a picture or a document.
    async fn replace(&self, message: MessageId, shown: As) -> Result<Value, Failure> {
        let fields = [
            ("chat_id", self.target.chat.0.to_string()),
            ("message_id", message.0.to_string()),
            ("media", self.file.media(shown).to_string()),
        ];
        self.api.upload("EditMessageMedia", &fields, slice::from_ref(&self.file.upload)).await
    }

    async fn upload(&self, shown: As) -> Result<Receipt, Failure> {
        let (method, field) = match shown {
            As::Photo => ("SendPhoto", "photo"),
            As::Voice => ("SendVoice", "voice"),
            As::Document => ("SendDocument", "document"),
        };
        let Formatted { text, spans } = &self.file.caption;
        let mut fields = vec![
            (field, self.file.reference()),
            ("caption", text.clone()),
            ("caption_entities", json!(target::entities(spans)).to_string()),
        ];
        fields.extend(place(self.target, self.reply_to));
        let sent = self.api.upload(method, &fields, slice::from_ref(&self.file.upload)).await;
        sent.map(|answer| outcome::receipt(&answer))
    }
}
