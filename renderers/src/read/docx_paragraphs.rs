//! The open paragraphs of a Word file. The text of a shape, with the tables in it, is inside a run of
//! a paragraph that continues after it, so each paragraph has its own runs, link and tracked change.

use std::collections::BTreeSet;

use super::{
    equations::Equation,
    limits, symbol_fonts,
    words::{Line, Marks, Script},
    xml::XmlElement,
};
use crate::document::COMMENT_NAME;

/// An open paragraph.
#[derive(Default)]
pub struct WordParagraph {
    pub line: Line,
    pub style: String,
    pub outline: Option<usize>,
    pub list: Option<String>,
    pub depth: usize,
    /// The color of the first run that has one.
    pub color: Option<String>,
    /// Whether its runs are hidden, unless they say otherwise.
    pub is_hidden: bool,
    /// Whether an insertion or deletion was marked.
    pub has_changes: bool,
    /// The fonts of symbols that have no Unicode character.
    pub unknown_fonts: BTreeSet<String>,
    /// The open runs. Ruby text has runs inside a run.
    runs: Vec<WordRun>,
    /// The target of the open link.
    link: Option<String>,
    change: Option<OpenChange>,
    /// Whether the mark of hidden text is open, inside that of the change.
    is_hidden_open: bool,
    /// For an open check box of a form, whether it is checked.
    check_box: Option<bool>,
    /// The open equation, and the change that it is in.
    equation: Option<Equation>,
    outer_change: Option<OpenChange>,
}

/// The formatting of a run.
#[derive(Default)]
struct WordRun {
    marks: Marks,
    font: String,
    is_hidden: Option<bool>,
}

/// Tracked text, and whether its opening mark was written.
#[derive(Clone, Copy)]
struct OpenChange {
    opening: &'static str,
    closing: &'static str,
    is_open: bool,
}

impl OpenChange {
    fn of(name: &str) -> Option<Self> {
        let (opening, closing) = match name {
            "ins" | "moveTo" => ("{++", "++}"),
            "del" | "moveFrom" => ("{--", "--}"),
            _ => return None,
        };
        Some(Self { opening, closing, is_open: false })
    }
}

impl WordParagraph {
    /// A paragraph in a shape of the outer one, if there is one. It is inserted, deleted or hidden with
    /// the shape.
    pub fn inside(outer: Option<&Self>) -> Self {
        let change = outer.and_then(|outer| outer.change);
        let change = change.map(|change| OpenChange { is_open: false, ..change });
        Self { change, is_hidden: outer.is_some_and(Self::hides_text), ..Self::default() }
    }

    /// Handles an element that belongs to the paragraph.
    pub fn open(&mut self, element: &XmlElement) {
        if let Some(equation) = &mut self.equation {
            equation.open(element);
        }
        match element.name.as_str() {
            "r" => self.runs.push(WordRun::default()),
            "sym" if self.in_run() => {
                let font = element.attribute("font").unwrap_or_default();
                let code = u32::from_str_radix(element.attribute("char").unwrap_or_default(), 16);
                let sign = self.symbol(font, code.ok().and_then(char::from_u32));
                self.push(&sign.to_string());
            }
            "tab" | "ptab" if self.in_run() => self.push("\t"),
            "br" | "cr" if self.in_run() => self.push("\n"),
            // Inside a run, it is a property of a row of a table in a shape.
            "ins" | "moveTo" | "del" | "moveFrom" if !self.in_run() => {
                self.end_change();
                self.change = OpenChange::of(&element.name);
            }
            // Inside a run, it is a property.
            "oMath" if self.equation.is_none() && !self.in_run() => {
                self.end_hidden();
                self.equation = Some(Equation::begin());
                self.outer_change = self.change.take();
            }
            "noBreakHyphen" => self.push("-"),
            "checkBox" if self.in_run() => self.check_box = Some(false),
            // What is checked now follows what was at first.
            "default" | "checked" if self.check_box.is_some() => {
                self.check_box = Some(element.is_on());
            }
            "footnoteReference" | "endnoteReference" | "commentReference" => {
                self.end_hidden();
                self.plain(&format!("[^{}]", note_name(element)));
            }
            "docPr" => {
                let says = element.attribute("descr").or_else(|| element.attribute("title"));
                if let Some(says) = says.filter(|says| !says.is_empty()) {
                    self.end_hidden();
                    self.plain(&format!("![{says}]"));
                }
            }
            _ => self.property(element),
        }
    }

    fn property(&mut self, element: &XmlElement) {
        let value = || limits::name(element.attribute("val").unwrap_or_default());
        match (element.name.as_str(), self.runs.last_mut()) {
            ("b", Some(run)) => run.marks.strong = element.is_on(),
            ("i", Some(run)) => run.marks.emphasis = element.is_on(),
            ("strike" | "dstrike", Some(run)) => run.marks.strike = element.is_on(),
            ("vanish", Some(run)) => run.is_hidden = Some(element.is_on()),
            ("vertAlign", Some(run)) => run.marks.script = script(&value()),
            ("rFonts", Some(run)) => {
                element.attribute("ascii").unwrap_or_default().clone_into(&mut run.font);
            }
            ("color", _) if self.color.is_none() => self.color = Some(value()),
            ("pStyle", _) => self.style = value(),
            ("outlineLvl", _) => self.outline = element.number("val"),
            ("ilvl", _) => self.depth = element.number("val").unwrap_or(0).min(8),
            // The list 0 is none, even if the style has one.
            ("numId", _) => self.list = Some(value()),
            _ => {}
        }
    }

    pub fn begin_link(&mut self, target: String) {
        self.end_hidden();
        self.plain("[");
        self.link = Some(target);
    }

    /// Handles the end of an element that belongs to the paragraph.
    pub fn close(&mut self, name: &str) {
        match name {
            "r" => {
                self.runs.pop();
                // The parts of an equation are written in another order.
                if self.equation.is_some() {
                    self.end_hidden();
                }
            }
            "ins" | "moveTo" | "del" | "moveFrom" if !self.in_run() => self.end_change(),
            "checkBox" => {
                if let Some(is_checked) = self.check_box.take() {
                    self.push(if is_checked { "☒" } else { "☐" });
                }
            }
            "hyperlink" => {
                if let Some(target) = self.link.take() {
                    self.end_hidden();
                    self.plain(&format!("]({target})"));
                }
            }
            _ => {}
        }
        if let Some(text) = self.equation.as_mut().and_then(|equation| equation.close(name)) {
            self.equation = None;
            self.change = self.outer_change.take();
            if !text.is_empty() {
                self.push(&text);
            }
        }
    }

    fn in_run(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Applies the character style of a run.
    pub fn style_run(&mut self, script: Option<Script>) {
        if let (Some(run), Some(script)) = (self.runs.last_mut(), script) {
            run.marks.script = script;
        }
    }

    /// Hides the open run, unless its own properties say otherwise.
    pub fn hide_run(&mut self) {
        if let Some(run) = self.runs.last_mut() {
            run.is_hidden = run.is_hidden.or(Some(true));
        }
    }

    /// Whether text that is added is hidden.
    fn hides_text(&self) -> bool {
        self.runs.last().and_then(|run| run.is_hidden).unwrap_or(self.is_hidden)
    }

    /// The Unicode character of a symbol.
    fn symbol(&mut self, font: &str, code: Option<char>) -> char {
        code.and_then(|code| symbol_fonts::character(font, code)).unwrap_or_else(|| {
            self.unknown_fonts.insert(font.chars().take(40).collect());
            char::REPLACEMENT_CHARACTER
        })
    }

    /// The text of a run, whose font may be one of symbols.
    pub fn run_text(&mut self, text: &str) {
        let Some(run) = self.runs.last().filter(|_| text.contains(symbol_fonts::is_code)) else {
            return self.push(text);
        };
        let symbol = |c: char| symbol_fonts::character(&run.font, c).unwrap_or(c);
        let text: String = text.chars().map(symbol).collect();
        self.push(&text);
    }

    pub fn push(&mut self, text: &str) {
        let is_hidden = self.hides_text();
        if !is_hidden {
            self.end_hidden();
        }
        if let Some(change) = self.change.as_mut().filter(|change| !change.is_open) {
            change.is_open = true;
            self.has_changes = true;
            let opening = change.opening;
            self.plain(opening);
        }
        if is_hidden && !self.is_hidden_open {
            self.is_hidden_open = true;
            self.plain("{hidden: ");
        }
        if let Some(equation) = &mut self.equation {
            return equation.text(text);
        }
        let marks = self.runs.last().map(|run| run.marks).unwrap_or_default();
        self.line.push(text, marks);
    }

    fn end_hidden(&mut self) {
        if std::mem::take(&mut self.is_hidden_open) {
            self.plain("}");
        }
    }

    pub fn end_change(&mut self) {
        self.end_hidden();
        if let Some(change) = self.change.take().filter(|change| change.is_open) {
            self.plain(change.closing);
        }
    }

    fn plain(&mut self, text: &str) {
        match &mut self.equation {
            Some(equation) => equation.text(text),
            None => self.line.push_plain(text),
        }
    }
}

/// The name of a footnote, an endnote or a comment, or of the one that a mark refers to. Each of the
/// three is counted on its own.
pub fn note_name(element: &XmlElement) -> String {
    let prefix = match element.name.as_str() {
        "comment" | "commentReference" => COMMENT_NAME,
        "endnote" | "endnoteReference" => "endnote-",
        _ => "",
    };
    format!("{prefix}{}", element.attribute("id").unwrap_or_default())
}

/// What a value of `w:vertAlign` says.
pub fn script(value: &str) -> Script {
    match value {
        "superscript" => Script::Raised,
        "subscript" => Script::Lowered,
        _ => Script::Level,
    }
}
