//! Warnings about lost content: one sentence each, without duplicates.

use std::collections::HashSet;

/// Sentences for the user and the model, in the order in which they were added.
#[derive(Debug, Default, Clone)]
pub struct Warnings {
    listed: Vec<String>,
    /// The number of those that were there before.
    inherited: usize,
    /// All sentences, listed or not.
    seen: HashSet<String>,
    unlisted: usize,
}

/// The maximum number of sentences that are added. Further ones are only counted.
const MAX_WARNINGS: usize = 50;

impl Warnings {
    pub fn from(listed: &[String]) -> Self {
        let seen = listed.iter().cloned().collect();
        Self { listed: listed.to_vec(), inherited: listed.len(), seen, unlisted: 0 }
    }

    pub fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.seen.contains(&sentence) {
            return;
        }
        if self.listed.len() < self.inherited + MAX_WARNINGS {
            self.listed.push(sentence.clone());
        } else {
            self.unlisted += 1;
        }
        self.seen.insert(sentence);
    }

    /// The sentences, with one that counts those that are not listed.
    pub fn sentences(&self) -> Vec<String> {
        let more = format!("{} more warning(s) are not listed.", self.unlisted);
        let mut sentences = self.listed.clone();
        sentences.extend((self.unlisted > 0).then_some(more));
        sentences
    }

    pub fn finish(mut self, dropped: usize) -> Vec<String> {
        if dropped > 0 {
            self.listed.push(format!(
                "{dropped} control character(s) were removed, because Office files cannot contain them."
            ));
        }
        self.sentences()
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
        assert_eq!(listed.iter().filter(|s| *s == "a").count(), 1);
        assert_eq!(listed.last().unwrap(), "11 more warning(s) are not listed.");
        assert!(listed.iter().any(|s| s.starts_with("2 control")));
    }

    #[test]
    fn earlier_sentences_leave_room_for_others() {
        let earlier: Vec<String> = (0..60).map(|n| format!("loss {n}")).collect();
        let mut warnings = Warnings::from(&earlier);
        for sentence in ["loss 3", "another"] {
            warnings.add(sentence);
        }
        assert_eq!(warnings.sentences(), [&earlier[..], &["another".to_owned()]].concat());
    }
}
