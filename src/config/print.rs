//! The configuration in force as a commented file, and the list of all keys.

use anyhow::Result;
use std::fmt::Write as _;

use super::{
    Config, admin,
    key::{Key, key},
    oidc, retention,
};

/// Every key there is, in the order of the file.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    FIRST.iter().chain(admin::KEYS).chain(oidc::KEYS).chain(retention::KEYS).chain(KEYS)
}

const FIRST: &[Key] = &[
    key("data_dir", "./data", "Where the SQLite file, artifacts and workspaces are"),
    key(
        "store.url",
        "sqlite://<data_dir>/countersign.db",
        "Or postgres://user@host/db; several nodes may share one",
    ),
    key(
        "store.durability",
        "full",
        "full survives a power cut, normal a crash of the process (SQLite)",
    ),
    key(
        "store.lease",
        "15s",
        "How long a node that died holds its conversations, at least 6 s; a live node renews its leases three times as often",
    ),
    key(
        "store.encryption_key",
        "",
        "Encrypts the tokens of MCP logins and the gateway's signing keys where they are stored: \
         32 random bytes in base64 (`openssl rand -base64 32`); without it they are stored as they are, \
         in files for the gateway's user alone and in the database",
    ),
    key(
        "store.previous_encryption_key",
        "",
        "The key before: what it has encrypted is still read, and encrypted with the new key when it is next used",
    ),
];

const KEYS: &[Key] = &[
    key(
        "guard.default",
        "ask",
        "allow, ask or deny: for tools that change something, where no rule matches",
    ),
    key(
        "guard.approval_timeout",
        "30m",
        "How long a question stands before it counts as denied (s, m, h, d)",
    ),
    key(
        "guard.approvers",
        "requester",
        "Who may decide: requester, members (who may talk there), others (members but the \
         requester), admins (of the chat), a numeric id, <channel>/<id>, role:<name>, \
         platform_role:<id>, a list of these, or { who = [], needed = 2, but_requester = true }",
    ),
    key(
        "guard.tainted",
        "ask",
        "allow, ask or deny: calls that change or tell something, after other people's words were \
         read (pages, servers' answers, foreign files), where no rule names the tool",
    ),
    key("guard.link_hosts", "[]", "Hosts that replies may link to after such words were read"),
    key("guard.off", "[]", "Shipped rules that are turned off, by name; [\"*\"] for all"),
    key("guard.rules.name", "rule N", "What the rule is called in questions"),
    key("guard.rules.tool", "", "Tool name; * and ? match"),
    key(
        "guard.rules.arg_pattern",
        "",
        "Regular expression over what the call acts upon: its path; of a shell command, each \
         program with its arguments",
    ),
    key(
        "guard.rules.fields",
        "{}",
        "Regular expressions (or { glob = \"…\" }) by argument: \"to.address\" or \"/to/address\"",
    ),
    key("guard.rules.command", "[]", "Programs that a shell command starts; * and ? match"),
    key(
        "guard.rules.words",
        "[]",
        "Regular expressions; each must match the whole of one of the program's arguments",
    ),
    key("guard.rules.severity", "medium", "low, medium, high or critical"),
    key("guard.rules.priority", "0", "The higher speaks first among rules of one severity"),
    key("guard.rules.enabled", "true", "false turns the rule off"),
    key("guard.rules.agents", "[]", "Ids of agents; empty means all, here and below"),
    key("guard.rules.channels", "[]", "Ids of channels"),
    key("guard.rules.people", "[]", "The requester's numeric platform id"),
    key("guard.rules.roles", "[]", "The requester's role"),
    key("guard.rules.times", "[]", "As in mon-fri 09:00-17:00 Europe/Berlin"),
    key("guard.rules.action", "", "allow, ask or deny"),
    key("guard.rules.approvers", "guard.approvers", "Who decides what this rule asks"),
    key(
        "documents.fonts",
        "[]",
        "Folders with fonts for PDFs, before `fonts` beside the program and the system's",
    ),
    key("documents.color", "", "Colour of the theme `corporate`, as #0b3d62"),
    key(
        "documents.template",
        "",
        "A .docx, .pptx or .xlsx file whose fonts, colours, page, header, footer and logo all documents take over",
    ),
    key("documents.logo", "", "Picture file that the theme `corporate` shows (PNG, JPEG, SVG)"),
    key(
        "limits.messages_per_minute",
        "30",
        "How fast one person may write (0: as they like); what is faster is refused with a word",
    ),
    key("limits.person.messages", "", "What one person may use in a UTC day: messages"),
    key("limits.person.tokens", "", "Tokens, input and output"),
    key("limits.person.cost", "", "Money, by the prices of the models"),
    key("limits.person.tool_minutes", "", "Time of tools"),
    key("limits.conversation.messages", "", "The same for one conversation"),
    key("limits.conversation.tokens", "", "Tokens"),
    key("limits.conversation.cost", "", "Money"),
    key("limits.conversation.tool_minutes", "", "Time of tools"),
    key("limits.all.messages", "", "The same for everybody together"),
    key("limits.all.tokens", "", "Tokens"),
    key("limits.all.cost", "", "Money"),
    key("limits.all.tool_minutes", "", "Time of tools"),
    key("limits.tools.tool", "", "Tool name; * and ? match; the last entry that matches stands"),
    key(
        "limits.tools.per_minute",
        "the tool's",
        "Calls for one person; 60 where the tool sets none and acts on anything outside",
    ),
    key("limits.tools.per_hour", "the tool's", "Calls for one person; 1000, as above"),
    key("limits.tools.unlimited", "false", "No limit of calls for one person"),
    key("limits.tools.max_usage_count", "", "Calls in one conversation"),
    key(
        "redaction.results",
        "all",
        "What tools return: all that looks like a secret is blanked out, or own: only the secrets of this configuration",
    ),
    key(
        "audit.keep",
        "for ever",
        "How long audit rows (once sealed) and days of the account are kept, as in 400d",
    ),
    key("shell.enabled", "true", "Whether agents may run commands, in the sandbox"),
    key("shell.hosts", "[]", "Hosts that commands reach, by https, or host:port; * and ? match"),
    key(
        "skills.load_tool",
        "true",
        "true: skills are listed, and read with load_skill; false: the operator's own stand in \
         every prompt as a whole",
    ),
    key("skills.hosts", "{}", "By skill, hosts that its scripts reach, as shell.hosts"),
    key("schedules.timezone", "UTC", "IANA name of the time zone for whoever names none"),
    key("schedules.shortest", "1m", "The shortest interval (s, m, h, d)"),
    key(
        "schedules.per_conversation",
        "50",
        "Reminders and tasks that may wait in one conversation",
    ),
    key("models.id", "", "What agents call it"),
    key("models.provider", "", "openai, anthropic, gemini, ollama or demo"),
    key("models.base_url", "the provider's", "For any compatible server"),
    key("models.api_key", "", "\"…\", { env = \"NAME\" } or { file = \"path\" }"),
    key("models.model", "", "The provider's name for it"),
    key("models.tools", "native", "native, or prompted for models without tool calls of their own"),
    key("models.vision", "the provider's", "Whether it is shown pictures"),
    key("models.temperature", "the provider's", "Sampling temperature"),
    key(
        "models.fallback",
        "[]",
        "Ids of the models that are asked, in this order, when this one does not answer",
    ),
    key("models.input_price", "0", "Of a million tokens, in your currency"),
    key("models.output_price", "0", "Of a million tokens"),
    key("models.cached_price", "input_price", "Of a million tokens that the provider had cached"),
    key("agents.id", "", "What channels call it"),
    key("agents.model", "", "The id of a model"),
    key("agents.system_prompt", "a short one", "Who the agent is"),
    key("agents.description", "", "What it is good at, for agents that may give it work"),
    key(
        "agents.workspace",
        "a folder per conversation",
        "One folder for all conversations of the agent; as a sub-agent it works in that of the \
         conversation it works for",
    ),
    key("agents.skills_dir", "<data_dir>/skills", "Folders with a SKILL.md each"),
    key(
        "agents.disclosure",
        "progressive",
        "progressive: extension tools are found and enabled; legacy: all are in every prompt; \
         direct: all, if they are no more than 20",
    ),
    key("agents.tools", "[]", "The built-in tools that it has, * and ? match; [] for all"),
    key("agents.mcp", "[]", "The servers, or single tools of theirs, that it has; [] for all"),
    key(
        "agents.memory",
        "chat",
        "chat: what is remembered stays in the chat; agent: all conversations of the agent share it",
    ),
    key("agents.max_steps", "24", "Requests to the model in one turn"),
    key("agents.max_tokens", "1000000", "Tokens in one turn, input and output"),
    key("agents.max_minutes", "15", "Time of one turn, without waiting for people"),
    key("agents.max_output_tokens", "8192", "The longest answer"),
    key("agents.context_tokens", "100000", "A longer dialogue is summarised"),
    key("channels.id", "", "Unique; part of stored keys, so do not rename it"),
    key("channels.kind", "", "telegram, discord or web"),
    key("channels.agent", "default", "The id of an agent"),
    key("channels.token", "", "The bot's token, as a secret"),
    key("channels.api_url", "the platform's", "A local Bot API server, or a stand-in"),
    key("channels.mode", "poll", "poll or webhook"),
    key(
        "channels.webhook_url",
        "",
        "Where the platform reaches <admin.listen>/channels/<id>/webhook",
    ),
    key("channels.webhook_secret", "", "What the platform shows with each request, as a secret"),
    key(
        "channels.webhook_secret_before",
        "",
        "Telegram: the secret before it, taken too for as long as it stands here",
    ),
    key(
        "channels.public_key",
        "",
        "Discord: the application's key; with it, pushed interactions are taken at \
         <admin.listen>/channels/<id>/webhook",
    ),
    key(
        "channels.ca_file",
        "",
        "Discord: authorities (PEM) that may vouch for the platform besides the usual ones, for a proxy",
    ),
    key("channels.origins", "[]", "Web: sites that show this chat to their visitors, as a widget"),
    key("channels.allow", "[]", "Numeric platform ids, or [\"*\"]; others need a pairing code"),
    key(
        "channels.owners",
        "[]",
        "Ids of people who may do everything; where no channel names one, who redeems the first code",
    ),
    key(
        "channels.roles",
        "{}",
        "A person's or a platform role's id, or admin or owner of the chat, to viewer, member, \
         approver, operator or owner",
    ),
    key(
        "channels.per_person",
        "false",
        "Whether in groups each person has a conversation of their own with the bot",
    ),
    key(
        "channels.queue",
        "collect",
        "A message during a turn: collect reads it after the step at hand, steer thinks anew with \
         it, interrupt stops the turn",
    ),
    key(
        "channels.settle",
        "1s",
        "What follows so quickly is read together; an album and a cut paste wait so long",
    ),
    key("mcp.name", "", "In front of its tools' names"),
    key("mcp.command", "", "Program and arguments of a local server"),
    key("mcp.url", "", "Address of a remote server"),
    key("mcp.env", "{}", "Variables of the local server, as secrets"),
    key("mcp.bearer", "", "Token for the remote server, as a secret"),
    key("mcp.token_url", "", "Where its token is got, by OAuth's client credentials"),
    key("mcp.client_id", "", "Who asks for it, or signs in with `mcp login`"),
    key("mcp.client_secret", "", "With what, as a secret"),
    key("mcp.scopes", "[]", "For what; else what the server names"),
    key("mcp.tier", "extension", "core: in every prompt; extension: after enable_tool"),
    key("mcp.protocol", "auto", "initialize, discover (from 2026-07-28 on), or auto"),
    key(
        "mcp.sandbox",
        "true",
        "Whether the local server is confined: with network, writing only in its own folder",
    ),
    key("mcp.folders", "[]", "Folders that the confined server may write"),
    key("memory.embeddings", "", "Model for search by meaning: <id of a model>/<vendor's name>"),
    key("memory.embeddings_price", "0", "Its price of a million tokens"),
    key("hooks.name", "", "What the hook is called in the journal and in logs"),
    key("hooks.on", "", "before_llm, after_llm, before_tool, after_tool or on_error"),
    key(
        "hooks.do",
        "",
        "redact, inject, validate, filter, annotate, or run a program; in the order of the file",
    ),
    key("hooks.tool", "every tool", "Tool name; * and ? match"),
    key("hooks.argument", "", "before_tool: the argument that is checked or set"),
    key("hooks.pattern", "", "Regular expression: what is redacted, must match, must not match"),
    key("hooks.text", "", "What is put in, added, or said where it stops"),
    key(
        "hooks.command",
        "",
        "run: program and arguments; JSON on its standard input, JSON from it",
    ),
    key(
        "hooks.sandbox",
        "true",
        "Whether the program is confined: no network, writing only in a folder of its own, our data \
         out of sight",
    ),
    key("hooks.timeout", "5s", "How long the program may take, a minute at most"),
    key("hooks.max_bytes", "262144", "The longest question to the program, and the longest answer"),
    key(
        "hooks.on_failure",
        "stop for before_tool, else go_on",
        "What happens when the program fails: stop or go_on",
    ),
    key(
        "web.inside",
        "[]",
        "Hosts that the agent may ask although they are not on the public internet, or single places of them as host:port",
    ),
    key(
        "web.search.provider",
        "duckduckgo",
        "serper, tavily, brave, searxng or duckduckgo; the next is asked where one fails",
    ),
    key("web.search.key", "", "Its key, as a secret"),
    key("web.search.url", "the service's", "Where your SearXNG answers, with /search"),
    key("web.search.price", "0", "What one search there costs"),
    key("webhooks_in.name", "", "Taken at <admin.listen>/hooks/<name>"),
    key(
        "webhooks_in.verify",
        "standard",
        "standard (Standard Webhooks), github, gitlab, stripe or slack",
    ),
    key("webhooks_in.secret", "", "What the sender signs with, as a secret; without it, no route"),
    key("webhooks_in.secret_before", "", "The one before it, taken too as long as it stands here"),
    key("webhooks_in.channel", "", "The id of a channel"),
    key("webhooks_in.chat", "", "The chat of the conversation in which a turn starts"),
    key("webhooks_in.thread", "", "The topic or thread in it"),
    key("webhooks_in.group", "false", "Whether that chat is a group, if it is a new one"),
    key("webhooks_in.person", "chat", "Numeric platform id of whoever the agent acts for"),
    key(
        "webhooks_in.template",
        "the payload as JSON",
        "What the agent is told, as a Jinja template of payload, headers and name",
    ),
    key("webhooks_out.name", "", "What the subscription is called in the audit and in logs"),
    key(
        "webhooks_out.url",
        "",
        "Who is told; a host that is not on the internet must stand in web.inside",
    ),
    key(
        "webhooks_out.secret",
        "",
        "What is signed with, by Standard Webhooks: whsec_…, as a secret",
    ),
    key(
        "webhooks_out.secret_before",
        "",
        "The one before it, which signs too as long as it stands here",
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
        "As what it may decide questions, at addresses that it is told; without it, it may not",
    ),
];

/// The configuration as TOML, each key behind a comment that explains it. Secrets stay out.
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
                let _ = writeln!(text, "# {}", key.says);
            }
        }
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}
