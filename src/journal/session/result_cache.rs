//! Reuse of earlier results when the same call is made again.

use std::collections::BTreeSet;

use crate::journal::{
    event::Call,
    ids::CallId,
    session::{Item, Session},
};

impl Session {
    /// The calls of the model and their results, newest first.
    fn results(&self) -> impl Iterator<Item = (&Call, &str)> {
        let calls = self.items.iter().rev().filter_map(|item| match item {
            Item::Replied { calls, .. } => Some(calls.iter().rev()),
            _ => None,
        });
        calls.flatten().filter_map(|(call, result)| Some((call, result.as_deref()?)))
    }

    /// An identical call that has already run and whose result is still visible.
    pub fn done_before(&self, call: &Call) -> Option<&CallId> {
        let same = |made: &Call| made.tool == call.tool && made.arguments == call.arguments;
        let mut before = self.results().map(|(made, _)| made);
        before.find(|made| same(made) && self.done.contains(&made.id)).map(|made| &made.id)
    }

    /// The result of the first call of the last reply that matches.
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

    /// The outcome of a call is no longer needed when no item shows the call.
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
