//! Ids as newtypes, so that they cannot be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Creates an id that sorts after all earlier ones.
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7().simple().to_string())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }
    };
}

id!(
    /// The dialogue of one place with one bot account.
    ConversationId
);
id!(
    /// A tool call. Assigned by the gateway, because the ids that models assign are not unique.
    CallId
);
id!(
    /// An approval.
    ApprovalId
);
id!(
    /// A background job: the call that created it.
    JobId
);

impl JobId {
    /// The last part of the id, which people and models use to name the job.
    pub fn code(&self) -> &str {
        &self.0[self.0.len().saturating_sub(8)..]
    }
}

id!(
    /// A grant.
    GrantId
);
id!(
    /// A schedule.
    ScheduleId
);
id!(
    /// A row of the outbox.
    OutboxId
);
id!(
    /// One process, from start to exit.
    NodeId
);

/// The reference of a failed turn, as shown to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureReference {
    pub conversation: ConversationId,
    /// The number of the last event that the turn had read.
    pub upto: i64,
}

impl FailureReference {
    pub fn parse(text: &str) -> Option<Self> {
        let (conversation, upto) = text.trim().rsplit_once('-')?;
        Some(Self { conversation: conversation.into(), upto: upto.parse().ok()? })
    }
}

impl fmt::Display for FailureReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.conversation, self.upto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_the_conversation_and_the_turn() {
        let reference = FailureReference { conversation: ConversationId::new(), upto: 17 };
        let shown = reference.to_string();
        assert!(shown.ends_with("-17"), "{shown}");
        assert_eq!(FailureReference::parse(&format!(" {shown} ")), Some(reference));
        assert_eq!(FailureReference::parse(&shown.replace('-', "")), None);
        assert_eq!(FailureReference::parse("a-b"), None);
    }
}
