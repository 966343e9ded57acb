//! `word/numbering.xml`: the appearance of bullets, numbers and tasks, and the numbered lists.

use super::namespaces::NAMESPACES;
use crate::package::numerals::Numerals;
use crate::package::xml::Xml;

/// The number of levels that Word supports; deeper lists stay on the ninth.
pub const LEVELS: usize = 9;
/// Twips from one level to the next.
pub const STEP: i64 = 425;

/// Abstract numberings; lists without a count use them directly.
pub const BULLET: u32 = 1;
pub const OPEN: u32 = 2;
pub const DONE: u32 = 3;
pub const ORDERED: u32 = 4;
/// The numbering of headings, if they are numbered.
pub const HEADINGS: u32 = 5;

/// The ordered lists of a file. Each list has a separate numbering instance, so that each restarts.
#[derive(Debug, Default)]
pub struct Numbering {
    /// Level and first number.
    lists: Vec<(usize, u64)>,
}

impl Numbering {
    pub fn begin(&mut self, level: usize, start: u64) -> u32 {
        self.lists.push((level, start));
        HEADINGS + self.lists.len() as u32
    }

    /// `word/numbering.xml`.
    pub fn write(&self) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:numbering", &NAMESPACES);
        for (id, sign) in [(BULLET, ""), (OPEN, "☐"), (DONE, "☒"), (ORDERED, "")] {
            xml.open("w:abstractNum", &[("w:abstractNumId", &id.to_string())]);
            xml.val("w:multiLevelType", "multilevel");
            (0..LEVELS).for_each(|level| write_level(&mut xml, id, sign, level));
            xml.close();
        }
        heading_levels(&mut xml);
        for id in [BULLET, OPEN, DONE, HEADINGS] {
            xml.open("w:num", &[("w:numId", &id.to_string())]);
            xml.val("w:abstractNumId", &id.to_string());
            xml.close();
        }
        for (at, (level, start)) in self.lists.iter().enumerate() {
            let id = HEADINGS + 1 + at as u32;
            xml.open("w:num", &[("w:numId", &id.to_string())]);
            xml.val("w:abstractNumId", &ORDERED.to_string());
            xml.open("w:lvlOverride", &[("w:ilvl", &level.to_string())]);
            xml.val("w:startOverride", &start.to_string());
            xml.close();
            xml.close();
        }
        xml.close();
        xml
    }
}

/// `1`, `1.1`, `1.1.1`: each level is linked to its heading style.
fn heading_levels(xml: &mut Xml) {
    xml.open("w:abstractNum", &[("w:abstractNumId", &HEADINGS.to_string())]);
    xml.val("w:multiLevelType", "multilevel");
    for level in 0..6 {
        let text: Vec<String> = (0..=level).map(|at| format!("%{}", at + 1)).collect();
        xml.open("w:lvl", &[("w:ilvl", &level.to_string())]);
        xml.val("w:start", "1");
        xml.val("w:numFmt", "decimal");
        xml.val("w:pStyle", &format!("Heading{}", level + 1));
        xml.val("w:suff", "space");
        xml.val("w:lvlText", &text.join("."));
        xml.val("w:lvlJc", "left");
        xml.raw("<w:pPr><w:ind w:left=\"0\" w:firstLine=\"0\"/></w:pPr>");
        xml.close();
    }
    xml.close();
}

fn write_level(xml: &mut Xml, id: u32, sign: &str, level: usize) {
    let (format, text) = if id == ORDERED {
        let format = match Numerals::of(level) {
            Numerals::Digits => "decimal",
            Numerals::Letters => "lowerLetter",
            Numerals::Roman => "lowerRoman",
        };
        (format, format!("%{}.", level + 1))
    } else {
        let bullet = ["•", "◦", "▪"][level % 3];
        ("bullet", if sign.is_empty() { bullet.to_owned() } else { sign.to_owned() })
    };
    xml.open("w:lvl", &[("w:ilvl", &level.to_string())]);
    xml.val("w:start", "1");
    xml.val("w:numFmt", format);
    xml.val("w:lvlText", &text);
    xml.val("w:lvlJc", "left");
    let left = (STEP * (level as i64 + 1)).to_string();
    xml.open("w:pPr", &[]);
    xml.empty("w:ind", &[("w:left", &left), ("w:hanging", "357")]);
    xml.close();
    if !sign.is_empty() {
        xml.open("w:rPr", &[]);
        let face = "Segoe UI Symbol";
        xml.empty("w:rFonts", &[("w:ascii", face), ("w:hAnsi", face), ("w:cs", face)]);
        xml.close();
    }
    xml.close();
}
