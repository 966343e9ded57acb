//! Warnings about lost content, without duplicates.

use std::collections::HashSet;

use crate::counted::counted;
use crate::rendered::Warning;

/// Warnings, in the order in which they were added.
#[derive(Debug, Default, Clone)]
pub struct Warnings {
    listed: Vec<Warning>,
    /// The number of those that were there before.
    inherited: usize,
    /// All warnings, listed or not.
    seen: HashSet<Warning>,
    unlisted: usize,
}

/// The maximum number of warnings that are added. Further ones are only counted.
const MAX_WARNINGS: usize = 50;

impl Warnings {
    pub fn from(listed: &[Warning]) -> Self {
        let seen = listed.iter().cloned().collect();
        Self { listed: listed.to_vec(), inherited: listed.len(), seen, unlisted: 0 }
    }

    pub fn add(&mut self, warning: impl Into<Warning>) {
        let warning = warning.into();
        if self.seen.contains(&warning) {
            return;
        }
        if self.listed.len() < self.inherited + MAX_WARNINGS {
            self.listed.push(warning.clone());
        } else {
            self.unlisted += 1;
        }
        self.seen.insert(warning);
    }

    /// The warnings, with one that counts those that are not listed.
    pub fn list(&self) -> Vec<Warning> {
        let (one, several) = ("more warning is not listed.", "more warnings are not listed.");
        let more = counted(self.unlisted, one, several);
        let mut warnings = self.listed.clone();
        warnings.extend((self.unlisted > 0).then(|| more.into()));
        warnings
    }

    pub fn finish(mut self, dropped: usize) -> Vec<Warning> {
        if dropped > 0 {
            let characters = counted(
                dropped,
                "control character was removed",
                "control characters were removed",
            );
            let warning = format!("{characters}, because Office files cannot contain them.");
            self.listed.push(warning.into());
        }
        self.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_loss_is_said_once_and_many_are_counted() {
        let mut warnings = Warnings::default();
        warnings.add("a");
        warnings.add("a");
        for _ in 0..2 {
            (0..60).for_each(|n| warnings.add(format!("loss {n}")));
        }
        let listed = warnings.finish(2);
        assert_eq!(listed.iter().filter(|s| **s == "a").count(), 1);
        assert_eq!(*listed.last().unwrap(), "11 more warnings are not listed.");
        assert!(listed.iter().any(|s| s.to_string().starts_with("2 control")));
    }

    #[test]
    fn earlier_sentences_leave_room_for_others() {
        let earlier: Vec<Warning> = (0..60).map(|n| format!("loss {n}").into()).collect();
        let mut warnings = Warnings::from(&earlier);
        for sentence in ["loss 3", "another"] {
            warnings.add(sentence);
        }
        assert_eq!(warnings.list(), [&earlier[..], &["another".into()]].concat());
    }
}
