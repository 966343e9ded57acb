//! The kinds of audit records.

use strum::{IntoStaticStr, VariantArray};

/// What a record is about. It is stored and listed by its name, see [`AuditKind::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum AuditKind {
    Asked,
    ChannelChecked,
    ChannelReconnected,
    /// The configuration is about to be reloaded.
    ConfigurationReloadBegun,
    ConfigurationReloadFailed,
    ConfigurationReloaded,
    /// The configuration file is about to be written.
    ConfigurationWriteBegun,
    ConfigurationWriteFailed,
    ConfigurationWritten,
    ConversationsExpired,
    Cut,
    Decided,
    Erased,
    ErasureBegun,
    Granted,
    Halted,
    #[strum(serialize = "letter_dropped")]
    DeadLetterDropped,
    #[strum(serialize = "letter_replayed")]
    DeadLetterReplayed,
    LettersReplayed,
    Lifted,
    Linked,
    McpChanged,
    McpTrusted,
    Paired,
    PairingOffered,
    PersonRemoved,
    Ran,
    Refused,
    Revoked,
    RoleSet,
    RulePut,
    RuleRemoved,
    RulesImported,
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleEdited,
    SchedulePaused,
    ScheduleResumed,
    Seal,
    SessionEnded,
    SignInLink,
    SignedIn,
    SkillRemoved,
    SkillTrusted,
    Started,
    TokenCreated,
    TokenRevoked,
    ToolSet,
    Unlinked,
    VoteRejected,
    #[strum(serialize = "vote_struck")]
    VoteDiscarded,
    VoteWithdrawn,
    Voted,
    WasmChanged,
    WasmTrusted,
    WebhookDropped,
    WebhookReplayed,
    WebhookTested,
}

impl AuditKind {
    /// The name in the database, the API and the console. It never changes: a variant that is renamed
    /// keeps it.
    pub const fn as_str(self) -> &'static str {
        self.into_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_stored_records_never_change() {
        let names: Vec<_> = AuditKind::VARIANTS.iter().map(|kind| kind.as_str()).collect();
        let expected = "asked channel_checked channel_reconnected \
            configuration_reload_begun configuration_reload_failed configuration_reloaded \
            configuration_write_begun configuration_write_failed configuration_written \
            conversations_expired cut decided erased erasure_begun granted halted \
            letter_dropped letter_replayed letters_replayed lifted linked mcp_changed \
            mcp_trusted paired pairing_offered person_removed ran refused revoked role_set \
            rule_put rule_removed rules_imported schedule_created schedule_deleted \
            schedule_edited schedule_paused schedule_resumed seal session_ended sign_in_link \
            signed_in skill_removed skill_trusted started token_created token_revoked tool_set \
            unlinked vote_rejected vote_struck vote_withdrawn voted wasm_changed wasm_trusted \
            webhook_dropped webhook_replayed webhook_tested";
        assert_eq!(names.join(" "), expected);
    }
}
