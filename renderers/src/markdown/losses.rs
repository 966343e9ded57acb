//! Collects dropped content, so that each kind of loss is reported in one sentence.

use std::collections::BTreeSet;

use crate::{budgets::NESTING, counted::counted, package::warnings::Warnings, rendered::Warning};

/// The number of examples per sentence.
const EXAMPLES: usize = 5;

#[derive(Debug, Default)]
pub struct Losses {
    controls: usize,
    tags: BTreeSet<String>,
    components: BTreeSet<String>,
    links: Vec<String>,
    deep: bool,
    others: Warnings,
}

impl Losses {
    pub fn controls(&mut self, removed: usize) {
        self.controls += removed;
    }

    pub fn tag(&mut self, name: &str) {
        self.tags.insert(name.to_owned());
    }

    pub fn component(&mut self, name: &str) {
        self.components.insert(name.to_owned());
    }

    pub fn link(&mut self, url: &str) {
        self.links.push(url.chars().take(60).collect());
    }

    pub fn deep(&mut self) {
        self.deep = true;
    }

    pub fn other(&mut self, sentence: String) {
        self.others.add(sentence);
    }

    pub fn warnings(&self) -> Vec<Warning> {
        let mut sentences = Vec::new();
        if self.controls > 0 {
            let (one, several) =
                ("control character was removed.", "control characters were removed.");
            sentences.push(counted(self.controls, one, several));
        }
        if !self.tags.is_empty() {
            let tags: Vec<&str> = self.tags.iter().map(String::as_str).collect();
            sentences.push(format!(
                "HTML is not supported; only its text was kept: {}.",
                examples(&tags, tags.len())
            ));
        }
        if !self.components.is_empty() {
            let names: Vec<&str> = self.components.iter().map(String::as_str).collect();
            sentences.push(format!(
                "Components have no content here and were removed: {}.",
                examples(&names, names.len())
            ));
        }
        if !self.links.is_empty() {
            let links: Vec<&str> = self.links.iter().map(String::as_str).collect();
            sentences.push(format!(
                "These links became plain text, because only https, http, mailto, tel and #anchors \
                 of at most 2,000 characters are kept: {}.",
                examples(&links, links.len())
            ));
        }
        if self.deep {
            sentences
                .push(format!("Content nested deeper than {NESTING} levels became plain text."));
        }
        let mut warnings = self.others.list();
        warnings.extend(sentences.into_iter().map(Warning::from));
        warnings
    }
}

fn examples(all: &[&str], count: usize) -> String {
    let named = all[..count.min(EXAMPLES)].join(", ");
    if count > EXAMPLES { format!("{named} and {} more", count - EXAMPLES) } else { named }
}

#[cfg(test)]
mod tests {
    use crate::markdown;

    #[test]
    fn many_different_losses_are_counted() {
        let picture = |at: usize| format!("![a](x{at}.png){{height=50%}}\n\n");
        let warnings =
            markdown::read(&(0..40_000).map(picture).collect::<String>()).unwrap().warnings;
        assert_eq!(warnings.len(), 51);
        assert_eq!(warnings[50], "39950 more warnings are not listed.");
    }
}
