//! Warnings about lost content: one sentence each, without duplicates.

/// Sentences for the user and the model, in the order in which they were added.
#[derive(Debug, Default, Clone)]
pub struct Warnings {
    listed: Vec<String>,
    unlisted: usize,
}

/// The maximum number of sentences. Further ones are only counted.
const MAX_WARNINGS: usize = 50;

impl Warnings {
    pub fn from(listed: &[String]) -> Self {
        Self { listed: listed.to_vec(), unlisted: 0 }
    }

    pub fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.listed.contains(&sentence) {
            return;
        }
        if self.listed.len() < MAX_WARNINGS {
            self.listed.push(sentence);
        } else {
            self.unlisted += 1;
        }
    }

    pub fn finish(mut self, dropped: usize) -> Vec<String> {
        if dropped > 0 {
            self.listed.push(format!(
                "{dropped} control character(s) were removed, because Office files cannot contain them."
            ));
        }
        if self.unlisted > 0 {
            self.listed.push(format!("{} more warning(s) are not listed.", self.unlisted));
        }
        self.listed
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
        for n in 0..60 {
            warnings.add(format!("loss {n}"));
        }
        let listed = warnings.finish(2);
        assert_eq!(listed.iter().filter(|s| *s == "a").count(), 1);
        assert_eq!(listed.last().unwrap(), "11 more warning(s) are not listed.");
        assert!(listed.iter().any(|s| s.starts_with("2 control")));
    }
}
