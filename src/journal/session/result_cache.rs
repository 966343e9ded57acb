//! Results of calls, and the reuse of a result when the same call is made again.

use std::collections::BTreeSet;

use crate::journal::{
    event::{Call, Outcome, ToolResult},
    ids::CallId,
    session::{Item, Session},
};

impl Session {
    /// Records the result of a call and its effects on the session.
    pub(super) fn finished(&mut self, id: &CallId, result: &ToolResult) {
        let open = self.open_calls().find(|c| c.call.id == *id);
        if let Some(tool) = open.map(|open| open.call.tool.clone()) {
            self.end(id, &result.text);
            if result.has_run() {
                *self.used.entry(tool).or_default() += 1;
            }
        }
        if result.outcome == Outcome::Done {
            self.done.insert(id.clone());
            if result.is_answer {
                self.answers.insert(id.clone());
            }
            if result.uncached {
                self.uncached.insert(id.clone());
            }
            self.show_pictures(&result.views);
            for seen in &result.seen {
                self.seen.insert(seen.path.clone(), seen.digest.clone());
                if self.taint.is_empty() {
                    self.untrusted.remove(&seen.path);
                } else {
                    self.untrusted.insert(seen.path.clone());
                }
            }
        }
    }

    /// The calls of the model and their results, newest first.
    fn results(&self) -> impl Iterator<Item = (&Call, &str)> {
        let calls = self.items.iter().rev().filter_map(|item| match item {
            Item::Replied { calls, .. } => Some(calls.iter().rev()),
            _ => None,
        });
        calls.flatten().filter_map(|made| Some((&made.call, made.result.as_deref()?)))
    }

    /// An identical call that has run and whose result the model still sees.
    pub fn done_before(&self, call: &Call) -> Option<&CallId> {
        let same = |made: &Call| made.tool == call.tool && made.arguments == call.arguments;
        let mut before = self.results().map(|(made, _)| made);
        let reusable = |id: &CallId| self.done.contains(id) && !self.uncached.contains(id);
        before.find(|made| same(made) && reusable(&made.id)).map(|made| &made.id)
    }

    /// The result of the first matching call of the last reply.
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

    /// Drops the outcomes of calls that no item shows any more.
    pub(super) fn forget_unseen_calls(&mut self) {
        let seen: BTreeSet<_> = self
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Replied { calls, .. } => Some(calls),
                _ => None,
            })
            .flatten()
            .map(|made| &made.call.id)
            .collect();
        let (answers, uncached) = (&mut self.answers, &mut self.uncached);
        for ids in [&mut self.done, answers, uncached] {
            ids.retain(|id| seen.contains(id));
        }
    }
}
