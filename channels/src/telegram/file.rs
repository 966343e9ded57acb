//! A file → a picture or a document in its message.
//!
//! Files go one by one, never as an album: only a single message can be put into its placeholder by
//! an edit, and only what is an edit can be repeated without being shown twice. An album of
//! placeholders, each edited into its picture, would leave up to ten blank pictures where the answer
//! to it is lost, instead of one "…".

use serde_json::json;
use teloxide::types::MessageId;

use super::{
    api::{Api, Failure, Upload},
    outcome,
    target::{self, Target},
};
use crate::{
    Outgoing, Receipt, SendError, Shipment,
    text::{self, Formatted},
};

/// What `sendPhoto` takes; a larger picture goes out as a document.
const PHOTO_BYTES: usize = 10 * 1024 * 1024;

/// How a file is shown.
#[derive(Clone, Copy, PartialEq)]
enum As {
    Photo,
    Document,
}

pub(super) async fn send(
    api: &Api,
    target: &Target,
    shipment: &Shipment,
) -> Result<Receipt, SendError> {
    let Outgoing::File { name, media_type, caption, reply_to, .. } = &shipment.what else {
        return Err(outcome::rejected("not a file"));
    };
    let bytes =
        shipment.bytes.clone().ok_or_else(|| outcome::rejected("the file's bytes are missing"))?;
    let shown = if is_photo(media_type, bytes.len()) { As::Photo } else { As::Document };
    let file = Upload { field: "file", name: name.clone(), media_type: media_type.clone(), bytes };
    let sending = Sending {
        api,
        target,
        caption: caption.as_deref().map(text::format).unwrap_or_default(),
        file,
        reply_to: target::number(reply_to.as_deref())?,
    };
    match sending.show(shown).await {
        // Too long, too thin, or not the picture that it says it is: the file itself still goes.
        Err(SendError::Rejected(reason)) if shown == As::Photo && is_about_photo(&reason) => {
            sending.show(As::Document).await
        }
        sent => sent,
    }
}

/// Pictures that the platform shows as such; it would not take an SVG.
fn is_photo(media_type: &str, size_bytes: usize) -> bool {
    matches!(media_type, "image/jpeg" | "image/png" | "image/webp") && size_bytes <= PHOTO_BYTES
}

fn is_about_photo(reason: &str) -> bool {
    reason.contains("PHOTO") || reason.contains("IMAGE_PROCESS_FAILED")
}

struct Sending<'a> {
    api: &'a Api,
    target: &'a Target,
    caption: Formatted,
    file: Upload,
    reply_to: Option<MessageId>,
}

impl Sending<'_> {
    /// By an edit where there is a message; one that was deleted meanwhile is sent anew.
    async fn show(&self, shown: As) -> Result<Receipt, SendError> {
        if let Some(message) = self.target.message {
            match outcome::settled(self.replace(message, shown).await, message) {
                Err(SendError::Rejected(reason)) if outcome::is_missing(&reason) => {}
                replaced => return replaced,
            }
        }
        self.anew(shown).await.map_err(outcome::once)
    }

    /// The Bot API lets a text become a picture or a document.
    async fn replace(&self, message: MessageId, shown: As) -> Result<serde_json::Value, Failure> {
        let media = json!({
            "type": if shown == As::Photo { "photo" } else { "document" },
            "media": format!("attach://{}", self.file.field),
            "caption": self.caption.text,
            "caption_entities": target::entities(&self.caption.spans),
        });
        let fields = [
            ("chat_id", self.target.chat.0.to_string()),
            ("message_id", message.0.to_string()),
            ("media", media.to_string()),
        ];
        self.api.upload("EditMessageMedia", &fields, &self.file).await
    }

    async fn anew(&self, shown: As) -> Result<Receipt, Failure> {
        let (method, field) = match shown {
            As::Photo => ("SendPhoto", "photo"),
            As::Document => ("SendDocument", "document"),
        };
        let mut fields = vec![
            ("chat_id", self.target.chat.0.to_string()),
            (field, format!("attach://{}", self.file.field)),
            ("caption", self.caption.text.clone()),
            ("caption_entities", json!(target::entities(&self.caption.spans)).to_string()),
        ];
        let thread = self.target.thread.map(|thread| thread.0.0.to_string());
        fields.extend(thread.map(|thread| ("message_thread_id", thread)));
        let reply = self.reply_to.map(target::reply).map(|reply| json!(reply).to_string());
        fields.extend(reply.map(|reply| ("reply_parameters", reply)));
        self.api.upload(method, &fields, &self.file).await.map(|answer| outcome::receipt(&answer))
    }
}
