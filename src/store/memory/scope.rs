//! The scope of memories.

/// The scope of memories: an agent, and one chat or, if `scope` is empty, all chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryScope {
    pub agent: String,
    pub scope: String,
}
