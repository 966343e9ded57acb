//! Sends a [`Delivery`]. A repeated send shows the message only once, because of its nonce.

use serde_json::{Value, json};

use super::{
    Discord,
    api::{Api, Body, Failure, Route},
    call::Call,
    fold::fold,
    guilds::USUAL_BYTES,
    outcome::{NO_PREVIEW, message_id, once, repeatable},
};
use crate::{
    Button, Choice, Delivery, Limits, Outgoing, Receipt, SendError, Unit, error::rejected, text,
};

/// The maximum length of a button's data, in characters.
const BUTTON_DATA: usize = 100;
/// The maximum length of a button's label, in characters.
const LABEL: usize = 80;
const BUTTONS_IN_A_ROW: usize = 5;
const ROWS: usize = 5;

impl Discord {
    pub(super) async fn show(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let target = Target::of(delivery)?;
        let reply_to = delivery.what.reply_to();
        let show = |markdown: &str| Ok(Show { reply_to: reply(reply_to)?, ..Show::of(markdown) });
        match &delivery.what {
            Outgoing::Text { markdown, .. } => {
                let show = show(markdown)?;
                if let (None, Some(call)) = (target.message, reply_to.and_then(Call::of))
                    && let Some(receipt) = self.answer(&call, show.fields()).await?
                {
                    return Ok(receipt);
                }
                target.show(&self.api, &show).await.map_err(once)
            }
            Outgoing::Approval { markdown, choices, .. }
            | Outgoing::Settled { markdown, choices, .. } => {
                let token = delivery.token.as_deref();
                let rows = if choices.is_empty() { Vec::new() } else { rows(choices, token)? };
                target.show(&self.api, &Show { rows, ..show(markdown)? }).await.map_err(once)
            }
            Outgoing::Draft { markdown } => match target.message {
                Some(message) => {
                    let edited = target.edit(&self.api, message, &Show::of(markdown)).await;
                    edited.map_err(repeatable)
                }
                None => Err(rejected("a draft needs an existing message")),
            },
            Outgoing::Placeholder { markdown, .. } => {
                target.show(&self.api, &show(markdown)?).await.map_err(once)
            }
            Outgoing::File { .. } => self.file(&target, delivery).await,
            Outgoing::Removal => target.remove(&self.api).await,
            Outgoing::Typing => {
                let route = Route::post(format!("channels/{}/typing", target.chat));
                let called = target.write(&self.api, route, Body::Empty).await;
                called.map(|_| Receipt::nowhere()).map_err(repeatable)
            }
            Outgoing::Toast { press, text, .. } => self.toast(press, text).await,
            Outgoing::Reaction { message, emoji } => target.react(&self.api, message, emoji).await,
        }
    }

    /// If the file is too large for the guild, a text is sent in its place, so that nothing is lost
    /// silently.
    async fn file(&self, target: &Target, delivery: &Delivery) -> Result<Receipt, SendError> {
        let Outgoing::File { name, media_type, size_bytes, caption, reply_to, .. } = &delivery.what
        else {
            return Err(rejected("not a file"));
        };
        let limit = self.guilds().upload_bytes(target.chat);
        if *size_bytes > limit {
            return self.too_large(target, delivery, limit).await;
        }
        let bytes =
            delivery.bytes.clone().ok_or_else(|| rejected("the file's bytes are missing"))?;
        let file = File { name: name.clone(), media_type: media_type.clone(), bytes };
        let show = Show {
            file: Some(file),
            reply_to: reply(reply_to.as_deref())?,
            ..Show::of(caption.as_deref().unwrap_or_default())
        };
        match target.show(&self.api, &show).await {
            // The guild has lost its boosts.
            Err(Failure::Refused { code: 40005, .. }) if *size_bytes > USUAL_BYTES => {
                self.too_large(target, delivery, USUAL_BYTES).await
            }
            // Files can be forbidden where texts are allowed, so the channel may not be gone.
            Err(Failure::Refused { code: 50013, message, .. }) => Err(SendError::Rejected(message)),
            shown => shown.map_err(once),
        }
    }

    async fn too_large(
        &self,
        target: &Target,
        delivery: &Delivery,
        limit: u64,
    ) -> Result<Receipt, SendError> {
        let limits = Limits { upload_bytes: limit, ..self.limits.clone() };
        let mut first = None;
        for (at, part) in delivery.what.clone().degrade(&limits).into_iter().enumerate() {
            let Outgoing::Text { markdown, reply_to } = part else { continue };
            let part = Target {
                message: target.message.filter(|_| at == 0),
                nonce: if at == 0 {
                    target.nonce.clone()
                } else {
                    fold(&format!("{}.{at}", delivery.key))
                },
                ..*target
            };
            let show = Show { reply_to: reply(reply_to.as_deref())?, ..Show::of(&markdown) };
            let shown = part.show(&self.api, &show).await.map_err(once)?;
            first.get_or_insert(shown);
        }
        first.ok_or_else(|| rejected("the file is too large"))
    }
}

/// Where a delivery goes.
struct Target {
    chat: u64,
    message: Option<u64>,
    nonce: String,
}

/// The contents of a message.
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

    /// The fields of new messages and edits. An edit removes buttons that are not given. Mentions
    /// never notify anyone.
    fn fields(&self) -> Value {
        let mut fields = json!({
            "content": self.content,
            "components": self.rows,
            "allowed_mentions": { "parse": [], "replied_user": false },
            "flags": NO_PREVIEW,
        });
        if let Some(file) = &self.file {
            fields["attachments"] = json!([{ "id": "0", "filename": file.name }]);
        }
        fields
    }

    fn body(&self, fields: Value) -> Body {
        match &self.file {
            None => Body::Json(fields),
            Some(File { name, media_type, bytes }) => Body::File {
                fields,
                name: name.clone(),
                media_type: media_type.clone(),
                bytes: bytes.clone(),
            },
        }
    }
}

impl Target {
    fn of(delivery: &Delivery) -> Result<Self, SendError> {
        let place = &delivery.place;
        // A thread is a channel of its own.
        let chat = number(place.thread.as_deref().or(Some(place.chat.as_str())))?;
        let message = delivery.receipt.as_ref().map(|receipt| receipt.message.as_str());
        let message = number(message)?;
        let chat = chat.ok_or_else(|| rejected("the channel's id is missing"))?;
        Ok(Self { chat, message, nonce: fold(&delivery.key) })
    }

    /// Edits the message if there is one. If it was deleted in the meantime, sends a new one, so
    /// that the content is not lost.
    async fn show(&self, api: &Api, show: &Show) -> Result<Receipt, Failure> {
        match self.message {
            Some(message) => match self.edit(api, message, show).await {
                Err(Failure::Refused { code: 10008, .. }) => self.create(api, show).await,
                edited => edited,
            },
            None => self.create(api, show).await,
        }
    }

    async fn create(&self, api: &Api, show: &Show) -> Result<Receipt, Failure> {
        let mut fields = show.fields();
        fields["nonce"] = self.nonce.clone().into();
        fields["enforce_nonce"] = true.into();
        if let Some(reply_to) = show.reply_to {
            fields["message_reference"] = json!({
                "message_id": reply_to.to_string(), "fail_if_not_exists": false,
            });
        }
        let route = Route::post(format!("channels/{}/messages", self.chat));
        message_id(&self.write(api, route, show.body(fields)).await?)
    }

    async fn edit(&self, api: &Api, message: u64, show: &Show) -> Result<Receipt, Failure> {
        let route = Route::patch(format!("channels/{}/messages/{message}", self.chat));
        match self.write(api, route, show.body(show.fields())).await {
            Ok(_) => Ok(Receipt { message: message.to_string() }),
            // Can be repeated even if the outcome is unknown.
            Err(Failure::Lost(reason)) => Err(Failure::Unsent(reason)),
            Err(refused) => Err(refused),
        }
    }

    async fn react(&self, api: &Api, message: &str, emoji: &str) -> Result<Receipt, SendError> {
        let message = number(Some(message))?.ok_or_else(|| rejected("no message to react to"))?;
        let chat = self.chat;
        let route = Route::put(format!("channels/{chat}/messages/{message}/reactions/{emoji}/@me"));
        let called = self.write(api, route, Body::Empty).await;
        called.map(|_| Receipt::nowhere()).map_err(repeatable)
    }

    /// A message that no longer exists counts as removed.
    async fn remove(&self, api: &Api) -> Result<Receipt, SendError> {
        let message = self.message.ok_or_else(|| rejected("no message to delete"))?;
        let route = Route::delete(format!("channels/{}/messages/{message}", self.chat));
        match self.write(api, route, Body::Empty).await {
            Ok(_) | Err(Failure::Refused { code: 10008, .. }) => Ok(Receipt::nowhere()),
            Err(failure) => Err(repeatable(failure)),
        }
    }

    /// Unarchives an archived thread. A locked thread cannot be written to.
    async fn write(&self, api: &Api, route: Route, body: Body) -> Result<Value, Failure> {
        match api.call(route.clone(), body.clone()).await {
            Err(Failure::Refused { code: 50083, .. }) => {
                let thread = Route::patch(format!("channels/{}", self.chat));
                api.call(thread, Body::Json(json!({ "archived": false }))).await?;
                api.call(route, body).await
            }
            done => done,
        }
    }
}

/// Rows of five buttons, the platform's maximum.
fn rows(choices: &[Choice], token: Option<&str>) -> Result<Vec<Value>, SendError> {
    let token = token.ok_or_else(|| rejected("an approval needs a token for its buttons"))?;
    if choices.is_empty() || choices.len() > BUTTONS_IN_A_ROW * ROWS {
        return Err(rejected("an approval needs 1 to 25 buttons"));
    }
    if token.chars().count() >= BUTTON_DATA {
        return Err(rejected("the data of a button has at most 100 characters"));
    }
    let button = |choice: &Choice| {
        json!({
            "type": 2,
            "style": style(choice.button),
            "label": text::cut(&choice.label, LABEL, Unit::Chars),
            "custom_id": format!("{token}{}", choice.button.key()),
        })
    };
    let row = |row: &[Choice]| json!({ "type": 1, "components": row.iter().map(button).collect::<Vec<_>>() });
    Ok(choices.chunks(BUTTONS_IN_A_ROW).map(row).collect())
}

/// Green allows, red denies, everything else is grey.
fn style(button: Button) -> u8 {
    match button {
        Button::Allow | Button::RunAgain => 3,
        Button::Deny => 4,
        _ => 2,
    }
}

/// The message to reply to. A command invocation is not a message.
fn reply(to: Option<&str>) -> Result<Option<u64>, SendError> {
    number(to.filter(|to| Call::of(to).is_none()))
}

fn number(id: Option<&str>) -> Result<Option<u64>, SendError> {
    let parsed = id.map(str::parse).transpose();
    parsed.map_err(|_| rejected("an id that is not a number"))
}
