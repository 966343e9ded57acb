//! Warnings about lost content: one sentence each, without duplicates.

/// Sentences for the user and the model, in the order in which they were added.
#[derive(Debug, Default, Clone)]
pub struct Warnings {
    said: Vec<String>,
    unsaid: usize,
}

/// The maximum number of sentences. Further ones are only counted.
const MAX_WARNINGS: usize = 50;

impl Warnings {
    pub fn from(said: &[String]) -> Self {
        Self { said: said.to_vec(), unsaid: 0 }
    }

    pub fn say(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.said.contains(&sentence) {
            return;
        }
        if self.said.len() < MAX_WARNINGS {
            self.said.push(sentence);
        } else {
            self.unsaid += 1;
        }
    }

    pub fn finish(mut self, dropped: usize) -> Vec<String> {
        if dropped > 0 {
            self.said.push(format!(
                "{dropped} control character(s) were removed, because Office files cannot contain them."
            ));
        }
        if self.unsaid > 0 {
            self.said.push(format!("{} more warning(s) are not listed.", self.unsaid));
        }
        self.said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_loss_is_said_once_and_many_are_counted() {
        let mut warnings = Warnings::default();
        warnings.say("a");
        warnings.say("a");
        for n in 0..60 {
            warnings.say(format!("loss {n}"));
        }
        let said = warnings.finish(2);
        assert_eq!(said.iter().filter(|s| *s == "a").count(), 1);
        assert_eq!(said.last().unwrap(), "11 more warning(s) are not listed.");
        assert!(said.iter().any(|s| s.starts_with("2 control")));
    }
}
