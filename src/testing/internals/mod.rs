//! Re-exports for the integration tests. The modules of this crate are private, so that the compiler
//! reports unused code.

pub mod admin {
    pub mod api {
        pub use crate::admin::api::openapi;
        pub mod tokens {
            pub use crate::admin::api::tokens::{create_token, new};
        }
    }
    pub mod auth {
        pub mod oidc {
            pub use crate::admin::auth::oidc::BACK;
        }
    }
    pub mod console {
        pub use crate::admin::console::routes;
    }
    pub mod metrics {
        pub use crate::admin::metrics::{METRICS, MetricKind};
    }
    pub mod rules {
        pub use crate::admin::rules::{ImportFormat, read};
    }
}
pub mod agent {
    pub use crate::agent::Agent;
    pub mod approvers {
        pub use crate::agent::approvers::{RoleLookups, Voter};
    }
    pub mod catalog {
        pub use crate::agent::catalog::{
            ApprovalMode, Catalog, Confinement, Domain, EffectClass, Rate, ResolvedTool, Subject,
            Tier, ToolSchema, ToolSource, ToolSpec,
        };
    }
    pub mod delegation {
        pub use crate::agent::delegation::ANSWER_CHARS;
    }
    pub mod disclosure {
        pub use crate::agent::disclosure::{
            Disclosure, ENABLE_TOOL, FIND_TOOL, enable_tool, find_tool, load_skill,
        };
    }
    pub mod guard {
        pub use crate::agent::guard::{Ruling, Verdict, digest_of, judge, ruling};
    }
    pub mod hooks {
        pub use crate::agent::hooks::OnFailure;
    }
    pub mod limits {
        pub use crate::agent::limits::{Budget, UsageTotals};
    }
    pub mod naming {
        pub use crate::agent::naming::{meant, sanitise};
    }
    pub mod next {
        pub use crate::agent::next::{Effect, next};
    }
    pub mod policy {
        pub use crate::agent::policy::{Action, GuardContext, Origin, Policy};
    }
    pub mod prompt {
        pub use crate::agent::prompt::{Message, Picture, Prompt, build};
    }
    pub mod redact {
        pub use crate::agent::redact::{Redactor, Results};
    }
    pub mod rules {
        pub use crate::agent::rules::{RuleDocument, RuleEntry, compile, shipped};
    }
    pub mod schedule_rule {
        pub use crate::agent::schedule_rule::Recurrence;
    }
    pub mod shell {
        pub use crate::agent::shell::{Command, Script, Word, parse};
    }
    pub mod tool_listing {
        pub use crate::agent::tool_listing::search_result;
    }
}
pub mod app {
    pub use crate::app::{App, Overrides, secrets};
    pub mod database {
        pub use crate::app::database::open_store;
    }
    pub mod models {
        pub use crate::app::models::build;
    }
}
pub mod cli {
    pub use crate::cli::Cli;
    pub mod audit {
        pub use crate::cli::audit::{AuditCommand, run};
    }
    pub mod configuration {
        pub use crate::cli::configuration::printed;
    }
    pub mod wiki {
        pub use crate::cli::wiki::{WikiCommand, run};
    }
}
pub mod clock {
    pub use crate::clock::{Clock, SystemClock};
}
pub mod config {
    pub use crate::config::{AgentEntry, Config, MemorySharing};
    pub mod build {
        pub use crate::config::build::{duration, hooks};
    }
    pub mod example {
        pub use crate::config::example::example;
    }
    pub mod guard {
        pub use crate::config::guard::policy;
    }
    pub mod keys {
        pub use crate::config::keys::{ConfigKey, ConfigSection, keys, sections};
    }
    pub mod hooks {
        pub use crate::config::hooks::{HookAction, HookEntry};
    }
    pub mod limits {
        pub use crate::config::limits::ToolLimitEntry;
    }
    pub mod models {
        pub use crate::config::models::ModelEntry;
    }
    pub mod print {
        pub use crate::config::print::commented;
    }
    pub mod retention {
        pub use crate::config::retention::retention;
    }
    pub mod secret {
        pub use crate::config::secret::Secret;
    }
    pub mod webhooks {
        pub use crate::config::webhooks::{WebhookInEntry, WebhookOutEntry, incoming};
    }
}
pub mod crash {
    pub use crate::crash::{interrupt_at, lose_next_answer, move_database_clock, refuse_next};
}
pub mod encryption {
    pub use crate::encryption::Encryption;
}
pub mod gateway {
    pub use crate::gateway::{BusyPolicy, ChannelSettings, Connected};
    pub mod approvals {
        pub use crate::gateway::approvals::{Choice, DecisionOutcome, decide, sweep};
        pub mod by_id {
            pub use crate::gateway::approvals::by_id::decide_as;
        }
        pub mod relocation {
            pub use crate::gateway::approvals::relocation::expelled;
        }
    }
    pub mod deliver {
        pub use crate::gateway::deliver::{deliver, deliver_ready};
    }
    pub mod drafts {
        pub use crate::gateway::drafts::{DraftTarget, Drafts};
    }
    pub mod pairing {
        pub use crate::gateway::pairing::new_code;
    }
    pub mod people {
        pub use crate::gateway::people::{Allow, ChannelAccess};
    }
    pub mod receive {
        pub use crate::gateway::intake::receive;
    }
    pub mod webhooks {
        pub mod outgoing {
            pub use crate::gateway::webhooks::outgoing::{
                check_subscriptions, deliver, deliver_due_webhooks,
            };
        }
        pub mod signature {
            pub use crate::gateway::webhooks::signature::{SharedSecret, Verify};
        }
    }
}
pub mod journal {
    pub mod event {
        pub use crate::journal::event::{
            ApprovalPurpose, Attachment, Call, Decider, Decision, Entry, Event, HookPoint,
            InheritedState, Outcome, Speaker, ToolResult, Usage, VISITOR,
        };
    }
    pub mod ids {
        pub use crate::journal::ids::{ApprovalId, CallId, ConversationId, ScheduleId};
    }
    pub mod role {
        pub use crate::journal::role::Role;
    }
    pub mod session {
        pub use crate::journal::session::{CallState, OpenCall, Session};
    }
}
pub mod llm {
    pub use crate::llm::{Model, ModelError, Reply};
}
pub mod store;
pub mod telemetry {
    pub use crate::telemetry::{hide, log_panics, start};
}
pub mod texts {
    pub use crate::texts::{Language, stopped_by_hook};
}
pub mod tools;
pub mod worker {
    pub mod erasure {
        pub use crate::worker::erasure::erase;
    }
    pub mod maintenance {
        pub use crate::worker::maintenance::{Round, maintain, run_once};
    }
    pub mod scheduler {
        pub use crate::worker::scheduler::{fire_due, has_access};
    }
}
