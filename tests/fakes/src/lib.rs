//! Small platforms with state: what the gateway's tests talk to.

pub mod llm;
