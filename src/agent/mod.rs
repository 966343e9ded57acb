//! Decides: pure functions of (session, policy, now). No I/O, no clock.
//!
//! - [`next`]: the next effect; start reading here
//! - [`guard`]: whether a call may run; the only place that can clear one
//! - [`canonical_json`]: what digests are made of
//! - [`policy`]: rules, defaults and approvers, as data; [`severity`]: how serious a call is
//! - [`advice`]: warnings about weak settings
//! - [`approvers`]: who can decide an approval; [`exclusion`]: calls that are denied to a person
//! - [`required_approval`]: approvals that the operator requires of more tools
//! - [`rules`]: rules as written, and the shipped rules
//! - [`rule_import`]: rules of other programs
//! - [`shell`]: parses command lines into the programs that they start
//! - [`named_files`]: the files that command lines read
//! - [`taint`]: what happens after untrusted content was read
//! - [`grants`]: which calls a grant covers
//! - [`delegation`]: delegating work to sub-agents
//! - [`spec`]: the properties of a tool; [`catalog`]: tools and skills
//! - [`argument_check`]: whether arguments match the schema of their tool
//! - [`disclosure`], [`tool_listing`], [`tool_family`], [`search`]: how the model learns about them
//! - [`naming`]: tool names
//! - [`prompt`]: the prompt
//! - [`compact`], [`limits`]: when to summarise, when to stop
//! - [`hooks`]: hooks of the operator, as data
//! - [`redact`]: finds secrets in texts
//! - [`schedule_rule`]: when a schedule is due
//! - [`paths`]: workspace paths as rules and tools see them

pub mod advice;
pub mod approvers;
pub mod argument_check;
pub mod canonical_json;
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
pub mod required_approval;
pub mod rule_import;
pub mod rules;
pub mod schedule_rule;
pub mod search;
pub mod severity;
pub mod shell;
pub mod spec;
pub mod taint;
pub mod tool_family;
pub mod tool_listing;

use catalog::Catalog;
use limits::Budget;
use policy::Policy;

/// The configuration of one agent. Together with the session it determines every decision.
#[derive(Debug, Clone)]
pub struct Agent {
    pub id: String,
    /// The model's id.
    pub model: String,
    pub system_prompt: String,
    pub catalog: Catalog,
    pub policy: Policy,
    pub budget: Budget,
}
