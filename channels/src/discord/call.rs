//! A command invocation as a message id: `ID:APPLICATION:TOKEN` in a [`MessageRef::Command`].

use crate::MessageRef;

/// A command invocation.
pub(super) struct Call<'a> {
    pub id: &'a str,
    pub application: &'a str,
    pub token: &'a str,
    /// Whether only the person who invoked it sees the answer.
    pub private: bool,
    /// Whether the first part of the answer was already sent.
    pub goes_on: bool,
}

impl<'a> Call<'a> {
    pub(super) fn of(message: &'a str) -> Option<Self> {
        let (call, goes_on) = match MessageRef::parse(message) {
            MessageRef::Command(call) => (call, false),
            MessageRef::CommandFollowUp(call) => (call, true),
            MessageRef::Message(_) => return None,
        };
        let mut parts = call.splitn(4, ':');
        Some(Self {
            id: parts.next()?,
            application: parts.next()?,
            token: parts.next()?,
            private: parts.next() == Some(PRIVATE),
            goes_on,
        })
    }

    /// The message id for an invocation that has no answer yet.
    pub(super) fn message_id(&self) -> String {
        let Self { id, application, token, private, .. } = self;
        let private = if *private { format!(":{PRIVATE}") } else { String::new() };
        MessageRef::Command(&format!("{id}:{application}:{token}{private}")).to_string()
    }
}

const PRIVATE: &str = "private";
