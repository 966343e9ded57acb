//! Where memories lie.

/// Whose memories: an agent's, of one chat or, where the scope is empty, of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryScope {
    pub agent: String,
    pub scope: String,
}
