//! The configuration of a Telegram bot account.

use secrecy::SecretString;
use url::Url;

/// One bot account.
#[derive(Debug, Clone)]
pub struct TelegramConfig {
    /// The id of the channel in the configuration.
    pub id: String,
    /// The token as issued by `@BotFather`.
    pub token: SecretString,
    /// The Bot API server, usually `https://api.telegram.org`.
    pub api_url: Url,
    /// How updates are received.
    pub mode: Mode,
    /// The command menus: one without a language, and others for languages.
    pub menus: Vec<Menu>,
}

/// The commands in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// Two letters of ISO 639-1. `None` for people without a menu in their language.
    pub language: Option<String>,
    /// Names (1 to 32 of `a-z 0-9 _`) and descriptions (1 to 256 characters).
    pub commands: Vec<(String, String)>,
}

/// How updates are received.
#[derive(Debug, Clone)]
pub enum Mode {
    /// By long polling. Only one process per token may do so.
    Poll,
    /// Telegram pushes updates to `url` and sends `secret` with each request. The secret is 1 to
    /// 256 characters of `A-Z a-z 0-9 _ -`. During rotation the previous secret is accepted too,
    /// because requests in flight and other nodes still use it.
    Webhook {
        /// The public HTTPS address of this channel's webhook.
        url: Url,
        /// The secret that Telegram sends in `X-Telegram-Bot-Api-Secret-Token`.
        secret: SecretString,
        /// The previous secret, during rotation.
        before: Option<SecretString>,
    },
}
