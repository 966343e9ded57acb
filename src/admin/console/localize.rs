//! Translates the templates: each text between two tags, and each `aria-label`, is replaced by its
//! translation before the template is compiled. A text may contain values in double braces, which
//! its translation contains as well.

use std::fmt::Write as _;

use crate::texts::{Language, console};

/// Attributes with texts for people.
const ATTRIBUTES: [&str; 3] = ["aria-label=\"", "data-lost=\"", "data-confirm=\""];
/// Elements whose contents are code.
const CODE: [&str; 2] = ["<code", "<pre"];

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    /// A tag, with everything in it.
    Tag(&'a str),
    /// A block such as `{% if x %}`.
    Block(&'a str),
    /// What is between them.
    Text(&'a str),
}

/// The template in a language.
pub fn localized(template: &str, language: Language) -> String {
    let mut localized = String::with_capacity(template.len());
    let mut is_code = false;
    for part in parts(template) {
        match part {
            Part::Tag(tag) => {
                is_code = CODE.iter().any(|code| tag.starts_with(code));
                localized += &attributes(tag, language);
            }
            Part::Block(block) => localized += block,
            Part::Text(text) if is_code => localized += text,
            Part::Text(text) => {
                let inner = text.trim();
                let (before, after) = text.split_once(inner).unwrap_or((text, ""));
                let _ =
                    write!(localized, "{before}{}{after}", console::translated(inner, language));
            }
        }
    }
    localized
}

/// The tag with its texts translated.
fn attributes(tag: &str, language: Language) -> String {
    let mut tag = tag.to_owned();
    for attribute in ATTRIBUTES {
        let Some((before, rest)) = tag.split_once(attribute) else { continue };
        let Some((text, after)) = rest.split_once('"') else { continue };
        let text = console::translated(text, language);
        tag = format!("{before}{attribute}{text}\"{after}");
    }
    tag
}

fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let (part, length) = if rest.starts_with("{%") {
            let end = rest.find("%}").map_or(rest.len(), |at| at + 2);
            (Part::Block(&rest[..end]), end)
        } else if rest.starts_with('<') {
            let end = tag_end(rest);
            (Part::Tag(&rest[..end]), end)
        } else {
            let end = text_end(rest);
            (Part::Text(&rest[..end]), end)
        };
        parts.push(part);
        rest = &rest[length..];
    }
    parts
}

/// Where a tag ends. Blocks and values within it may contain `>`.
fn tag_end(text: &str) -> usize {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let close = if rest.starts_with("{%") {
            rest.find("%}").map(|end| end + 2)
        } else if rest.starts_with("{{") {
            rest.find("}}").map(|end| end + 2)
        } else if rest.starts_with('>') {
            return at + 1;
        } else {
            rest.chars().next().map(char::len_utf8)
        };
        at += close.unwrap_or(rest.len());
    }
    text.len()
}

/// Where a text ends. Values within it may contain `<`.
fn text_end(text: &str) -> usize {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("{%") || rest.starts_with('<') {
            return at;
        }
        let is_value = rest.starts_with("{{");
        let value = is_value.then(|| rest.find("}}").map_or(rest.len(), |end| end + 2));
        at += value.unwrap_or_else(|| rest.chars().next().map_or(rest.len(), char::len_utf8));
    }
    text.len()
}

/// The texts of a template that have to be translated.
#[cfg(test)]
pub fn texts(template: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut is_code = false;
    for part in parts(template) {
        match part {
            Part::Tag(tag) => {
                is_code = CODE.iter().any(|code| tag.starts_with(code));
                for attribute in ATTRIBUTES {
                    let text = tag.split_once(attribute).and_then(|(_, rest)| rest.split_once('"'));
                    texts.extend(text.map(|(text, _)| text.to_owned()));
                }
            }
            Part::Text(text) if !is_code => texts.push(text.trim().to_owned()),
            _ => {}
        }
    }
    texts.retain(|text| has_words(text));
    texts
}

/// Whether there are letters outside of values.
#[cfg(test)]
fn has_words(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        if before.chars().any(char::is_alphabetic) {
            return true;
        }
        rest = after.split_once("}}").map_or("", |(_, rest)| rest);
    }
    rest.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_stands_between_tags() {
        let template = concat!(
            "<p class=\"{{ \">\" if a }}\">Sent by {{ x|f(\"<\") }} <b>now</b>{% if a > b %}",
            "</p><code>ls -l</code><nav aria-label=\"Console\"> {{ y }} · </nav>",
        );
        assert_eq!(texts(template), ["Sent by {{ x|f(\"<\") }}", "now", "Console"]);
        assert_eq!(localized(template, Language::English), template);
    }
}
