//! Decides: pure functions of (session, policy, now). No I/O, no clock.
//!
//! - [`next`]: the next effect; read this first
//! - [`guard`]: whether a call may run; the only place that can allow one
//! - [`policy`]: what runs, what asks whom, what is forbidden, as data
//! - [`advice`]: settings that are weaker than they look
//! - [`approvers`]: who may decide a question; [`exclusion`]: calls that are denied to a person
//! - [`rules`]: rules as they are written, and the set that comes with the program
//! - [`rule_import`]: rules of other programs
//! - [`shell`]: command lines as the programs that they start
//! - [`named_files`]: which files they read
//! - [`taint`]: what other people's words have to do with it
//! - [`grants`]: which calls a lasting leave covers
//! - [`delegation`]: work for other agents
//! - [`spec`]: what a tool tells about itself; [`catalog`]: the tools and skills there are
//! - [`disclosure`], [`tool_listing`], [`search`]: how the model comes to know of them
//! - [`naming`]: which tool a name means
//! - [`prompt`]: what the model is given
//! - [`compact`], [`limits`]: when to summarise, when to stop
//! - [`hooks`]: what an operator has done before and after thinking and acting, as data
//! - [`redact`]: finds secrets in texts
//! - [`schedule_rule`]: when something that was scheduled is due
//! - [`paths`]: workspace paths as rules and tools see them

pub mod advice;
pub mod approvers;
pub mod catalog;
pub mod compact;
pub mod delegation;
pub mod disclosure;
pub mod exclusion;
pub mod grants;
pub mod guard;
pub mod hooks;
pub mod limits;
pub mod named_files;
pub mod naming;
pub mod next;
pub mod paths;
pub mod policy;
pub mod prompt;
pub mod redact;
pub mod rule_import;
pub mod rules;
pub mod schedule_rule;
pub mod search;
pub mod shell;
pub mod spec;
pub mod taint;
pub mod tool_listing;

use catalog::Catalog;
use limits::Budget;
use policy::Policy;

/// Everything that decides besides the session: one agent as it is configured.
#[derive(Debug, Clone)]
pub struct Agent {
    pub id: String,
    /// Which model thinks.
    pub model: String,
    pub system_prompt: String,
    pub catalog: Catalog,
    pub policy: Policy,
    pub budget: Budget,
}
