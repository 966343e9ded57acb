//! Collects dropped content, so that each kind of loss is reported in one sentence.

use std::collections::BTreeSet;

use crate::budgets::NESTING;

/// The number of examples per sentence.
const EXAMPLES: usize = 5;

#[derive(Debug, Default)]
pub struct Losses {
    controls: usize,
    tags: BTreeSet<String>,
    links: Vec<String>,
    deep: bool,
    others: Vec<String>,
}

impl Losses {
    pub fn controls(&mut self, removed: usize) {
        self.controls += removed;
    }

    pub fn tag(&mut self, name: &str) {
        self.tags.insert(name.to_owned());
    }

    pub fn link(&mut self, url: &str) {
        self.links.push(url.chars().take(60).collect());
    }

    pub fn deep(&mut self) {
        self.deep = true;
    }

    pub fn other(&mut self, sentence: String) {
        if !self.others.contains(&sentence) {
            self.others.push(sentence);
        }
    }

    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = self.others.clone();
        if self.controls > 0 {
            sentences.push(format!("{} control characters were removed.", self.controls));
        }
        if !self.tags.is_empty() {
            let tags: Vec<&str> = self.tags.iter().map(String::as_str).collect();
            sentences.push(format!(
                "HTML is not supported; only its text was kept: {}.",
                examples(&tags, tags.len())
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
        sentences
    }
}

fn examples(all: &[&str], count: usize) -> String {
    let named = all[..count.min(EXAMPLES)].join(", ");
    if count > EXAMPLES { format!("{named} and {} more", count - EXAMPLES) } else { named }
}
