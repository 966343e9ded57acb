//! The message id that represents a command invocation: `i:ID:APPLICATION:TOKEN`.

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
        let first = message.strip_prefix("i:");
        let mut parts = first.or_else(|| message.strip_prefix("f:"))?.splitn(4, ':');
        Some(Self {
            id: parts.next()?,
            application: parts.next()?,
            token: parts.next()?,
            private: parts.next() == Some(PRIVATE),
            goes_on: first.is_none(),
        })
    }
}

const PRIVATE: &str = "private";

/// The message id for an invocation.
pub(super) fn call(private: bool, [id, application, token]: [&str; 3]) -> String {
    let private = if private { format!(":{PRIVATE}") } else { String::new() };
    format!("i:{id}:{application}:{token}{private}")
}
