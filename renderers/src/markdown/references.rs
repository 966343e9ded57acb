//! Reference links beyond the limit of comrak.
//!
//! comrak expands reference links only up to the length of the source, and to 100 kB, so that a small
//! source cannot make a huge document. A short text with long addresses loses links by that. Here the
//! limit is the longer of both; what exceeds it is reported.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use comrak::nodes::NodeValue;
use comrak::options::{BrokenLinkCallback, BrokenLinkReference};
use comrak::{Arena, Options, ResolvedReference};

use super::clean;
use super::losses::Losses;

/// The number of bytes to which reference links may expand, if the source is not longer.
const BYTES: usize = 100_000;
/// The length of a label, by CommonMark.
const LABEL_BYTES: usize = 1_000;
/// The number of links named in a warning.
const NAMED: usize = 5;

/// The definitions of a source, and the links that comrak does not resolve.
pub struct References {
    /// The labels that look defined.
    candidates: HashSet<String>,
    state: Mutex<ReferenceState>,
}

#[derive(Default)]
struct ReferenceState {
    /// What comrak did not resolve although it looks defined: the labels as they are written.
    missed: BTreeMap<String, String>,
    definitions: HashMap<String, ResolvedReference>,
    left_bytes: usize,
    lost: BTreeSet<String>,
}

impl References {
    pub fn of(source: &str) -> Self {
        let state =
            ReferenceState { left_bytes: source.len().max(BYTES), ..ReferenceState::default() };
        Self { candidates: candidates(source), state: Mutex::new(state) }
    }

    /// Whether the source has to be parsed again, because comrak did not resolve a link that is
    /// defined.
    pub fn settle(&self, source: &str, options: &Options) -> bool {
        let mut missed = std::mem::take(&mut self.state().missed);
        let mut definitions = HashMap::new();
        while !missed.is_empty() {
            let found = resolved(&missed, source, options);
            let bytes: usize = found.values().map(length).sum();
            missed.retain(|label, _| !found.contains_key(label));
            definitions.extend(found);
            // Otherwise the limit of comrak may hide further definitions.
            if bytes < BYTES / 2 {
                break;
            }
        }
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
        if !self.candidates.contains(&label) {
            return None;
        }
        let mut state = self.state();
        let Some(definition) = state.definitions.get(&label).cloned() else {
            let original = one_line(reference.original);
            state.missed.insert(label, original);
            return None;
        };
        let Some(left) = state.left_bytes.checked_sub(length(&definition)) else {
            state.lost.insert(label);
            return None;
        };
        state.left_bytes = left;
        Some(definition)
    }
}

/// All labels before a colon, wherever they are: in lists, in quotes, or even in code.
fn candidates(source: &str) -> HashSet<String> {
    let (mut open, mut is_escaped) = (None, false);
    let mut labels = HashSet::new();
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'[' => open = Some(at + 1),
            b']' => {
                let label = open.take().map(|from| &source[from..at]).unwrap_or_default();
                if source[at + 1..].starts_with(':')
                    && label.len() <= LABEL_BYTES
                    && !label.starts_with('^')
                {
                    let quote = |line: &str| line.trim_start_matches([' ', '>']).to_owned();
                    labels.insert(normal(label));
                    labels.insert(normal(&label.lines().map(quote).collect::<Vec<_>>().join(" ")));
                }
            }
            _ => {}
        }
    }
    labels.remove("");
    labels
}

/// What comrak makes of these labels in this source. They stand before it, since the limit counts
/// from the beginning.
fn resolved(
    labels: &BTreeMap<String, String>,
    source: &str,
    options: &Options,
) -> HashMap<String, ResolvedReference> {
    let arena = Arena::new();
    let uses: String = labels.values().flat_map(|label| ["[", label, "]\n\n"]).collect();
    // The text after the uses keeps them apart from the source.
    let root = comrak::parse_document(&arena, &format!("{uses}.\n\n{source}"), options);
    let found = labels.keys().zip(root.children()).filter_map(|(label, paragraph)| {
        paragraph.children().find_map(|node| match &node.data().value {
            NodeValue::Link(link) => {
                let link = ResolvedReference { url: link.url.clone(), title: link.title.clone() };
                Some((label.clone(), link))
            }
            _ => None,
        })
    });
    found.collect()
}

fn length(definition: &ResolvedReference) -> usize {
    definition.url.len() + definition.title.len()
}

/// Labels are compared without regard to case and space.
fn normal(label: &str) -> String {
    one_line(label).to_lowercase()
}

fn one_line(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ")
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
        (urls, document.warnings.iter().map(ToString::to_string).collect())
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

    #[test]
    fn definitions_are_found_wherever_they_are() {
        let url = format!("https://example.org/{}", "long".repeat(20));
        let uses = "[a][x] ".repeat(20);
        for definition in [
            format!("[x]: {url}\nText after it."),
            format!("- [x]: {url}\n- item"),
            format!("> quote\n>\n> [x]:\n> {url}"),
            format!("1. > [x]: {url}"),
        ] {
            let found = read(&format!("{uses}\n\n{definition}\n"));
            assert_eq!(found, (vec![url.clone(); 20], Vec::new()), "{definition}");
        }
        let source = format!("{}\n\n[a\\]b]: {url}\n", "[a][a\\]b] ".repeat(20));
        assert_eq!(read(&source), (vec![url; 20], Vec::new()));
    }

    #[test]
    fn definitions_beyond_the_limit_of_comrak_are_found() {
        let url = |at: usize| format!("https://example.org/{at}/{}", "a".repeat(1_900));
        let uses = (0..150).map(|at| format!("[x{at}] ")).collect::<Vec<_>>().concat();
        let defined =
            (0..150).map(|at| format!("[x{at}]: {}\n", url(at))).collect::<Vec<_>>().concat();
        let (urls, warnings) = read(&format!("{uses}\n\n{defined}"));
        assert_eq!((urls.len(), warnings), (150, Vec::new()));
    }
}
