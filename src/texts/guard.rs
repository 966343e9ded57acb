//! The reasons why an approval is required: plain text, which the approval escapes.

use channels::text;
use std::fmt::Write as _;

use super::{Fmt1, Fmt2, Messages, approval::shortened};

/// The reason why rules cannot be applied to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnclearReason {
    /// The value that the rule checks is missing, or is only known at run time.
    NotThere,
    NoCommand,
    NoShell,
    TooMany,
    TooDeep,
    /// `[[`, `((` and `$'` start programs in one shell that are plain text in another.
    OtherShells,
    PipedGroup,
    Word,
    Braces,
    Variable,
    Program,
    Script,
    /// An option or a built-in language of a program can start other programs.
    Starts,
}

impl UnclearReason {
    pub const ALL: [Self; 13] = [
        Self::NotThere,
        Self::NoCommand,
        Self::NoShell,
        Self::TooMany,
        Self::TooDeep,
        Self::OtherShells,
        Self::PipedGroup,
        Self::Word,
        Self::Braces,
        Self::Variable,
        Self::Program,
        Self::Script,
        Self::Starts,
    ];
}

pub struct ReasonTexts {
    pub rule_asks: Fmt1,
    pub rule_unclear: Fmt2,
    pub unclear: Fmt1,
    pub unclear_reason: fn(UnclearReason) -> &'static str,
    pub no_rule: &'static str,
    pub full_stop: &'static str,
    pub outside: Fmt1,
    pub read_untrusted_content: Fmt1,
    pub and_more: fn(usize) -> String,
    pub always_asks: Fmt1,
    pub changes: Fmt1,
    pub required: Fmt1,
    pub outcome_unknown: &'static str,
    pub severity_high: &'static str,
    pub severity_critical: &'static str,
}

/// The source of forwarded or quoted text.
pub fn source_sentence(who: &str) -> String {
    format!("a message from {who}")
}

impl Messages {
    /// The rule that requires approval, or the reason why no rule could be applied, and the program
    /// concerned.
    pub fn ruled(
        &self,
        rule: Option<&str>,
        unclear: Option<UnclearReason>,
        program: Option<&str>,
    ) -> String {
        let words = &self.why;
        let mut why = match (rule, unclear) {
            (Some(rule), None) => (words.rule_asks)(rule),
            (Some(rule), Some(unclear)) => {
                (words.rule_unclear)(rule, (words.unclear_reason)(unclear))
            }
            (None, Some(unclear)) => (words.unclear)((words.unclear_reason)(unclear)),
            (None, None) => words.no_rule.to_owned(),
        };
        if let Some(program) = program {
            let short = shortened(&program.replace('`', ""), 120);
            let _ = write!(why, " (`{}`)", text::reveal(&short).replace('\n', " "));
        }
        why + words.full_stop
    }

    /// Describes the untrusted content that a conversation contains.
    pub fn tainted(&self, sources: &[String]) -> String {
        let shown = sources
            .iter()
            .rev()
            .take(5)
            .map(|source| text::reveal(&shortened(source, 80)).replace('\n', " "));
        let mut shown = shown.collect::<Vec<_>>().join(", ");
        let more = sources.len().saturating_sub(5);
        if more > 0 {
            shown += &(self.why.and_more)(more);
        }
        format!("\u{26a0}\u{fe0f} {}", (self.why.read_untrusted_content)(&shown))
    }
}
