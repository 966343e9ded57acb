//! The styles of an OpenDocument file: formatting, titles, and what is hidden.

use std::collections::{HashMap, HashSet};

use super::{
    limits,
    words::{Marks, Script},
    xml::{XmlElement, XmlNode, walk},
};

/// The number of styles that a style may be based on, one on another.
const BASES: usize = 16;

/// What the styles of a file say, by their names.
#[derive(Default)]
pub struct OdfStyles {
    /// The style that is being read.
    style: String,
    marks: HashMap<String, Marks>,
    /// The styles that those of paragraphs and words are based on.
    bases: HashMap<String, String>,
    /// The styles of sheets, slides, paragraphs and words that are not shown.
    hidden: HashSet<String>,
    /// The master pages that styles refer to.
    pub masters: HashSet<String>,
}

/// Words with a style of their own.
#[derive(Default, Clone, Copy)]
pub struct OdfSpan {
    pub marks: Marks,
    pub is_hidden: bool,
}

impl OdfStyles {
    /// Reads the common styles. A document with damaged styles is still read.
    pub fn read_all(&mut self, xml: &[u8], mut each: impl FnMut(&XmlElement)) {
        let _ = walk(xml, |node| {
            if let XmlNode::Open(element) = node {
                self.read(element);
                each(element);
            }
            Ok(())
        });
    }

    /// Reads an element of the styles.
    pub fn read(&mut self, element: &XmlElement) {
        let attribute = |name: &str| element.attribute(name);
        match element.name.as_str() {
            "style" => {
                self.style = limits::name(attribute("name").unwrap_or_default());
                let base = attribute("parent-style-name");
                let is_of_text = matches!(attribute("family"), Some("paragraph" | "text"));
                if let Some(base) = base.filter(|_| is_of_text) {
                    self.bases.insert(self.style.clone(), limits::name(base));
                }
                let master = attribute("master-page-name").filter(|name| !name.is_empty());
                self.masters.extend(master.map(str::to_owned));
            }
            // The letters of its levels are not those of a style.
            "list-style" => self.style.clear(),
            "text-properties" => {
                let marks = Marks {
                    strong: attribute("font-weight") == Some("bold"),
                    emphasis: attribute("font-style") == Some("italic"),
                    strike: attribute("text-line-through-style").is_some_and(|s| s != "none"),
                    script: attribute("text-position").map_or(Script::Level, script),
                };
                self.marks.insert(self.style.clone(), marks);
                if attribute("display") == Some("none") {
                    self.hide();
                }
            }
            "table-properties" if attribute("display") == Some("false") => self.hide(),
            "drawing-page-properties" if attribute("visibility") == Some("hidden") => self.hide(),
            _ => {}
        }
    }

    fn hide(&mut self) {
        // The properties of levels and defaults are those of no style.
        if !self.style.is_empty() {
            self.hidden.insert(self.style.clone());
        }
    }

    /// Whether sheets, slides, paragraphs or words of this style are not shown.
    pub fn is_hidden(&self, element: &XmlElement) -> bool {
        let mut style = element.attribute("style-name").map(limits::name);
        for _ in 0..BASES {
            let Some(name) = style else { return false };
            if self.hidden.contains(&name) {
                return true;
            }
            style = self.bases.get(&name).cloned();
        }
        false
    }

    /// What the style of a span says.
    pub fn span(&self, element: &XmlElement) -> OdfSpan {
        let style = limits::name(element.attribute("style-name").unwrap_or_default());
        let marks = self.marks.get(&style);
        OdfSpan { marks: marks.copied().unwrap_or_default(), is_hidden: self.is_hidden(element) }
    }

    /// The heading level of a paragraph whose style is that of a title, or based on it.
    pub fn title_level(&self, element: &XmlElement) -> Option<usize> {
        let own = limits::name(element.attribute("style-name")?);
        let mut style = own.as_str();
        for _ in 0..BASES {
            match style {
                "Title" => return Some(1),
                "Subtitle" => return Some(2),
                _ => style = self.bases.get(style)?,
            }
        }
        None
    }
}

/// What a value of `text-position` says, such as `super 58%` or `-33% 58%`.
fn script(position: &str) -> Script {
    let shift = position.split_whitespace().next().unwrap_or_default();
    match (shift, shift.trim_end_matches('%').parse::<f64>()) {
        ("super", _) => Script::Raised,
        ("sub", _) => Script::Lowered,
        (_, Ok(shift)) if shift > 0.0 => Script::Raised,
        (_, Ok(shift)) if shift < 0.0 => Script::Lowered,
        _ => Script::Level,
    }
}
