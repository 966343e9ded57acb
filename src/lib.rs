//! Countersign: a gateway between chat platforms and an LLM agent that asks before it acts.
//!
//! > A channel turns an update into an **Incoming**; the gateway records it as an **Event**; the
//! > events fold into a **Session**; the agent, which is pure, looks at the session and names the
//! > next **Effect**; the worker carries it out and records the result as the next **Event**, or
//! > puts an **Outgoing** into the outbox; a channel sends it.
//!
//! Dependencies run one way; a folder may use the folders to its left:
//!
//! ```text
//! channels renderers sandbox | clock crash tls retry_after encryption journal texts | agent | store | llm | tools | gateway | worker | admin | config | telemetry | app | cli | testing
//! ```
//!
//! Programs that embed the gateway use the public modules; all others are private, so that the
//! compiler reports what nothing uses.

// `#[tool]` refers to this crate by its external name.
extern crate self as countersign;

mod admin;
mod agent;
pub mod app;
pub mod cli;
mod clock;
pub mod config;
mod crash;
mod encryption;
mod gateway;
mod journal;
pub mod llm;
mod retry_after;
mod store;
mod telemetry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod texts;
mod tls;
pub mod tools;
mod worker;
