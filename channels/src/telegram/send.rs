//! Sends a [`Delivery`]. Important content is sent as an edit, which can be repeated, because the
//! Bot API has no idempotency key for new messages.

use serde::Serialize;
use teloxide::{
    payloads::{
        AnswerCallbackQuery, AnswerCallbackQuerySetters, DeleteMessage, EditMessageText,
        EditMessageTextSetters, SendChatAction, SendMessage, SendMessageSetters,
        SetMessageReaction, SetMessageReactionSetters,
    },
    requests::Payload,
    types::{
        CallbackQueryId, ChatAction, InlineKeyboardButton, InlineKeyboardMarkup,
        LinkPreviewOptions, MessageId, ReactionType,
    },
};

use super::{
    api::{Api, Failure, USUAL},
    file,
    outcome::{edit_receipt, is_missing, once, receipt, repeatable},
    target::{Target, entities, number, reply},
};
use crate::{
    Choice, Delivery, Outgoing, Receipt, SendError, Unit,
    error::rejected,
    text::{self, Formatted},
};

/// The maximum length of a reply to a press.
const TOAST: usize = 200;
/// The maximum size of a button's data.
const BUTTON_BYTES: usize = 64;

pub(super) async fn send(api: &Api, delivery: &Delivery) -> Result<Receipt, SendError> {
    let target = Target::of(delivery)?;
    match &delivery.what {
        Outgoing::Text { markdown, reply_to } => {
            let show = Show { reply_to: number(reply_to.as_deref())?, ..Show::of(markdown) };
            target.show(api, show).await
        }
        Outgoing::Approval { markdown, choices, reply_to, .. } => {
            let keyboard = Some(keyboard(choices, delivery.token.as_deref())?);
            let reply_to = number(reply_to.as_deref())?;
            target.show(api, Show { keyboard, reply_to, ..Show::of(markdown) }).await
        }
        Outgoing::Settled { markdown, choices, .. } => {
            let token = delivery.token.as_deref();
            let keyboard = (!choices.is_empty()).then(|| keyboard(choices, token)).transpose()?;
            let show = Show { keyboard, ..Show::of(markdown) };
            match target.message {
                Some(message) => target.edit(api, message, &show).await,
                None => target.show(api, show).await,
            }
        }
        Outgoing::Draft { markdown } => match target.message {
            Some(message) => target.edit(api, message, &Show::of(markdown)).await,
            None => Err(rejected("a draft needs an existing message")),
        },
        Outgoing::Placeholder { markdown, reply_to } => {
            let reply_to = number(reply_to.as_deref())?;
            target.show(api, Show { reply_to, ..Show::of(markdown) }).await
        }
        Outgoing::File { .. } => file::send(api, &target, delivery).await,
        Outgoing::Removal => target.remove(api).await,
        Outgoing::Typing => target.typing(api).await,
        Outgoing::Reaction { message, emoji } => target.react(api, message, emoji).await,
        Outgoing::Toast { press, text, alert } => toast(api, press, text, *alert).await,
    }
}

/// The contents of a message.
pub(super) struct Show {
    pub(super) formatted: Formatted,
    keyboard: Option<InlineKeyboardMarkup>,
    reply_to: Option<MessageId>,
}

impl Show {
    pub(super) fn of(markdown: &str) -> Self {
        let mut formatted = text::format(markdown);
        if formatted.text.is_empty() {
            // Markdown without visible text, such as an empty code block, is sent as written,
            // because messages must not be empty.
            markdown.trim().clone_into(&mut formatted.text);
        }
        Self { formatted, keyboard: None, reply_to: None }
    }
}

impl Target {
    /// Edits the message if there is one. If it was deleted in the meantime, sends a new one, so
    /// that the content is not lost with its placeholder.
    async fn show(&self, api: &Api, show: Show) -> Result<Receipt, SendError> {
        if let Some(message) = self.message {
            match self.edit(api, message, &show).await {
                Err(SendError::Rejected(reason)) if is_missing(&reason) => {}
                shown => return shown,
            }
        }
        let mut payload = SendMessage::new(self.chat, show.formatted.text.clone())
            .entities(entities(&show.formatted.spans))
            .link_preview_options(no_preview());
        payload.message_thread_id = self.thread;
        payload.reply_markup = show.keyboard.map(Into::into);
        payload.reply_parameters = show.reply_to.map(reply);
        let mut sent = api.call(&payload, USUAL).await;
        if sent.as_ref().is_err_and(is_about_entities) {
            payload.entities = None;
            sent = api.call(&payload, USUAL).await;
        }
        sent.map(|answer| receipt(&answer)).map_err(once)
    }

    async fn edit(&self, api: &Api, message: MessageId, show: &Show) -> Result<Receipt, SendError> {
        let mut payload = EditMessageText::new(self.chat, message, show.formatted.text.clone())
            .entities(entities(&show.formatted.spans))
            .link_preview_options(no_preview());
        payload.reply_markup.clone_from(&show.keyboard);
        let mut edited = api.call(&payload, USUAL).await;
        if edited.as_ref().is_err_and(is_about_entities) {
            payload.entities = None;
            edited = api.call(&payload, USUAL).await;
        }
        edit_receipt(edited, message)
    }

    /// A message that no longer exists counts as removed.
    async fn remove(&self, api: &Api) -> Result<Receipt, SendError> {
        let message = self.message.ok_or_else(|| rejected("no message to delete"))?;
        match done(api, &DeleteMessage::new(self.chat, message)).await {
            Err(SendError::Rejected(reason)) if reason.contains("message to delete not found") => {
                Ok(Receipt::nowhere())
            }
            deleted => deleted,
        }
    }

    async fn react(&self, api: &Api, message: &str, emoji: &str) -> Result<Receipt, SendError> {
        let message = number(Some(message))?.ok_or_else(|| rejected("no message to react to"))?;
        let reaction = ReactionType::Emoji { emoji: emoji.to_owned() };
        done(api, &SetMessageReaction::new(self.chat, message).reaction([reaction])).await
    }

    async fn typing(&self, api: &Api) -> Result<Receipt, SendError> {
        let mut payload = SendChatAction::new(self.chat, ChatAction::Typing);
        payload.message_thread_id = self.thread;
        done(api, &payload).await
    }
}

/// The reply to a press. A reply that is too late cannot be delivered.
async fn toast(api: &Api, press: &str, text: &str, alert: bool) -> Result<Receipt, SendError> {
    let mut payload = AnswerCallbackQuery::new(CallbackQueryId(press.to_owned())).show_alert(alert);
    payload.text = (!text.is_empty()).then(|| text::cut(text, TOAST, Unit::Utf16));
    match done(api, &payload).await {
        Err(SendError::Rejected(reason))
            if reason.contains("query is too old") || reason.contains("QUERY_ID_INVALID") =>
        {
            Ok(Receipt::nowhere())
        }
        answered => answered,
    }
}

/// A request that leaves no message and can be repeated.
async fn done<P>(api: &Api, payload: &P) -> Result<Receipt, SendError>
where
    P: Payload + Serialize + Sync,
{
    let called = api.call(payload, USUAL).await;
    called.map(|_| Receipt::nowhere()).map_err(repeatable)
}

/// The only error after which the text is sent again without formatting.
fn is_about_entities(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused { code: 400, description, .. }
        if description.contains("parse entities") || description.contains("ENTIT"))
}

fn keyboard(choices: &[Choice], token: Option<&str>) -> Result<InlineKeyboardMarkup, SendError> {
    let token = token.ok_or_else(|| rejected("an approval needs a token for its buttons"))?;
    let button = |choice: &Choice| {
        let data = format!("{token}{}", choice.button.key());
        let fits = (1..=BUTTON_BYTES).contains(&data.len());
        fits.then(|| InlineKeyboardButton::callback(choice.label.clone(), data))
            .ok_or_else(|| rejected("the data of a button has at most 64 bytes"))
    };
    let buttons: Vec<_> = choices.iter().map(button).collect::<Result<_, _>>()?;
    // Long labels in a shared row would be truncated on a phone.
    let short = choices.len() <= 3 && choices.iter().all(|c| c.label.chars().count() <= 12);
    let rows = if short { vec![buttons] } else { buttons.into_iter().map(|b| vec![b]).collect() };
    Ok(InlineKeyboardMarkup::new(rows))
}

/// A preview would fetch the links in the text.
fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}
