//! Providers and platforms that `countersign init` and the console offer to new operators.

use serde::Serialize;

/// A provider of language models, and what has to be asked about it.
#[derive(Debug, Serialize)]
pub struct ProviderChoice {
    pub shown: &'static str,
    pub provider: &'static str,
    /// Empty if it cannot be guessed.
    pub model: &'static str,
    /// The variable that usually contains the key.
    pub variable: Option<&'static str>,
    /// The default address, if the address is asked for.
    pub address: Option<&'static str>,
}

pub const PROVIDERS: [ProviderChoice; 5] = [
    ProviderChoice {
        shown: "Anthropic",
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        variable: Some("ANTHROPIC_API_KEY"),
        address: None,
    },
    ProviderChoice {
        shown: "OpenAI",
        provider: "openai",
        model: "gpt-5",
        variable: Some("OPENAI_API_KEY"),
        address: None,
    },
    ProviderChoice {
        shown: "Google Gemini",
        provider: "gemini",
        model: "gemini-2.5-flash",
        variable: Some("GEMINI_API_KEY"),
        address: None,
    },
    ProviderChoice {
        shown: "Ollama",
        provider: "ollama",
        model: "qwen3",
        variable: None,
        address: Some("http://localhost:11434"),
    },
    ProviderChoice {
        shown: "Another server with the API of OpenAI",
        provider: "openai",
        model: "",
        variable: Some("OPENAI_API_KEY"),
        address: Some("http://localhost:8000/v1"),
    },
];

/// A platform, the variable that usually contains the token, and where to get one.
#[derive(Debug, Serialize)]
pub struct PlatformChoice {
    pub shown: &'static str,
    pub kind: &'static str,
    pub variable: &'static str,
    pub source: &'static str,
}

pub const PLATFORMS: [PlatformChoice; 2] = [
    PlatformChoice {
        shown: "Telegram",
        kind: "telegram",
        variable: "TELEGRAM_BOT_TOKEN",
        source: "@BotFather on Telegram",
    },
    PlatformChoice {
        shown: "Discord",
        kind: "discord",
        variable: "DISCORD_BOT_TOKEN",
        source: "discord.com/developers, under Bot; turn on the Message Content Intent there",
    },
];
