//! What one Discord bot account needs.

use secrecy::SecretString;
use url::Url;

/// One bot account.
#[derive(Debug, Clone)]
pub struct DiscordConfig {
    pub id: String,
    /// As the developer portal gave it, without `Bot` in front.
    pub token: SecretString,
    /// A stand-in for `https://discord.com`.
    pub api_url: Option<Url>,
    /// The application's public key, 64 hexadecimal digits: with it, interactions that Discord
    /// pushes are taken.
    pub public_key: Option<String>,
}
