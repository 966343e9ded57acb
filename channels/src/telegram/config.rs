//! What one Telegram bot account needs.

use secrecy::SecretString;
use url::Url;

/// One bot account.
#[derive(Debug, Clone)]
pub struct TelegramConfig {
    pub id: String,
    /// As `@BotFather` gave it.
    pub token: SecretString,
    /// The Bot API server, usually `https://api.telegram.org`.
    pub api_url: Url,
    pub mode: Mode,
    /// What people are offered to type: one without a language, and others for languages.
    pub menus: Vec<Menu>,
}

/// The commands in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// Two letters of ISO 639-1; `None` for everybody who has no menu in their own.
    pub language: Option<String>,
    /// Names (1 to 32 of `a-z 0-9 _`) and descriptions (1 to 256 characters).
    pub commands: Vec<(String, String)>,
}

/// How events arrive.
#[derive(Debug, Clone)]
pub enum Mode {
    /// We ask; one process per token may do so.
    Poll,
    /// Telegram pushes to `url` and shows `secret` with each request. The secret is 1 to 256
    /// characters out of `A-Z a-z 0-9 _ -`. While it is being changed, the one before it is taken
    /// too: pushes under way, and other nodes, still have it.
    Webhook { url: Url, secret: SecretString, before: Option<SecretString> },
}
