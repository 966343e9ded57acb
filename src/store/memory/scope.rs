//! The scope of memories.

/// Whose memories: those of an agent, for one chat or, if `scope` is empty, for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryScope {
    pub agent: String,
    pub scope: String,
}
