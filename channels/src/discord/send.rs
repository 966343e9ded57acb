//! A [`Shipment`] → calls. A repeated send is the same message, by its nonce.

use serde_json::{Value, json};

use super::{
    acknowledge::{EPHEMERAL, callback},
    api::{Api, Body, Failure, Route},
    fold::fold,
};
use crate::{Choice, Outgoing, Receipt, SendError, Shipment, Unit, text};

/// Of a message, in characters.
pub(super) const TEXT: usize = 2000;
/// Of what a button carries, in characters.
const BUTTON_DATA: usize = 100;
/// Of a button's label, in characters.
const LABEL: usize = 80;
const BUTTONS_IN_A_ROW: usize = 5;
const ROWS: usize = 5;
/// Flags of a message: no previews of the links in it, which would be fetched for all to see.
const NO_PREVIEW: u64 = 1 << 2;

pub(super) async fn send(api: &Api, shipment: &Shipment) -> Result<Receipt, SendError> {
    let target = Target::of(shipment)?;
    match &shipment.what {
        Outgoing::Text { markdown, reply_to } => {
            target
                .show(api, Show { reply_to: number(reply_to.as_deref())?, ..Show::of(markdown) })
                .await
        }
        Outgoing::Question { markdown, choices, .. }
        | Outgoing::Settled { markdown, choices, .. } => {
            let token = shipment.token.as_deref();
            let rows = if choices.is_empty() { Vec::new() } else { rows(choices, token)? };
            let reply_to = number(shipment.what.reply_to())?;
            target.show(api, Show { rows, reply_to, ..Show::of(markdown) }).await
        }
        Outgoing::Draft { markdown } => match target.message {
            Some(message) => target.edit(api, message, Show::of(markdown)).await,
            None => Err(rejected("a draft needs a message to stand in")),
        },
        Outgoing::Placeholder { .. } => target.show(api, Show::of("…")).await,
        Outgoing::File { .. } => target.show(api, file(shipment)?).await,
        Outgoing::Typing => {
            let route = Route::post(format!("channels/{}/typing", target.chat));
            let called = api.call(route, Body::Empty).await;
            called.map(|_| nowhere()).map_err(repeatable)
        }
        Outgoing::Toast { press, text, .. } => toast(api, press, text).await,
    }
}

/// Where a shipment goes.
struct Target {
    chat: u64,
    message: Option<u64>,
    nonce: String,
}

/// A message as it is to stand there.
struct Show {
    content: String,
    rows: Vec<Value>,
    reply_to: Option<u64>,
    file: Option<File>,
}

struct File {
    name: String,
    media_type: String,
    bytes: bytes::Bytes,
}

impl Show {
    fn of(markdown: &str) -> Self {
        Self { content: text::discord(markdown), rows: Vec::new(), reply_to: None, file: None }
    }

    /// What a new message and an edit have in common: an edit takes buttons away that are not
    /// named again, and nobody is ever pinged.
    fn fields(&self) -> Value {
        let mut fields = json!({
            "content": self.content,
            "components": self.rows,
            "allowed_mentions": { "parse": [], "replied_user": false },
            "flags": NO_PREVIEW,
        });
        if let Some(file) = &self.file {
            fields["attachments"] = json!([{ "id": 0, "filename": file.name }]);
        }
        fields
    }

    fn body(self, fields: Value) -> Body {
        match self.file {
            None => Body::Json(fields),
            Some(File { name, media_type, bytes }) => {
                Body::File { fields, name, media_type, bytes }
            }
        }
    }
}

impl Target {
    fn of(shipment: &Shipment) -> Result<Self, SendError> {
        let place = &shipment.place;
        // A thread is a channel of its own.
        let chat = number(place.thread.as_deref().or(Some(place.chat.as_str())))?;
        let message = number(shipment.receipt.as_ref().map(|receipt| receipt.message.as_str()))?;
        let chat = chat.ok_or_else(|| rejected("the channel's id is missing"))?;
        Ok(Self { chat, message, nonce: fold(&shipment.key) })
    }

    /// By an edit where there is a message. One that was deleted meanwhile is sent anew: what is
    /// to be shown must not vanish with it.
    async fn show(&self, api: &Api, show: Show) -> Result<Receipt, SendError> {
        let Some(message) = self.message else { return self.create(api, show).await };
        let again = Show {
            content: show.content.clone(),
            rows: show.rows.clone(),
            reply_to: None,
            file: show.file.as_ref().map(|file| File {
                name: file.name.clone(),
                media_type: file.media_type.clone(),
                bytes: file.bytes.clone(),
            }),
        };
        match self.edit(api, message, show).await {
            Err(SendError::Rejected(reason)) if reason.contains("/10008:") => {
                self.create(api, again).await
            }
            edited => edited,
        }
    }

    async fn create(&self, api: &Api, show: Show) -> Result<Receipt, SendError> {
        let mut fields = show.fields();
        fields["nonce"] = self.nonce.clone().into();
        fields["enforce_nonce"] = true.into();
        if let Some(reply_to) = show.reply_to {
            fields["message_reference"] = json!({
                "message_id": reply_to.to_string(), "fail_if_not_exists": false,
            });
        }
        let route = Route::post(format!("channels/{}/messages", self.chat));
        let sent = api.call(route, show.body(fields)).await;
        let id = sent.map_err(once)?["id"].as_str().map(str::to_owned);
        id.map(|message| Receipt { message })
            .ok_or_else(|| SendError::Unknown("the answer names no message".to_owned()))
    }

    async fn edit(&self, api: &Api, message: u64, show: Show) -> Result<Receipt, SendError> {
        let route = Route::patch(format!("channels/{}/messages/{message}", self.chat));
        let fields = show.fields();
        api.call(route, show.body(fields)).await.map_err(repeatable)?;
        Ok(Receipt { message: message.to_string() })
    }
}

fn file(shipment: &Shipment) -> Result<Show, SendError> {
    let Outgoing::File { name, media_type, caption, .. } = &shipment.what else {
        return Err(rejected("not a file"));
    };
    let bytes = shipment.bytes.clone().ok_or_else(|| rejected("the file's bytes are missing"))?;
    let file = File { name: name.clone(), media_type: media_type.clone(), bytes };
    Ok(Show { file: Some(file), ..Show::of(caption.as_deref().unwrap_or_default()) })
}

/// What only the presser sees, behind the acknowledgement; instead of it, where that had failed.
/// One that comes too late has nobody to reach any more.
async fn toast(api: &Api, press: &str, text: &str) -> Result<Receipt, SendError> {
    if text.is_empty() {
        return Ok(nowhere());
    }
    let mut parts = press.split(':');
    let (Some(id), Some(token), Some(application)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(rejected("the press is none of Discord's"));
    };
    let content = text::cut(&text::discord(&text::escape(text)), TEXT, Unit::Chars);
    let message = json!({
        "content": content, "flags": EPHEMERAL | NO_PREVIEW, "allowed_mentions": { "parse": [] },
    });
    let route = Route::post(format!("webhooks/{application}/{token}")).unsigned();
    match api.call(route, Body::Json(message.clone())).await {
        Ok(_) => Ok(nowhere()),
        // Not acknowledged, or over after its 15 minutes.
        Err(Failure::Refused { status: 401 | 404, .. } | Failure::Refused { code: 50027, .. }) => {
            let answer = json!({ "type": 4, "data": message });
            match api.call(callback(id, token), Body::Json(answer)).await {
                Ok(_) | Err(Failure::Refused { status: 400..429, .. }) => Ok(nowhere()),
                Err(failure) => Err(repeatable(failure)),
            }
        }
        // A second one would be a second message.
        Err(failure) => Err(once(failure)),
    }
}

/// Rows of five, as many as the platform shows.
fn rows(choices: &[Choice], token: Option<&str>) -> Result<Vec<Value>, SendError> {
    let token = token.ok_or_else(|| rejected("a question needs a token for its buttons"))?;
    if choices.is_empty() || choices.len() > BUTTONS_IN_A_ROW * ROWS {
        return Err(rejected("a question has 1 to 25 buttons"));
    }
    if token.chars().count() >= BUTTON_DATA {
        return Err(rejected("a button carries at most 100 characters"));
    }
    let button = |choice: &Choice| {
        json!({
            "type": 2,
            "style": style(choice.key),
            "label": text::cut(&choice.label, LABEL, Unit::Chars),
            "custom_id": format!("{token}{}", choice.key),
        })
    };
    let row = |row: &[Choice]| json!({ "type": 1, "components": row.iter().map(button).collect::<Vec<_>>() });
    Ok(choices.chunks(BUTTONS_IN_A_ROW).map(row).collect())
}

/// Green lets something happen, red stops it, all else is grey.
fn style(key: char) -> u8 {
    match key {
        'a' | 'r' => 3,
        'd' => 4,
        _ => 2,
    }
}

/// What leaves no message behind.
fn nowhere() -> Receipt {
    Receipt { message: String::new() }
}

/// For what has a nonce, or none and may be sent only once: without an answer nobody knows.
fn once(failure: Failure) -> SendError {
    match failure {
        Failure::Lost(reason) => SendError::Unknown(reason),
        other => repeatable(other),
    }
}

/// For what is the same however often it is said.
/// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>
pub(super) fn repeatable(failure: Failure) -> SendError {
    match failure {
        Failure::Unsent(reason) | Failure::Lost(reason) => SendError::Retry { after: None, reason },
        Failure::Refused { status, code, message, after } => match (status, code) {
            // A token that is refused is a person's to replace; what waits for it is not lost.
            (401 | 408 | 429 | 500.., _) => SendError::Retry { after, reason: message },
            // Unknown channel, no access, no private messages, no permission; a locked thread.
            (403, _) | (_, 10003 | 50001 | 50007 | 50013 | 160_005) => SendError::Gone(message),
            _ => SendError::Rejected(message),
        },
    }
}

fn number(id: Option<&str>) -> Result<Option<u64>, SendError> {
    let parsed = id.map(str::parse).transpose();
    parsed.map_err(|_| rejected("an id that is not a number"))
}

fn rejected(reason: &str) -> SendError {
    SendError::Rejected(reason.to_owned())
}
