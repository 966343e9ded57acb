//! Results that are used once more: for the same call again, for the person as they are.

use std::collections::BTreeSet;

use crate::journal::{
    event::Call,
    ids::CallId,
    session::{Item, Session},
};

impl Session {
    /// What the model has called and what came of it, the newest first.
    fn results(&self) -> impl Iterator<Item = (&Call, &str)> {
        let calls = self.items.iter().rev().filter_map(|item| match item {
            Item::Replied { calls, .. } => Some(calls.iter().rev()),
            _ => None,
        });
        calls.flatten().filter_map(|(call, result)| Some((call, result.as_deref()?)))
    }

    /// The very same call, if it has been done before and its result can still be read.
    pub fn done_before(&self, call: &Call) -> Option<&CallId> {
        let same = |made: &Call| made.tool == call.tool && made.arguments == call.arguments;
        let mut before = self.results().map(|(made, _)| made);
        before.find(|made| same(made) && self.done.contains(&made.id)).map(|made| &made.id)
    }

    /// The result of the last reply's call that this holds for.
    pub fn result_of(&self, wanted: impl Fn(&Call) -> bool) -> Option<&str> {
        let last = |call: &Call| self.calls.iter().any(|open| open.call.id == call.id);
        let mut results = self.results().filter(|(call, _)| last(call));
        results.find(|(call, _)| wanted(call)).map(|(_, result)| result)
    }

    pub(super) fn reuse(&mut self, call: &CallId, from: &CallId) {
        let found = self.results().find(|(made, _)| made.id == *from);
        if let Some(text) = found.map(|(_, result)| result.to_owned()) {
            self.done.insert(call.clone());
            self.end(call, &text);
        }
    }

    /// Of a call that no item shows any more, nothing refers to the outcome.
    pub(super) fn forget_unseen_calls(&mut self) {
        let seen: BTreeSet<_> = self
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Replied { calls, .. } => Some(calls),
                _ => None,
            })
            .flatten()
            .map(|(call, _)| &call.id)
            .collect();
        self.done.retain(|id| seen.contains(id));
    }
}
