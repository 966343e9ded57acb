//! The destination of a [`Delivery`], and the parameters that all calls share.

use teloxide::types::{
    ChatId, MessageEntity, MessageEntityKind, MessageId, ReplyParameters, ThreadId,
};

use crate::{
    Delivery, Place, SendError,
    error::rejected,
    text::{Span, Style},
};

/// Where a delivery goes.
pub(super) struct Target {
    pub(super) chat: ChatId,
    pub(super) thread: Option<ThreadId>,
    pub(super) message: Option<MessageId>,
}

impl Target {
    pub(super) fn of(delivery: &Delivery) -> Result<Self, SendError> {
        let Place { chat, thread, .. } = &delivery.place;
        let chat = chat.parse().map_err(|_| rejected("the chat's id is not a number"))?;
        let message = number(delivery.receipt.as_ref().map(|receipt| receipt.message.as_str()))?;
        Ok(Self { chat: ChatId(chat), thread: number(thread.as_deref())?.map(ThreadId), message })
    }
}

pub(super) fn entities(spans: &[Span]) -> Vec<MessageEntity> {
    let kind = |style: &Style| match style {
        Style::Bold => MessageEntityKind::Bold,
        Style::Italic => MessageEntityKind::Italic,
        Style::Strike => MessageEntityKind::Strikethrough,
        Style::Code => MessageEntityKind::Code,
        Style::Pre { language } => MessageEntityKind::Pre { language: language.clone() },
        Style::Link(url) => MessageEntityKind::TextLink { url: url.clone() },
        Style::Quote => MessageEntityKind::Blockquote,
    };
    spans
        .iter()
        .map(|span| MessageEntity::new(kind(&span.style), span.offset, span.length))
        .collect()
}

/// Replies even if the message was deleted in the meantime.
pub(super) fn reply(to: MessageId) -> ReplyParameters {
    ReplyParameters::new(to).allow_sending_without_reply()
}

pub(super) fn number(id: Option<&str>) -> Result<Option<MessageId>, SendError> {
    let parsed = id.map(|id| id.parse().map(MessageId)).transpose();
    parsed.map_err(|_| rejected("a message's id is not a number"))
}
