//! Ids of headings, as in Pandoc: `## Heading {#id}`. Links to such an id lead to the anchor that the
//! heading has by its text, which is the one that all formats know. So do links with percent signs,
//! such as `#%C3%BCber-uns`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use comrak::nodes::{Node, NodeValue};

use crate::Document;
use crate::document::{Anchors, Block, Inline, change_blocks};
use crate::package::text::unescape;
use crate::package::warnings::Warnings;

/// Removes the ids from the headings of a document, and changes the links to them.
pub fn resolve(document: &mut Document) {
    let (mut anchors, mut targets) = (Anchors::default(), Targets::default());
    let mut settle = |content: &mut Vec<Inline>| {
        let id = take(content);
        let anchor = anchors.next(content);
        targets.anchors.insert(anchor.clone());
        match id {
            Some(id) if targets.ids.contains_key(&id) => {
                targets.repeated.insert(id);
            }
            Some(id) => drop(targets.ids.insert(id, anchor)),
            None => {}
        }
    };
    each_heading(&mut document.blocks, &mut settle);
    document.notes.iter_mut().for_each(|note| each_heading(note, &mut settle));
    let mut warnings = Warnings::from(&document.warnings);
    for id in &targets.repeated {
        warnings.add(format!("Several headings have the id “{id}”; links lead to the first."));
    }
    document.warnings = warnings.list();
    let mut change = |inline: &mut Inline| {
        if let Inline::Link { url, .. } = inline
            && let Some(anchor) = url.strip_prefix('#').and_then(|target| targets.find(target))
        {
            *url = format!("#{anchor}");
        }
    };
    change_blocks(&mut document.blocks, &mut change);
    document.notes.iter_mut().for_each(|note| change_blocks(note, &mut change));
}

/// What links can lead to.
#[derive(Default)]
struct Targets {
    /// The anchors of all headings.
    anchors: BTreeSet<String>,
    /// The anchor of the heading with an id.
    ids: BTreeMap<String, String>,
    /// The ids that several headings have.
    repeated: BTreeSet<String>,
}

impl Targets {
    /// The anchor for the target of a link; `None` if it needs no change or leads nowhere.
    fn find(&self, target: &str) -> Option<String> {
        if let Some(anchor) = self.ids.get(target) {
            return Some(anchor.clone());
        }
        let plain = target.contains('%').then(|| unescape(target))?;
        let of_id = self.ids.get(&plain).cloned();
        of_id.or_else(|| Some(plain.to_lowercase()).filter(|plain| self.anchors.contains(plain)))
    }
}

/// The first lines of the headings whose braces are escaped, so that they are no id.
pub fn escaped(root: Node, source: &str) -> HashSet<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let mut escaped = HashSet::new();
    for node in root.descendants() {
        let data = node.data();
        if !matches!(data.value, NodeValue::Heading(_)) {
            continue;
        }
        let (start, end) = (data.sourcepos.start.line, data.sourcepos.end.line);
        let heading = lines.get(start.saturating_sub(1)..end.min(lines.len()));
        let heading = heading.unwrap_or_default().join("\n");
        if heading.contains('}') && !has_plain_braces(&heading) {
            escaped.insert(start);
        }
    }
    escaped
}

/// Whether the last braces in the source of a heading have no backslash before or in them.
fn has_plain_braces(heading: &str) -> bool {
    let Some((before, rest)) = heading.rsplit_once('{') else { return false };
    let backslashes = before.len() - before.trim_end_matches('\\').len();
    let is_escape = |pair: &[u8]| pair[0] == b'\\' && pair[1].is_ascii_punctuation();
    let inside = rest.find('}').map_or(rest, |end| &rest[..=end]);
    backslashes.is_multiple_of(2) && !inside.as_bytes().windows(2).any(is_escape)
}

/// Marks a heading whose braces are text. [`take`] removes the mark.
pub fn keep_braces(content: &mut Vec<Inline>) {
    content.push(Inline::Text(String::new()));
}

/// Removes the attributes at the end of a heading, and returns the id among them.
pub fn take(content: &mut Vec<Inline>) -> Option<String> {
    if content.pop_if(|last| matches!(last, Inline::Text(text) if text.is_empty())).is_some() {
        return None;
    }
    let is_text = |inline: &&Inline| matches!(inline, Inline::Text(_));
    let first = content.len() - content.iter().rev().take_while(is_text).count();
    let text: String = content[first..].iter().map(text_of).collect();
    let (before, attributes) = text.trim_end().strip_suffix('}')?.rsplit_once('{')?;
    let id = id(attributes)?;
    let before = before.trim_end();
    if first == 0 && before.is_empty() {
        return None;
    }
    content.truncate(first);
    if !before.is_empty() {
        content.push(Inline::Text(before.to_owned()));
    }
    Some(id)
}

fn text_of(inline: &Inline) -> &str {
    match inline {
        Inline::Text(text) => text,
        _ => "",
    }
}

/// The id among attributes such as `#id .class key=value`; `None` for other text.
fn id(attributes: &str) -> Option<String> {
    let mut id = None;
    for word in attributes.split_whitespace() {
        match word.strip_prefix('#') {
            Some(name) if !name.is_empty() => id = id.or(Some(name.to_owned())),
            None if word.starts_with('.') || word == "-" || word.contains('=') => {}
            _ => return None,
        }
    }
    id
}

fn each_heading(blocks: &mut [Block], see: &mut dyn FnMut(&mut Vec<Inline>)) {
    for block in blocks {
        match block {
            Block::Heading { content, .. } => see(content),
            Block::List(list) => {
                list.items.iter_mut().for_each(|item| each_heading(&mut item.blocks, see));
            }
            Block::Quote { blocks, .. } => each_heading(blocks, see),
            Block::Definitions(items) => {
                for item in items {
                    each_heading(&mut item.description, see);
                }
            }
            Block::Columns(columns) => columns.iter_mut().for_each(|c| each_heading(c, see)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::plain_text;
    use crate::markdown;

    fn read(source: &str) -> (Vec<String>, Vec<String>) {
        let document = markdown::read(source).unwrap();
        let (mut headings, mut links) = (Vec::new(), Vec::new());
        document.each_block(&mut |block| {
            if let Block::Heading { content, .. } = block {
                headings.push(plain_text(content));
            }
        });
        document.each_inline(&mut |inline| {
            if let Inline::Link { url, .. } = inline {
                links.push(url.clone());
            }
        });
        (headings, links)
    }

    #[test]
    fn links_lead_to_the_headings_with_their_id() {
        let source = "# First *one* {#a_1}\n\n[x](#b) [y](#a_1) [z](#first-one)\n\n> ## First one {#b .wide k=v}\n\n\
                      <h2 id=\"c\">Last</h2>\n\n[h](#c)[^n]\n\n[^n]: [in](#b)\n";
        let (headings, links) = read(source);
        assert_eq!(headings, ["First one", "First one", "Last"]);
        assert_eq!(links, ["#first-one-1", "#first-one", "#first-one", "#last", "#first-one-1"]);
    }

    #[test]
    fn repeated_ids_are_reported() {
        let document = markdown::read("# A {#a}\n\n## B {#a}\n\n[x](#a)").unwrap();
        assert_eq!(
            document.warnings,
            ["Several headings have the id “a”; links lead to the first."]
        );
    }

    #[test]
    fn ids_of_html_with_braces_stay_out_of_the_text() {
        assert_eq!(read("<h2 id=\"a{b\">Head</h2>\n").0, ["Head"]);
    }

    #[test]
    fn other_braces_stay() {
        for heading in ["A {b}", "A {#}", "{#a}", "A {#a b}", "A {#a} b", "Set {1, 2}"] {
            assert_eq!(read(&format!("# {heading}\n")).0, [heading]);
        }
    }
}
