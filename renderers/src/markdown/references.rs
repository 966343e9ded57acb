//! Reference links beyond the limit of comrak.
//!
//! comrak expands reference links only up to the length of the source, and to 100 kB, so that a small
//! source cannot make a huge document. A short text with long addresses loses links by that. Here the
//! limit is the longer of both; what exceeds it is reported.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use comrak::nodes::{Node, NodeValue};
use comrak::options::{BrokenLinkCallback, BrokenLinkReference};
use comrak::{Arena, Options, ResolvedReference};

use super::clean;
use super::losses::Losses;

/// The number of bytes to which reference links may expand, if the source is not longer.
const BYTES: usize = 100_000;
/// The lines that a definition may take.
const LINES: usize = 3;
/// The number of links named in a warning.
const NAMED: usize = 5;

/// The definitions of a source, and the links that comrak does not resolve.
pub struct References {
    /// What looks like a definition, by label.
    candidates: HashMap<String, Vec<Candidate>>,
    state: Mutex<ReferenceState>,
}

struct Candidate {
    /// Counted from one.
    line: usize,
    source: String,
}

#[derive(Default)]
struct ReferenceState {
    /// Whether comrak did not resolve a link that looks defined.
    has_missed: bool,
    definitions: HashMap<String, ResolvedReference>,
    left_bytes: usize,
    lost: BTreeSet<String>,
}

impl References {
    pub fn of(source: &str) -> Self {
        let lines: Vec<&str> = source.lines().collect();
        let mut candidates: HashMap<String, Vec<Candidate>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(label) = defined(line) {
                let source = lines[at..lines.len().min(at + LINES)].join("\n");
                candidates.entry(label).or_default().push(Candidate { line: at + 1, source });
            }
        }
        let state =
            ReferenceState { left_bytes: source.len().max(BYTES), ..ReferenceState::default() };
        Self { candidates, state: Mutex::new(state) }
    }

    /// Whether the source has to be parsed again, because comrak did not resolve a link that is
    /// defined.
    pub fn settle(&self, root: Node) -> bool {
        if !std::mem::take(&mut self.state().has_missed) {
            return false;
        }
        let text = lines_of_text(root);
        // The first definition of a label counts.
        let first = |all: &Vec<Candidate>| {
            let mut defined = all.iter().filter(|candidate| !text.contains(&candidate.line));
            defined.find_map(definition)
        };
        let all = self.candidates.iter();
        let definitions: HashMap<_, _> =
            all.filter_map(|(label, all)| Some((label.clone(), first(all)?))).collect();
        let has_any = !definitions.is_empty();
        self.state().definitions = definitions;
        has_any
    }

    pub fn report(&self, losses: &mut Losses) {
        let state = self.state();
        if state.lost.is_empty() {
            return;
        }
        let mut named: Vec<String> =
            state.lost.iter().take(NAMED).map(|label| clean::line(label)).collect();
        if state.lost.len() > NAMED {
            named.push(format!("{} more", state.lost.len() - NAMED));
        }
        losses.other(format!(
            "The addresses of reference links are too long together, so that some links are shown \
             as text: {}.",
            named.join(", ")
        ));
    }

    fn state(&self) -> MutexGuard<'_, ReferenceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BrokenLinkCallback for References {
    fn resolve(&self, reference: BrokenLinkReference) -> Option<ResolvedReference> {
        let label = normal(reference.original);
        if !self.candidates.contains_key(&label) {
            return None;
        }
        let mut state = self.state();
        let Some(definition) = state.definitions.get(&label).cloned() else {
            state.has_missed = true;
            return None;
        };
        let bytes = definition.url.len() + definition.title.len();
        let Some(left) = state.left_bytes.checked_sub(bytes) else {
            state.lost.insert(label);
            return None;
        };
        state.left_bytes = left;
        Some(definition)
    }
}

/// The label of a line that looks like `[label]: address`.
fn defined(line: &str) -> Option<String> {
    let rest = line.trim_start_matches([' ', '>']).strip_prefix('[')?;
    let (label, rest) = rest.split_once(']')?;
    let is_definition = rest.starts_with(':') && !label.starts_with('^');
    Some(normal(label)).filter(|label| is_definition && !label.is_empty())
}

/// Labels are compared without regard to case and space.
fn normal(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The address and the title of a definition, as comrak reads it.
fn definition(candidate: &Candidate) -> Option<ResolvedReference> {
    let source = candidate.source.trim_start_matches([' ', '>']);
    let (label, _) = source.strip_prefix('[')?.split_once(']')?;
    let arena = Arena::new();
    let source = format!("[{label}]\n\n{source}\n");
    let root = comrak::parse_document(&arena, &source, &Options::default());
    root.descendants().find_map(|node| match &node.data().value {
        NodeValue::Link(link) => {
            Some(ResolvedReference { url: link.url.clone(), title: link.title.clone() })
        }
        _ => None,
    })
}

/// The lines that have text, code or HTML, in which nothing is defined.
fn lines_of_text(root: Node) -> HashSet<usize> {
    let lines = |node: Node<'_>| {
        let data = node.data();
        let is_text = matches!(
            data.value,
            NodeValue::Paragraph
                | NodeValue::Heading(_)
                | NodeValue::CodeBlock(_)
                | NodeValue::HtmlBlock(_)
                | NodeValue::Table(_)
        );
        is_text.then(|| data.sourcepos.start.line..=data.sourcepos.end.line)
    };
    root.descendants().filter_map(lines).flatten().collect()
}

#[cfg(test)]
mod tests {
    use crate::document::Inline;
    use crate::markdown;

    fn read(source: &str) -> (Vec<String>, Vec<String>) {
        let document = markdown::read(source).unwrap();
        let mut urls = Vec::new();
        document.each_inline(&mut |inline| {
            if let Inline::Link { url, .. } = inline {
                urls.push(url.clone());
            }
        });
        (urls, document.warnings)
    }

    #[test]
    fn short_texts_may_use_a_long_address_often() {
        let url = format!("https://example.org/{}", "long".repeat(20));
        let source =
            format!("[a][X y] [b][x  Y] [c][x y], [x y]\n\n- [ ] task\n\n[x y]: {url} \"T\"\n");
        assert_eq!(read(&source), (vec![url; 4], Vec::new()));
    }

    #[test]
    fn links_beyond_the_limit_are_reported() {
        let url = format!("https://example.org/{}", "a".repeat(1_900));
        let source = format!("{}\n\n[x]: {url}\n", "[a][x] ".repeat(100));
        let (urls, warnings) = read(&source);
        assert!((50..100).contains(&urls.len()), "{}", urls.len());
        assert!(warnings.iter().any(|w| w.ends_with("shown as text: x.")), "{warnings:?}");
    }

    #[test]
    fn definitions_in_code_define_nothing() {
        let source = "[x] and [a][x]\n\n```\n[x]: https://example.org\n```\n\ntext\n[x]: https://b.example\n";
        assert_eq!(read(source).0, ["https://b.example"], "a bare address");
        assert_eq!(read(source).1, Vec::<String>::new());
    }
}
