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
}

/// How events arrive.
#[derive(Debug, Clone)]
pub enum Mode {
    /// We ask; one process per token may do so.
    Poll,
    /// Telegram pushes to `url` and shows `secret` with each request. The secret is 1 to 256
    /// characters out of `A-Z a-z 0-9 _ -`.
    Webhook { url: Url, secret: SecretString },
}
