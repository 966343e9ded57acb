//! The current configuration as a commented file, and the list of all keys.

use anyhow::Result;
use std::fmt::Write as _;

use super::{
    Config, admin, browser, builder, completions, datasources, extensions, extraction, generation,
    guard, http, jobs,
    key::{ConfigKey, key},
    media, oidc, retention, store, wasm, wiki,
};

/// All keys, in the order of the file.
pub fn keys() -> impl Iterator<Item = &'static ConfigKey> {
    let sections = [
        admin::KEYS,
        oidc::KEYS,
        completions::KEYS,
        retention::KEYS,
        guard::KEYS,
        KEYS,
        jobs::KEYS,
        extensions::KEYS,
        extraction::KEYS,
        wiki::KEYS,
        media::KEYS,
        generation::KEYS,
        wasm::KEYS,
        builder::KEYS,
        http::KEYS,
        browser::KEYS,
        datasources::KEYS,
    ];
    store::KEYS.iter().chain(sections.into_iter().flatten())
}

const KEYS: &[ConfigKey] = &[
    key(
        "documents.fonts",
        "[]",
        "Folders with fonts for PDFs, searched before `fonts` beside the program and the system's",
    ),
    key("documents.color", "", "Colour of the theme `corporate`, for example #0b3d62"),
    key(
        "documents.template",
        "",
        "A .docx, .pptx or .xlsx file whose fonts, colours, page setup, header, footer and logo \
            are used for all documents",
    ),
    key("documents.logo", "", "Logo of the theme `corporate` (PNG, JPEG, SVG)"),
    key(
        "documents.office_previews",
        "true",
        "Whether a picture of the first page precedes a Word, Excel or PowerPoint file, if \
            LibreOffice is installed, which takes one or two seconds of a core to draw it",
    ),
    key(
        "limits.messages_per_minute",
        "30",
        "Messages that one person may send per minute (0 for unlimited); further ones are rejected \
            with a notice",
    ),
    key("limits.person.messages", "", "Daily budget per person (UTC): messages"),
    key("limits.person.tokens", "", "Tokens, input and output"),
    key("limits.person.cost", "", "Money, at the configured prices"),
    key("limits.person.tool_minutes", "", "Tool run time"),
    key(
        "limits.person.upload_mb",
        "1000",
        "Megabytes that a person may upload in the web chat per day (UTC)",
    ),
    key("limits.conversation.messages", "", "Daily budget per conversation: messages"),
    key("limits.conversation.tokens", "", "Tokens"),
    key("limits.conversation.cost", "", "Money"),
    key("limits.conversation.tool_minutes", "", "Tool run time"),
    key("limits.all.messages", "", "Daily message budget for all users combined"),
    key("limits.all.tokens", "", "Tokens"),
    key("limits.all.cost", "", "Money"),
    key("limits.all.tool_minutes", "", "Tool run time"),
    key(
        "limits.tools.tool",
        "",
        "Tool name; * and ? are wildcards; the last matching entry applies",
    ),
    key("limits.tools.per_minute", "the tool's, or 60", "Calls per person and minute"),
    key("limits.tools.per_hour", "the tool's, or 1000", "Calls per person and hour"),
    key("limits.tools.unlimited", "false", "No limit on calls per person"),
    key("limits.tools.max_usage_count", "", "Calls per conversation, including its sub-agents"),
    key(
        "redaction.results",
        "all",
        "What is redacted in tool results: all that looks like a secret, or own for the secrets of \
            this configuration only",
    ),
    key(
        "audit.retention",
        "kept forever",
        "How long sealed audit records and daily usage totals are kept, for example 400d",
    ),
    key("shell.enabled", "true", "Whether agents may run commands, in the sandbox"),
    key(
        "shell.hosts",
        "[]",
        "Hosts that commands may reach by https, or host:port; * and ? are wildcards",
    ),
    key(
        "skills.load_tool",
        "true",
        "true: skills are listed and loaded with load_skill; false: trusted skills are included in \
            every prompt in full",
    ),
    key("skills.hosts", "{}", "Hosts that scripts may reach, by skill, as for shell.hosts"),
    key("schedules.timezone", "UTC", "Default time zone (IANA name)"),
    key("schedules.min_interval", "1m", "The minimum interval (s, m, h, d)"),
    key(
        "schedules.per_conversation",
        "50",
        "Maximum number of active reminders and tasks per conversation",
    ),
    key("models.id", "", "The id that agents use"),
    key("models.provider", "", "openai, anthropic, gemini, ollama or demo"),
    key("models.base_url", "the provider's", "For compatible servers"),
    key("models.api_key", "", "\"…\", { env = \"NAME\" } or { file = \"path\" }"),
    key("models.model", "", "The provider's name for the model"),
    key("models.tools", "native", "native, or prompted for models without native tool calls"),
    key("models.vision", "the provider's", "Whether it is shown pictures"),
    key("models.temperature", "the provider's", "Sampling temperature"),
    key("models.fallback", "[]", "Ids of the models to use, in order, if this one does not answer"),
    key("models.input_price", "0", "Per million tokens, in your currency"),
    key("models.output_price", "0", "Per million tokens"),
    key("models.cached_price", "input_price", "Per million cached tokens"),
    key("agents.id", "", "The id that channels use"),
    key("agents.model", "", "The id of a model"),
    key("agents.system_prompt", "a short one", "The system prompt"),
    key("agents.description", "", "What it is good at, for agents that may delegate work to it"),
    key(
        "agents.workspace",
        "a folder per conversation",
        "One folder for all conversations of the agent; a sub-agent works in the folder of the \
            conversation that it works for",
    ),
    key("agents.skills_dir", "<data_dir>/skills", "Folders with skills (a SKILL.md each)"),
    key(
        "agents.disclosure",
        "progressive",
        "progressive: extension tools are found and enabled when needed; legacy: all are in every \
            prompt; direct: all, if there are at most 20",
    ),
    key("agents.tools", "[]", "The built-in tools that it has, * and ? are wildcards; [] for all"),
    key("agents.mcp", "[]", "The MCP servers, or single tools of theirs, that it has; [] for all"),
    key(
        "agents.memory",
        "chat",
        "chat: memories belong to one chat; agent: all conversations of the agent share them",
    ),
    key("agents.max_steps", "24", "Model requests per turn"),
    key("agents.max_tokens", "1000000", "Tokens per turn, input and output"),
    key("agents.max_minutes", "15", "Time per turn, not counting the wait for people"),
    key("agents.max_output_tokens", "8192", "Maximum tokens of an answer"),
    key("agents.context_tokens", "100000", "Tokens above which a dialogue is summarised"),
    key("channels.id", "", "Unique; part of stored keys, so do not rename it"),
    key("channels.kind", "", "telegram, discord or web"),
    key("channels.agent", "default", "The id of an agent"),
    key("channels.token", "", "The bot's token, as a secret"),
    key("channels.api_url", "the platform's", "A local Bot API server, or a test server"),
    key("channels.mode", "poll", "poll or webhook"),
    key("channels.webhook_url", "", "The public URL of <admin.listen>/channels/<id>/webhook"),
    key("channels.webhook_secret", "", "The secret that the platform sends with each request"),
    key(
        "channels.previous_webhook_secret",
        "",
        "Telegram: the previous secret, still accepted while set (for rotation)",
    ),
    key(
        "channels.public_key",
        "",
        "Discord: the application's public key; with it, interactions are received at \
            <admin.listen>/channels/<id>/webhook",
    ),
    key(
        "channels.ca_file",
        "",
        "Discord: additional certificate authorities (PEM) to trust, for a proxy",
    ),
    key("channels.origins", "[]", "Web: origins of sites that may embed this chat as a widget"),
    key("channels.allow", "[]", "Numeric platform ids, or [\"*\"]; others need a pairing code"),
    key(
        "channels.owners",
        "[]",
        "Ids of owners, who may do everything; for a web chat, the name `owner` if none is given; if \
            no channel has one, the first person to redeem a code becomes owner",
    ),
    key(
        "channels.roles",
        "{}",
        "Maps ids of people or platform roles, or admin or owner of the chat, to viewer, member, \
            approver, operator or owner",
    ),
    key("channels.per_person", "false", "Whether each person has their own conversation in groups"),
    key(
        "channels.while_busy",
        "collect",
        "What happens to a message during a turn: collect reads it after the current step, steer \
            restarts the model request with it, interrupt stops the turn",
    ),
    key(
        "channels.debounce",
        "1s",
        "Messages that follow within this time are read together; also how long to wait for the \
            rest of an album or a split paste",
    ),
    key(
        "channels.pace",
        "platform",
        "The rate limits for sending: platform keeps to what the platform documents, off has none \
            (for test servers), or own limits as messages/duration, such as `private 5/5s, group \
            20/1m, bot 1000/1s`; those that are left out stay the platform's",
    ),
    key("mcp.name", "", "The prefix of its tools' names"),
    key("mcp.command", "", "Program and arguments of a local server"),
    key("mcp.url", "", "URL of a remote server"),
    key("mcp.env", "{}", "Environment variables of the local server, as secrets"),
    key("mcp.bearer", "", "Token for the remote server, as a secret"),
    key("mcp.headers", "{}", "Further headers of requests to the remote server, as secrets"),
    key("mcp.token_url", "", "The token endpoint for OAuth client credentials"),
    key("mcp.client_id", "", "The client id for token_url, or for `mcp login`"),
    key("mcp.client_secret", "", "The client secret, as a secret"),
    key(
        "mcp.client_key",
        "",
        "The client's private key in PEM (PKCS #8), as a secret, in place of client_secret",
    ),
    key("mcp.client_key_id", "", "The id of client_key at the authorization server (kid)"),
    key("mcp.client_metadata_url", "", "URL of a client metadata document, for `mcp login`"),
    key("mcp.scopes", "[]", "The OAuth scopes; by default those that the server names"),
    key("mcp.tier", "extension", "core: in every prompt; extension: after enable_tool"),
    key("mcp.protocol", "auto", "initialize, discover (from 2026-07-28 on), or auto"),
    key(
        "mcp.connection",
        "shared",
        "shared, or per_call: each call opens a connection and closes it",
    ),
    key(
        "mcp.sandbox",
        "true",
        "Whether the local server is sandboxed: with network access, able to write only to its own \
            folder",
    ),
    key("mcp.folders", "[]", "Folders that the sandboxed server may write to"),
    key("memory.embeddings", "", "Model for semantic search: <id of a model>/<provider's name>"),
    key("memory.embeddings_price", "0", "Its price per million tokens"),
    key("hooks.name", "", "The name of the hook in the journal and in logs"),
    key("hooks.on", "", "before_llm, after_llm, before_tool, after_tool or on_error"),
    key(
        "hooks.action",
        "",
        "redact, inject, validate, filter, annotate, or run a program; hooks run in the order of \
            the file",
    ),
    key("hooks.tool", "every tool", "Tool name; * and ? are wildcards"),
    key("hooks.argument", "", "before_tool: the argument to check or set"),
    key("hooks.pattern", "", "Regular expression: what is redacted, must match, or must not match"),
    key("hooks.text", "", "The text to insert or append, or the reason for stopping"),
    key(
        "hooks.command",
        "",
        "run: program and arguments; receives JSON on standard input and prints JSON",
    ),
    key(
        "hooks.sandbox",
        "true",
        "Whether the program is sandboxed: no network, writing only to its own folder, the \
            gateway's data hidden",
    ),
    key("hooks.timeout", "5s", "Timeout of the program, at most one minute"),
    key("hooks.max_bytes", "262144", "Maximum size of its input and of its output"),
    key(
        "hooks.on_failure",
        "stop for before_tool, else continue",
        "What happens if the program fails: stop or continue",
    ),
    key(
        "web.allowed_private_hosts",
        "[]",
        "Private hosts that the agent may reach although they are not on the public internet (SSRF \
            allowlist); host:port for a single port",
    ),
    key(
        "web.search.provider",
        "duckduckgo",
        "serper, tavily, brave, searxng or duckduckgo, or the model of a vendor: openai, anthropic \
            or gemini; the next one is used if one fails",
    ),
    key("web.search.key", "", "Its API key, as a secret"),
    key("web.search.url", "the service's", "The URL of your SearXNG, with /search"),
    key("web.search.model", "", "The model that searches, for openai, anthropic and gemini"),
    key("web.search.price", "0", "The price of one search"),
    key("webhooks_in.name", "", "Received at <admin.listen>/hooks/<name>"),
    key(
        "webhooks_in.verify",
        "standard",
        "standard (Standard Webhooks), github, gitlab, stripe or slack",
    ),
    key("webhooks_in.secret", "", "The signing secret; without it, the route does not exist"),
    key(
        "webhooks_in.previous_secret",
        "",
        "The previous secret, still accepted while set (for rotation)",
    ),
    key("webhooks_in.channel", "", "The id of a channel"),
    key("webhooks_in.chat", "", "The chat in which a turn starts"),
    key("webhooks_in.thread", "", "The topic or thread in it"),
    key("webhooks_in.group", "false", "Whether a new chat is a group"),
    key(
        "webhooks_in.person",
        "the value of webhooks_in.chat",
        "Numeric platform id of the person on whose behalf the agent acts",
    ),
    key(
        "webhooks_in.template",
        "the payload as JSON",
        "The text for the agent, as a Jinja template of payload, headers and name",
    ),
    key("webhooks_out.name", "", "The name of the subscription in the audit and in logs"),
    key(
        "webhooks_out.url",
        "",
        "The URL of the receiver; a private host must be listed in web.allowed_private_hosts",
    ),
    key("webhooks_out.secret", "", "The signing secret by Standard Webhooks: whsec_…, as a secret"),
    key(
        "webhooks_out.previous_secret",
        "",
        "The previous secret, which also signs while set (for rotation)",
    ),
    key(
        "webhooks_out.topics",
        "",
        "approval.asked, approval.decided, turn.finished, turn.failed, artifact.delivered, \
         channel.up, channel.down, budget.reached",
    ),
    key(
        "webhooks_out.role",
        "",
        "The role with which it may decide approvals, through callback URLs; without a role, it may not decide",
    ),
];

/// The configuration as TOML, with a comment for each key. Secrets are left out.
pub fn commented(config: &Config) -> Result<String> {
    let mut text = String::new();
    let mut section = String::new();
    for line in toml::to_string_pretty(config)?.lines() {
        if line.starts_with('[') {
            line.trim_matches(['[', ']']).clone_into(&mut section);
        } else if let Some((name, _)) = line.split_once(" = ") {
            let path =
                if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            if let Some(key) = keys().find(|key| key.path == path) {
                let _ = writeln!(text, "# {}", key.description);
            }
        }
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}
