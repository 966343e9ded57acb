//! All texts for people, in their language, and the fixed texts for the model.
//!
//! - [`Messages`]: the texts; a language in which one is missing does not compile
//! - `language`: the supported languages; [`en`], [`zh`], [`de`], [`es`]: the texts of each
//! - [`approval`]: the contents of an approval request; [`preview`], `preview_notes`, `preview_notes_zh`: the
//!   change that a call would make; `hosts`: hosts that look like others
//! - [`guard`], [`grants`]: reasons for approvals; votes, grants and the halt
//! - [`elicitation`]: elicitations of tool servers
//! - [`linking`]: linking accounts
//! - [`page`], [`chat_script`]: the web chat, and its scripts
//! - [`oidc`]: signing in with an OpenID provider
//! - [`progress`]: the progress of a call; `recordings`: what cannot be transcribed
//! - [`tool_sentences`]: a sentence about each built-in tool
//! - `problems`: requests that are refused; `refusals`: messages and files that the web chat refuses;
//!   `form_errors`: forms that are not accepted; `schedule_errors`: why something cannot be scheduled
//! - `completions`: answers to OpenAI clients
//! - [`console`]: the console; `timeline`: the lines of its timelines
//! - `template`: fills values into a text
//! - [`model`], [`limits`]: texts for the model, in English

mod approval;
mod chat_script;
mod completions;
pub mod console;
mod de;
mod elicitation;
mod en;
mod es;
mod form_errors;
mod grants;
mod guard;
mod hosts;
mod language;
mod limits;
mod linking;
mod model;
mod oidc;
mod page;
pub mod preview;
mod preview_notes;
mod preview_notes_zh;
mod problems;
mod progress;
mod recordings;
mod refusals;
mod schedule_errors;
mod template;
mod timeline;
mod tool_sentences;
mod zh;

use channels::{Button, Choice, text};
use chrono::TimeDelta;

use crate::journal::{
    event::{ApprovalPurpose, Speaker, Status},
    role::Role,
};
pub use approval::{ApprovalParts, ApprovalText, arguments_file, everything, in_short};
pub use completions::CompletionTexts;
pub use elicitation::{AutoDecline, ElicitationText, ElicitationTexts};
pub use grants::*;
pub use guard::*;
pub use language::Language;
pub use limits::*;
pub use linking::LinkingTexts;
pub use model::*;
pub use page::PageTexts;
pub use preview_notes::{PreviewNote, PreviewTexts, ServiceCost};
pub use problems::SettingsError;
pub use progress::progress;
pub use schedule_errors::{ScheduleError, UnknownZone};
pub use template::filled;
pub use timeline::TimelineTexts;
pub use tool_sentences::ToolSentence;
#[cfg(test)]
pub use tool_sentences::tool_sentence;

/// The commands that platforms offer in a menu; [`Messages::menu`] describes them.
pub const MENU: [&str; 8] = ["new", "stop", "status", "model", "grants", "whoami", "help", "panic"];

type Fmt1 = fn(&str) -> String;
type Fmt2 = fn(&str, &str) -> String;
type Fmt3 = fn(&str, &str, &str) -> String;

/// All texts for people, in one language. The arguments of the functions are already escaped for
/// Markdown.
pub struct Messages {
    // Approval requests.
    pub allowed_to_run: Fmt1,
    pub run_again: Fmt1,
    pub tool_sentence: fn(&'static ToolSentence) -> &'static str,
    pub argument_below: Fmt1,
    /// Name, length shown, total length, digest.
    pub argument_cut: fn(&str, &str, &str, &str) -> String,
    /// The scope of [`Self::allow_conversation`]: tool, requester.
    pub conversation_covers: Fmt2,
    /// Requester, deadline, code to type.
    pub asked_for: Fmt3,
    pub previews: PreviewTexts,
    pub allow_once: &'static str,
    pub allow_conversation: &'static str,
    /// The button that proposes a grant. The grant is shown before it is given.
    pub allow_always: &'static str,
    pub deny: &'static str,
    pub deny_with_reason: &'static str,
    pub again: &'static str,
    pub skip: &'static str,
    pub show_everything: &'static str,
    pub everything_sent: &'static str,
    pub everything_sent_before: &'static str,
    /// Shown below an approval request that omits something.
    pub not_all_shown: &'static str,
    /// The host as written, and as contacted.
    pub contacts_host: Fmt2,
    pub and_more_hosts: Fmt1,
    // Settled approvals.
    pub allowed_by: Fmt1,
    pub denied_by: Fmt1,
    pub expired_notice: &'static str,
    pub withdrawn_by: Fmt1,
    pub superseded_by: Fmt1,
    pub undeliverable: &'static str,
    pub still_open: &'static str,
    pub allowed: &'static str,
    pub denied: &'static str,
    pub expired: &'static str,
    pub withdrawn: &'static str,
    pub superseded: &'static str,
    pub already_allowed: Fmt1,
    pub already_denied: Fmt1,
    pub not_yours: &'static str,
    pub not_your_own: &'static str,
    pub not_for_you: &'static str,
    pub no_such_button: &'static str,
    pub nothing_pending: &'static str,
    pub which_one: &'static str,
    pub waiting_for_you: &'static str,
    /// The actor when an approval is withdrawn because a turn failed.
    pub the_bot: &'static str,
    /// Above the input field for a reason.
    pub why_not: &'static str,
    /// The reply to a button or command that is not valid.
    pub unreadable: &'static str,
    pub not_shown_yet: &'static str,
    // Commands and strangers.
    pub help: &'static str,
    /// Precedes the list of prompts in the help.
    pub help_prompts: &'static str,
    /// How the command of a prompt is written.
    pub prompt_usage: Fmt1,
    /// The name of a prompt, and its server's.
    pub prompt_failed: Fmt2,
    /// In the order of [`MENU`]; at most 100 characters each.
    pub menu: [&'static str; MENU.len()],
    pub stopped: &'static str,
    pub conversation_restarted: &'static str,
    pub paired: &'static str,
    pub paired_owner: &'static str,
    pub wrong_code: &'static str,
    pub locked: &'static str,
    pub stranger: Fmt1,
    pub unsupported: Fmt1,
    /// Name, id, channel, role.
    pub whoami: fn(&str, &str, &str, &str) -> String,
    pub pending_approvals: fn(usize) -> String,
    /// The names of sub-agents.
    pub at_work: Fmt1,
    /// The current model, all models.
    pub models: Fmt2,
    pub model_now: Fmt1,
    pub no_such_model: Fmt2,
    /// The required role.
    pub may_not: Fmt1,
    // Failed turns.
    pub reference: Fmt2,
    /// Reason, cause; only for owners.
    pub with_cause: Fmt2,
    pub no_answer: &'static str,
    pub model_unavailable: &'static str,
    pub model_refused: &'static str,
    pub model_too_long: &'static str,
    pub model_too_large: &'static str,
    pub model_filtered: &'static str,
    pub model_malformed_call: &'static str,
    pub model_failed: &'static str,
    pub broken: &'static str,
    pub out_of_steps: fn(u32) -> String,
    pub out_of_tokens: fn(u64) -> String,
    pub out_of_minutes: fn(i64) -> String,
    /// Added to the three above where the person can continue the turn.
    pub say_continue: &'static str,
    // Files.
    /// Shown below a message that may already have been delivered.
    pub possible_duplicate: &'static str,
    /// Shown below the file with a long answer.
    pub whole_answer: &'static str,
    pub file_missing: Fmt1,
    pub file_gone: Fmt1,
    /// Name, maximum size.
    pub file_too_large: Fmt2,
    pub not_transcribed: Fmt1,
    // Votes, grants, the halt; reasons for approvals.
    pub grant_texts: GrantTexts,
    pub linking: LinkingTexts,
    pub why: ReasonTexts,
    pub elicitation: ElicitationTexts,
    /// The due time of a reminder that is late.
    pub was_due: Fmt1,
    // Limits.
    pub repeated_result: Fmt1,
    pub unreadable_calls: &'static str,
    /// The last argument is the time until the reset.
    pub daily_limit_reached: fn(BudgetScope, UsedUp, &str) -> String,
    pub too_fast: fn(u64) -> String,
    pub page: PageTexts,
}

/// Escapes text from other sources, so that it is shown literally and nothing in it acts as
/// Markdown.
fn plain(text: &str) -> String {
    text::escape(&text::reveal(text))
}

fn choice(label: &str, button: Button) -> Choice {
    Choice { label: label.to_owned(), button }
}

/// The buttons that an approval can have in addition to those that it always has.
#[derive(Debug, Clone, Copy, Default)]
pub struct PossibleChoices {
    /// The call can be allowed for the rest of the conversation.
    pub conversation: bool,
    /// A grant can be given.
    pub grant: bool,
    /// Something is not shown and can be requested.
    pub everything: bool,
}

impl Messages {
    /// The first line of an approval, which remains when it is settled.
    pub fn approval_title(&self, asks: ApprovalPurpose, tool: &str) -> String {
        match asks {
            ApprovalPurpose::Allow => (self.allowed_to_run)(&text::escape(tool)),
            ApprovalPurpose::Retry => (self.run_again)(&text::escape(tool)),
            ApprovalPurpose::Answer => (self.elicitation.wants)(&text::escape(tool)),
        }
    }

    /// The buttons of an approval.
    pub fn choices(&self, asks: ApprovalPurpose, possible: PossibleChoices) -> Vec<Choice> {
        let PossibleChoices { conversation: here, grant: always, everything: cut } = possible;
        let all = match asks {
            ApprovalPurpose::Allow => vec![
                (true, self.allow_once, Button::Allow),
                (here, self.allow_conversation, Button::AllowConversation),
                (always, self.allow_always, Button::ProposeGrant),
                (true, self.deny, Button::Deny),
                (true, self.deny_with_reason, Button::DenyWithReason),
            ],
            ApprovalPurpose::Retry => {
                vec![(true, self.again, Button::RunAgain), (true, self.skip, Button::Skip)]
            }
            ApprovalPurpose::Answer => vec![(true, self.elicitation.no_answer, Button::Deny)],
        };
        let offered = all.into_iter().chain([(cut, self.show_everything, Button::ShowEverything)]);
        offered.filter(|(is, ..)| *is).map(|(_, label, button)| choice(label, button)).collect()
    }

    /// The text of a settled approval.
    pub fn settled(&self, status: Status, title: &str, by: &str) -> String {
        let end = match status {
            Status::Pending => return title.to_owned(),
            Status::Allowed => format!("✅ {}", (self.allowed_by)(&plain(by))),
            Status::Denied => format!("🚫 {}", (self.denied_by)(&plain(by))),
            Status::Expired => format!("⌛ {}", self.expired_notice),
            Status::Withdrawn => (self.withdrawn_by)(&plain(by)),
            Status::Superseded => (self.superseded_by)(&plain(by)),
            Status::Undeliverable => format!("🚫 {}", self.undeliverable),
        };
        format!("{title}\n\n{end}")
    }

    /// The ephemeral reply to a pressed button or a typed command.
    pub fn decided(&self, status: Status) -> &'static str {
        match status {
            Status::Pending => self.still_open,
            Status::Allowed => self.allowed,
            Status::Denied => self.denied,
            Status::Expired => self.expired,
            Status::Withdrawn => self.withdrawn,
            Status::Superseded => self.superseded,
            Status::Undeliverable => self.undeliverable,
        }
    }

    pub fn already_decided(&self, status: Status, by: Option<&str>) -> String {
        match (status, by) {
            (Status::Allowed, Some(by)) => (self.already_allowed)(by),
            (Status::Denied, Some(by)) => (self.already_denied)(by),
            (Status::Withdrawn, Some(by)) if !by.is_empty() => (self.withdrawn_by)(by),
            _ => self.decided(status).to_owned(),
        }
    }

    pub fn out_of_time(&self, time: TimeDelta) -> String {
        (self.out_of_minutes)(time.num_minutes())
    }

    pub fn stranger(&self, id: &str) -> String {
        (self.stranger)(&text::escape(id))
    }

    pub fn unsupported(&self, content: &str) -> String {
        (self.unsupported)(&text::escape(content))
    }

    pub fn whoami(&self, person: &Speaker, channel: &str, role: Role) -> String {
        let (name, id) = (plain(&person.name), text::escape(&person.id));
        (self.whoami)(&name, &id, &text::escape(channel), role.as_str())
    }

    /// Describes what the conversation waits for: people, and sub-agents by name.
    pub fn status(&self, open: &str, at_work: &[String]) -> String {
        match at_work {
            [] => open.to_owned(),
            agents => format!("{open}\n{}", (self.at_work)(&names(agents))),
        }
    }

    pub fn failed(&self, reason: &str, reference: &str) -> String {
        (self.reference)(reason, reference)
    }

    pub fn with_cause(&self, reason: &str, cause: &str) -> String {
        (self.with_cause)(reason, &text::escape(cause))
    }

    pub fn file_missing(&self, name: &str) -> String {
        (self.file_missing)(&plain(name))
    }

    pub fn prompt_failed(&self, prompt: &str, server: &str) -> String {
        (self.prompt_failed)(&plain(prompt), &plain(server))
    }

    pub fn file_gone(&self, name: &str) -> String {
        (self.file_gone)(&plain(name))
    }

    pub fn file_too_large(&self, name: &str, max_bytes: u64) -> String {
        (self.file_too_large)(&plain(name), &format!("{} MB", max_bytes / (1024 * 1024)))
    }

    /// The current model, and all models.
    pub fn models(&self, now: &str, all: &[String]) -> String {
        (self.models)(&text::escape(now), &names(all))
    }

    pub fn no_such_model(&self, name: &str, all: &[String]) -> String {
        (self.no_such_model)(&plain(name), &names(all))
    }
}

fn names(all: &[String]) -> String {
    all.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The first line of an approval that a sub-agent requests.
pub fn asked_by(agent: &str, title: &str) -> String {
    format!("{}: {title}", plain(agent))
}

/// The name of the file with the arguments of a call.
pub const EVERYTHING_NAME: &str = "arguments.json";
/// The name of the file with the arguments and the full preview.
pub const EVERYTHING_WITH_PREVIEW: &str = "approval.txt";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The first part of a tag names the language; unsupported languages become English.
    #[test]
    fn a_tag_names_a_language() {
        for (tag, language) in [
            (Some("de"), Language::German),
            (Some("de-AT"), Language::German),
            (Some("zh-hans"), Language::Chinese),
            (Some("es_MX"), Language::Spanish),
            (Some("tlh"), Language::English),
            (None, Language::English),
        ] {
            assert_eq!(Language::of(tag), language, "{tag:?}");
        }
    }

    /// All reasons and budget texts are translated.
    #[test]
    fn languages_differ_in_every_reason_and_budget() {
        let all = |language: Language| {
            let words = language.words();
            let doubts =
                UnclearReason::ALL.map(|doubt| (words.why.unclear_reason)(doubt).to_owned());
            let days =
                [BudgetScope::Person, BudgetScope::Conversation, BudgetScope::All].map(|whose| {
                    [UsedUp::Messages, UsedUp::Tokens, UsedUp::Money]
                        .map(|what| words.daily_limit_reached(whose, what, TimeDelta::hours(3)))
                });
            doubts.into_iter().chain(days.into_iter().flatten()).collect::<Vec<_>>()
        };
        let texts: Vec<_> = Language::ALL.into_iter().flat_map(all).collect();
        let different: BTreeSet<_> = texts.iter().collect();
        assert_eq!(different.len(), texts.len());
    }

    const LANGUAGES: [Language; 4] =
        [Language::English, Language::Chinese, Language::German, Language::Spanish];

    /// Commands are the same in all languages, because people type them.
    #[test]
    fn every_language_names_every_command() {
        for language in LANGUAGES {
            let words = language.words();
            for command in ["/new", "/stop", "/allow", "/always", "/deny", "/status", "/model"] {
                assert!(words.help.contains(command), "{language:?} {command}");
            }
            assert!(words.waiting_for_you.contains("/stop"));
            assert!(words.which_one.contains("/allow"));
            let ann = Speaker { id: "17".into(), name: "Ann".into() };
            let who = words.whoami(&ann, "tg", Role::Owner);
            assert!(["Ann", "17", "tg", "owner"].iter().all(|part| who.contains(part)), "{who}");
        }
    }

    /// Names and codes appear in each text that is about them.
    #[test]
    fn every_language_names_everything_it_is_given() {
        for language in LANGUAGES {
            let words = language.words();
            let terms = grants::GrantWords { whose: "whose", until: "until", uses: "uses" };
            for (one, part) in [
                (words.settled(Status::Allowed, "T", "Ann"), "Ann"),
                (words.settled(Status::Denied, "T", "Ann"), "Ann"),
                (words.settled(Status::Withdrawn, "T", "Ann"), "Ann"),
                (words.approval_title(ApprovalPurpose::Allow, "delete"), "delete"),
                (words.approval_title(ApprovalPurpose::Retry, "delete"), "delete"),
                (words.stranger("17"), "17"),
                (words.failed("Why", "ref"), "ref"),
                (words.with_cause("Why", "401"), "401"),
                ((words.pending_approvals)(12), "12"),
                (words.status("none", &["writer".into()]), "`writer`"),
                ((words.out_of_steps)(24), "24"),
                (words.file_too_large("a.zip", 20 * 1024 * 1024), "20 MB"),
                (words.no_such_model("x", &["big".into()]), "`big`"),
                ((words.repeated_result)("look"), "look"),
                ((words.too_fast)(7), "7"),
                ((words.was_due)("10:00"), "10:00"),
                ((words.elicitation.wants)("shop"), "shop"),
                ((words.elicitation.answered)("Ann", "red"), "Ann"),
                ((words.elicitation.answered)("Ann", "red"), "red"),
                ((words.elicitation.type_it)("1a2b"), "/answer 1a2b"),
                ((words.elicitation.omitted)("colour"), "colour"),
                (words.auto_declined("shop", AutoDecline::Secret), "shop"),
                (
                    words.auto_declined("shop", AutoDecline::TooMuch),
                    words.elicitation.wants_too_much,
                ),
                (words.votes(&["Ann".into()], 2), "Ann"),
                (words.votes(&["Ann".into()], 2), "2"),
                ((words.grant_texts.halted)(12), "/panic off"),
                ((words.grant_texts.type_yes)("1a2b"), "/always 1a2b yes"),
                (words.grant_texts.grants_usage.into(), "/grants revoke"),
                ((words.grant_texts.line)(&terms, "Ann"), "Ann"),
                (words.ruled(Some("mail"), Some(UnclearReason::Script), Some("rm")), "(`rm`)"),
                (
                    words.daily_limit_reached(BudgetScope::All, UsedUp::Money, TimeDelta::hours(3)),
                    "3 h",
                ),
                (words.tainted(&["page".into()]), "page"),
                ((words.argument_cut)("n", "1", "2", "digest"), "digest"),
                ((words.contacts_host)("`a`", "`b`"), "`b`"),
                ((words.and_more_hosts)("12"), "12"),
                ((words.asked_for)("Ann", "10:00", "1a2b"), "1a2b"),
                ((words.conversation_covers)("delete", "Ann"), "delete"),
                ((words.conversation_covers)("delete", "Ann"), "Ann"),
                ((words.conversation_covers)("delete", "Ann"), words.allow_conversation),
            ] {
                assert!(one.contains(part), "{language:?}: {one}");
            }
        }
    }
}
