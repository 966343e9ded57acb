//! The styles of a Word file.

use std::collections::{HashMap, HashSet};

use super::{
    archive::Archive,
    docx_paragraphs::script,
    limits,
    reading::ReadError,
    words::Script,
    xml::{XmlNode, walk},
};

/// The number of styles that a style may be based on, one on another.
const BASES: usize = 16;

/// What a style says about the structure.
#[derive(Debug, Default, Clone)]
pub struct NamedStyle {
    /// The heading level.
    pub level: Option<usize>,
    /// The list and the depth in it.
    pub list: Option<String>,
    pub depth: usize,
    /// Whether its letters are raised or lowered.
    pub script: Option<Script>,
    is_hidden: Option<bool>,
    based_on: Option<String>,
}

/// The styles by their ids.
pub fn styles(archive: &mut Archive) -> Result<HashMap<String, NamedStyle>, ReadError> {
    let mut styles: HashMap<String, NamedStyle> = HashMap::new();
    let Some(xml) = archive.part("word/styles.xml")? else { return Ok(styles) };
    let mut id = String::new();
    // A document with damaged styles is still read.
    let _ = walk(&xml, |node| {
        let XmlNode::Open(element) = node else { return Ok(()) };
        let value = element.attribute("val").unwrap_or_default();
        if element.name == "style" {
            id = limits::name(element.attribute("styleId").unwrap_or_default());
        }
        let style = styles.entry(id.clone()).or_default();
        match element.name.as_str() {
            "name" => {
                let name = value.to_lowercase();
                let level = match name.as_str() {
                    // As in OpenDocument files.
                    "title" => Some(1),
                    "subtitle" => Some(2),
                    name => name.strip_prefix("heading ").and_then(|level| level.parse().ok()),
                };
                style.level = level.or(style.level);
            }
            "outlineLvl" => {
                let level = element.number("val").filter(|level| *level < 9);
                style.level = level.map(|level| level + 1).or(style.level);
            }
            "basedOn" => style.based_on = Some(limits::name(value)),
            "vanish" => style.is_hidden = Some(element.is_on()),
            "vertAlign" => style.script = Some(script(value)),
            "numId" => style.list = Some(limits::name(value)),
            "ilvl" => style.depth = element.number("val").unwrap_or(0).min(8),
            _ => {}
        }
        Ok(())
    });
    Ok(styles)
}

/// The ids of the styles whose text is hidden.
pub fn hidden(styles: &HashMap<String, NamedStyle>) -> HashSet<String> {
    let hidden = styles.keys().filter(|id| resolved(styles, id).is_hidden == Some(true));
    hidden.cloned().collect()
}

/// A style with what it takes over from the styles that it is based on.
pub fn resolved(styles: &HashMap<String, NamedStyle>, id: &str) -> NamedStyle {
    let mut style = styles.get(id).cloned().unwrap_or_default();
    for _ in 0..BASES {
        let Some(base) = style.based_on.take().and_then(|id| styles.get(&id)) else { break };
        style.level = style.level.or(base.level);
        style.script = style.script.or(base.script);
        style.is_hidden = style.is_hidden.or(base.is_hidden);
        if style.list.is_none() {
            (style.list, style.depth) = (base.list.clone(), base.depth);
        }
        style.based_on.clone_from(&base.based_on);
    }
    style
}
