//! What the id of a message refers to.

use std::fmt;

/// What the id of a message refers to: a message of the platform, or the invocation of a native
/// command, which some platforms answer differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRef<'a> {
    /// A message with this id.
    Message(&'a str),
    /// The invocation of a command, in the platform's terms.
    Command(&'a str),
    /// The same, for the further parts of its answer.
    CommandFollowUp(&'a str),
}

const COMMAND: &str = "i:";
const FOLLOW_UP: &str = "f:";

impl<'a> MessageRef<'a> {
    /// Reads an id. Every text is one: without a known prefix, it is a message of the platform.
    pub fn parse(id: &'a str) -> Self {
        let command = id.strip_prefix(COMMAND).map(Self::Command);
        let follow_up = || id.strip_prefix(FOLLOW_UP).map(Self::CommandFollowUp);
        command.or_else(follow_up).unwrap_or(Self::Message(id))
    }
}

impl fmt::Display for MessageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(id) => f.write_str(id),
            Self::Command(call) => write!(f, "{COMMAND}{call}"),
            Self::CommandFollowUp(call) => write!(f, "{FOLLOW_UP}{call}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        for (id, is) in [
            ("4711", MessageRef::Message("4711")),
            ("", MessageRef::Message("")),
            ("i:1:2:token", MessageRef::Command("1:2:token")),
            ("f:1:2:token", MessageRef::CommandFollowUp("1:2:token")),
        ] {
            assert_eq!(MessageRef::parse(id), is);
            assert_eq!(is.to_string(), id);
        }
    }
}
