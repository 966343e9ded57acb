//! Ids as types, so that one is never taken for another.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// A new one, that sorts after all that were made before it.
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
    /// A dialogue of one place with one bot account.
    ConversationId
);
id!(
    /// A call of a tool, made by us: the model's own ids are not unique enough to act on.
    CallId
);
id!(
    /// A question put to a person.
    ApprovalId
);
id!(
    /// Leave that a person has given for calls to come.
    GrantId
);
id!(
    /// Something that is to happen later.
    ScheduleId
);
id!(
    /// A row of the outbox.
    OutboxId
);
id!(
    /// One process, from its start to its end.
    NodeId
);
