//! How long the rows of each table are kept, in words. A test compares the list with the tables of a
//! database.

/// How long the rows of a table are kept, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionRule {
    pub table: &'static str,
    pub kept: &'static str,
}

const fn rule(table: &'static str, kept: &'static str) -> RetentionRule {
    RetentionRule { table, kept }
}

/// One rule for each table.
pub const RULES: &[RetentionRule] = &[
    rule(
        "conversations",
        "until idle for retention.conversations; a sub-agent's, for retention.tasks",
    ),
    rule("events", "with their conversation"),
    rule("sessions", "one per conversation, deleted with it"),
    rule("drafts", "at most one per conversation, deleted with it"),
    rule("mentions", "with their conversation"),
    rule("participants", "with their conversation"),
    rule("tasks", "with the conversation of the sub-agent"),
    rule("jobs", "retention.tasks after their report, or with their conversation"),
    rule("media_jobs", "30 days"),
    rule(
        "deliveries",
        "retention.deliveries; ids of incoming webhooks and used addresses of webhook answers, 400 days",
    ),
    rule("positions", "one for each channel"),
    rule("unparsed", "retention.unparsed"),
    rule("outbox", "retention.messages; longer while their approval is open or its grant is valid"),
    rule("approvals", "retention.approvals after the decision; longer while its grant is valid"),
    rule("approval_tokens", "with their approval"),
    rule("votes", "with their approval"),
    rule("grants", "retention.grants after their end"),
    rule("schedules", "retention.schedules after their end"),
    rule("notices", "retention.webhook_deliveries; longer while they wait"),
    rule("notice_tries", "with their delivery"),
    // Sealed and deleted by `Store::seal`, which `worker/maintenance.rs` calls.
    rule("audit", "audit.retention, once sealed"),
    rule("audit_heads", "forever: they prove what was deleted"),
    rule("usage", "audit.retention"),
    rule("spent", "3 days"),
    rule("reservations", "until their reply is recorded, or 5 minutes"),
    rule("rates", "1 hour after the last call"),
    rule("floods", "1 hour after the last message"),
    rule("parked", "until their time has passed"),
    rule("people", "forever: until they are removed or erased"),
    rule("identities", "forever: until they are unlinked or erased"),
    rule("link_codes", "until they expire"),
    rule("pairings", "30 days after they expire"),
    rule("pairing_failures", "1 day after the last"),
    rule("access_tokens", "until they expire"),
    rule("push_subscriptions", "with their session"),
    rule("api_tokens", "forever: the audit names them"),
    rule("answers", "1 day"),
    rule("completions", "with their conversation"),
    rule("memories", "forever: until forgotten, or with their conversation"),
    rule("memory_words", "with their memory"),
    rule("memory_vectors", "with their memory"),
    rule("wiki_pages", "forever: until deleted"),
    rule("wiki_versions", "the last 50 of each page, with it"),
    rule("wiki_links", "with their page"),
    rule("erasures", "until they have ended"),
    rule("erasure_steps", "until they have ended"),
    rule("erasure_files", "until their erasure has ended"),
    rule("backfills", "one for each backfill"),
    rule("guard_rules", "forever: configuration"),
    rule("guard_version", "one row"),
    rule("tool_settings", "forever: configuration"),
    rule("tool_version", "one row"),
    rule("mcp_tools", "forever if trusted, otherwise 400 days after the server last offered it"),
    rule("subscriptions", "those of the configuration"),
    rule("channel_states", "one for each channel"),
    rule("reconnects", "one for each channel"),
    rule("signing_keys", "forever: one for each purpose"),
    rule("oldest_release", "one row"),
    rule("first_sign_in", "one row"),
    rule("halts", "while tools are halted"),
    rule(
        "leases",
        "one for each duty; one for each webhook subscription, until no node has had it for an hour",
    ),
];
