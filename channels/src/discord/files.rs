//! Files that people sent.

use bytes::Bytes;
use serde_json::Value;
use url::Url;

use super::{
    Discord,
    api::{Body, Failure, Route},
    ids::id,
    outcome::repeatable,
};
use crate::{FileRef, SendError, error::rejected};

/// The maximum size of a file that is downloaded.
const MAX_BYTES: u64 = 25 * 1024 * 1024;

/// The flag of a message that is a voice note.
/// <https://discord.com/developers/docs/resources/message#message-object-message-flags>
const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// The files of a message. Their ids name the channel and message that `at` refers to, where the
/// URL can be read again: a URL is valid for a day, and that of a forwarded file is found in the
/// message that forwards it.
pub(super) fn of(message: &Value, channel: &Value, id: &Value) -> impl Iterator<Item = FileRef> {
    let at = format!("{}/{}", text(channel), text(id));
    let is_voice = message["flags"].as_u64().is_some_and(|flags| flags & IS_VOICE_MESSAGE != 0);
    let attached =
        message["attachments"].as_array().into_iter().flatten().map(move |file| FileRef {
            id: format!("{at}/{} {}", text(&file["id"]), text(&file["url"])),
            name: text(&file["filename"]).to_owned(),
            media_type: file["content_type"].as_str().map(bare),
            size_bytes: file["size"].as_u64(),
            is_voice,
        });
    attached.chain(message["sticker_items"].as_array().into_iter().flatten().filter_map(sticker))
}

/// `None` for animated stickers in Discord's own format.
/// <https://discord.com/developers/docs/resources/sticker#sticker-object-sticker-format-types>
fn sticker(sticker: &Value) -> Option<FileRef> {
    let (host, kind) = match sticker["format_type"].as_u64()? {
        1 | 2 => ("cdn.discordapp.com", "png"),
        4 => ("media.discordapp.net", "gif"),
        _ => return None,
    };
    Some(FileRef {
        id: format!("// https://{host}/stickers/{}.{kind}", id(&sticker["id"])?),
        name: format!("{}.{kind}", text(&sticker["name"])),
        media_type: Some(format!("image/{kind}")),
        size_bytes: None,
        is_voice: false,
    })
}

impl Discord {
    pub(super) async fn download(&self, file: &FileRef) -> Result<Bytes, SendError> {
        let too_large = || rejected("files up to 25 MiB are fetched");
        if file.size_bytes.is_some_and(|size| size > MAX_BYTES) {
            return Err(too_large());
        }
        let (at, url) =
            file.id.split_once(' ').ok_or_else(|| rejected("the file has no address"))?;
        let mut fetched = self.bytes_at(url).await;
        // An expired signature and a deleted file give the same status.
        if let Err(Failure::Refused { status: 403 | 404, .. }) = fetched
            && let Some(fresh) = self.read_again(at).await?
        {
            fetched = self.bytes_at(&fresh).await;
        }
        let bytes = fetched.map_err(repeatable_file)?.ok_or_else(too_large)?;
        if file.contradicts_type(&bytes) {
            return Err(rejected(FileRef::TYPE_MISMATCH));
        }
        Ok(bytes)
    }

    async fn bytes_at(&self, url: &str) -> Result<Option<Bytes>, Failure> {
        let refused = |message: &str| Failure::Refused {
            status: 400,
            code: 0,
            message: message.to_owned(),
            after: None,
            everywhere: false,
        };
        let url = Url::parse(url).map_err(|_| refused("the file has no address"))?;
        if !self.api.is_ours(&url) {
            return Err(refused("the file's URL does not belong to Discord"));
        }
        self.api.download(url, MAX_BYTES).await
    }

    /// The file's current URL from its message; `None` if the message no longer exists.
    async fn read_again(&self, at: &str) -> Result<Option<String>, SendError> {
        let [channel, message, file] = at.split('/').collect::<Vec<_>>()[..] else {
            return Ok(None);
        };
        if file.is_empty() {
            return Ok(None);
        }
        let route = Route::get(format!("channels/{channel}/messages/{message}"));
        let message = match self.api.call(route, Body::Empty).await {
            Ok(message) => message,
            Err(Failure::Refused { status: 403 | 404, .. }) => return Ok(None),
            Err(failure) => return Err(repeatable(failure)),
        };
        let snapshots = message["message_snapshots"].as_array().into_iter().flatten();
        let lists =
            snapshots.map(|s| &s["message"]["attachments"]).chain([&message["attachments"]]);
        let mut files = lists.filter_map(Value::as_array).flatten();
        let found = files.find(|found| found["id"] == file);
        Ok(found.and_then(|found| found["url"].as_str()).map(str::to_owned))
    }
}

/// If a file is missing, the chat still exists.
fn repeatable_file(failure: Failure) -> SendError {
    match failure {
        Failure::Refused { status: 400..=407, message, .. } => SendError::Rejected(message),
        other => repeatable(other),
    }
}

/// The media type without its parameters.
fn bare(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_lowercase()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_knows_where_to_read_its_address_again() {
        let message = json!({
            "attachments": [{
                "id": "3", "filename": "a.png", "size": 5, "url": "https://cdn.discordapp.com/a",
                "content_type": "image/png; charset=x",
            }],
            "sticker_items": [
                { "id": "4", "name": "Wave", "format_type": 1 },
                { "id": "5", "name": "Drawn", "format_type": 3 },
            ],
        });
        let found: Vec<FileRef> = of(&message, &json!("1"), &json!("2")).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].id, "1/2/3 https://cdn.discordapp.com/a");
        assert_eq!(found[0].media_type.as_deref(), Some("image/png"));
        assert_eq!(found[1].name, "Wave.png");
        assert!(found[1].id.ends_with(" https://cdn.discordapp.com/stickers/4.png"));
    }
}
