//! Plans the sheets and their content: headings of the first two levels start a sheet, tables
//! become native tables, and everything else becomes rows of text.

use std::collections::{BTreeSet, HashMap};

use super::directives::{self, Directive};
use super::runs::{Run, RunStyle, Runs};
use crate::Document;
use crate::chart::Chart;
use crate::counted::listed;
use crate::document::{Alert, Block, Definition, Inline, List, Table, each_in, plain_text};
use crate::package::numerals::Numerals;
use crate::package::words;

/// Excel's limit, in UTF-16 units.
const NAME_UNITS: usize = 31;
/// The part of a name that stays before a number of four digits.
const NUMBERED_UNITS: usize = 24;

pub struct SheetPlan<'a> {
    pub name: String,
    /// The name before it was changed for Excel.
    pub heading: String,
    pub parts: Vec<PlannedPart<'a>>,
}

pub enum PlannedPart<'a> {
    Table(&'a Table, Vec<Directive>),
    Text(SheetLine),
    /// Side by side.
    Pictures(Vec<SheetPicture<'a>>),
    Chart(&'a Chart),
}

/// A picture over the cells of a sheet.
#[derive(Clone, Copy)]
pub struct SheetPicture<'a> {
    pub url: &'a str,
    pub alt: &'a str,
}

/// A row of text in the first column.
#[derive(Default)]
pub struct SheetLine {
    pub runs: Runs,
    pub heading: bool,
    pub indent: u8,
}

pub struct Plan<'a> {
    pub sheets: Vec<SheetPlan<'a>>,
    pub warnings: Vec<String>,
}

pub fn plan(document: &Document) -> Plan<'_> {
    let mut planner = Planner {
        plan: Plan { sheets: Vec::new(), warnings: Vec::new() },
        used: BTreeSet::new(),
        numbers: HashMap::new(),
        indent: 0,
        lists: 0,
        directives: Vec::new(),
        empty: Vec::new(),
        language: document.meta.language.as_deref(),
    };
    let mut begun = false;
    for block in &document.blocks {
        match block {
            Block::Heading { level: 1 | 2, content } => {
                planner.begin(&plain_text(content));
                begun = true;
                // A sheet name cannot hold a link.
                if Runs::read(content).url().is_some() {
                    planner.line("", content);
                }
            }
            block => {
                if !begun && !matches!(block, Block::Comment(_)) {
                    planner.begin(document.meta.title.as_deref().unwrap_or("Sheet1"));
                    begun = true;
                }
                planner.block(block);
            }
        }
    }
    if planner.plan.sheets.len() > 1 {
        planner.drop_empty();
    }
    planner.report_empty();
    if !planner.directives.is_empty() {
        let warning = "A directive for a table is not followed by one and was ignored.";
        planner.plan.warnings.push(warning.to_owned());
    }
    planner.notes(document);
    if planner.plan.sheets.is_empty() {
        planner.begin(document.meta.title.as_deref().unwrap_or("Sheet1"));
    }
    planner.plan
}

struct Planner<'a> {
    language: Option<&'a str>,
    plan: Plan<'a>,
    /// Used names, in lower case.
    used: BTreeSet<String>,
    /// The last number of the names with the same beginning, since many headings may be the same.
    numbers: HashMap<String, usize>,
    indent: u8,
    /// The number of lists around the current block.
    lists: usize,
    /// The directives for the next table.
    directives: Vec<Directive>,
    /// The headings without content.
    empty: Vec<String>,
}

impl<'a> Planner<'a> {
    fn begin(&mut self, heading: &str) {
        self.drop_empty();
        let name = self.name(heading);
        if name != heading {
            self.plan.warnings.push(format!("The sheet “{heading}” was renamed to “{name}”."));
        }
        self.plan.sheets.push(SheetPlan { name, heading: heading.to_owned(), parts: Vec::new() });
    }

    /// Drops the empty sheet of a chapter whose text starts with a section.
    fn drop_empty(&mut self) {
        if let Some(sheet) = self.plan.sheets.pop_if(|sheet| sheet.parts.is_empty()) {
            self.used.remove(&sheet.name.to_lowercase());
            let clean = allowed(&sheet.heading);
            let is_numbered = sheet.name != cut(&clean, NAME_UNITS);
            let number = self.numbers.get_mut(&beginning(&clean)).filter(|_| is_numbered);
            if let Some(number) = number {
                *number -= 1;
            }
            self.empty.push(sheet.name);
        }
    }

    fn report_empty(&mut self) {
        let end = match self.empty.len() {
            0 => return,
            1 => "has no content, so it has no sheet.",
            _ => "have no content, so they have no sheets.",
        };
        let names = listed(self.empty.iter().map(String::as_str));
        self.plan.warnings.push(format!("{names} {end}"));
    }

    /// Excel rejects `[]:*?/\`, an apostrophe at either end, duplicate names in any case, and the
    /// name History.
    fn name(&mut self, heading: &str) -> String {
        let clean = allowed(heading);
        let mut name = cut(&clean, NAME_UNITS);
        let number = self.numbers.entry(beginning(&clean)).or_insert(1);
        while name.eq_ignore_ascii_case("history") || self.used.contains(&name.to_lowercase()) {
            *number += 1;
            let suffix = format!(" ({number})");
            name = cut(&clean, NAME_UNITS - suffix.len()) + &suffix;
        }
        self.used.insert(name.to_lowercase());
        name
    }

    fn push(&mut self, part: PlannedPart<'a>) {
        let sheet = self.plan.sheets.last_mut().expect("a sheet begins before its parts");
        sheet.parts.push(part);
    }

    fn line(&mut self, mark: &str, content: &[Inline]) {
        let mut runs = Runs::read(content);
        if !mark.is_empty() {
            runs.pieces.insert(0, Run { text: mark.to_owned(), style: RunStyle::default() });
        }
        self.push(PlannedPart::Text(SheetLine { runs, heading: false, indent: self.indent }));
    }

    fn inside(&mut self, draw: impl FnOnce(&mut Self)) {
        let indent = self.indent;
        self.indent = indent.saturating_add(1).min(15);
        draw(self);
        self.indent = indent;
    }

    fn block(&mut self, block: &'a Block) {
        match block {
            Block::Heading { content, .. } => {
                let runs = Runs::read(content);
                self.push(PlannedPart::Text(SheetLine {
                    runs,
                    heading: true,
                    indent: self.indent,
                }));
            }
            Block::Paragraph(content) => self.paragraph("", content),
            Block::List(list) => self.list(list),
            Block::Table(table) => {
                let directives = std::mem::take(&mut self.directives);
                self.push(PlannedPart::Table(table, directives));
            }
            Block::Comment(text) => self.comment(text),
            Block::Code { text, .. } => self.code(text),
            Block::Quote { alert, blocks } => self.quote(*alert, blocks),
            Block::Definitions(items) => {
                for Definition { term, description } in items {
                    self.line("", &[Inline::Strong(term.clone())]);
                    self.inside(|planner| description.iter().for_each(|b| planner.block(b)));
                }
            }
            Block::Columns(columns) => self.columns(columns),
            Block::Chart(chart) => self.push(PlannedPart::Chart(chart)),
            Block::Math(latex) => self.line("", &[Inline::Math(latex.clone())]),
            Block::Break => {}
        }
    }

    /// Pictures are placed below their text, each above its title.
    fn paragraph(&mut self, mark: &str, content: &'a [Inline]) {
        if !matches!(content, [Inline::Image { .. }]) {
            self.line(mark, content);
        }
        let mut pictures = Vec::new();
        each_in(content, &mut |inline| {
            if let Inline::Image { url, alt, title } = inline {
                pictures.push((url, alt, title));
            }
        });
        for (url, alt, title) in pictures {
            self.push(PlannedPart::Pictures(vec![SheetPicture { url, alt }]));
            self.caption(title);
        }
    }

    /// The title of a picture, below it.
    fn caption(&mut self, title: &str) {
        if !title.is_empty() {
            self.line("", &[Inline::Emphasis(vec![Inline::Text(title.to_owned())])]);
        }
    }

    /// Columns below each other, but pictures side by side.
    fn columns(&mut self, columns: &'a [Vec<Block>]) {
        let pictures = columns.iter().map(|column| match &column[..] {
            [Block::Paragraph(content)] => match &content[..] {
                [Inline::Image { url, alt, title }] => Some((SheetPicture { url, alt }, title)),
                _ => None,
            },
            _ => None,
        });
        let Some(pictures) = pictures.collect::<Option<Vec<_>>>() else {
            return columns.iter().flatten().for_each(|block| self.block(block));
        };
        self.push(PlannedPart::Pictures(pictures.iter().map(|(picture, _)| *picture).collect()));
        for (_, title) in pictures {
            self.caption(title);
        }
    }

    fn comment(&mut self, text: &str) {
        match directives::read(text) {
            Some(Ok(directive)) => self.directives.push(directive),
            Some(Err(why)) => {
                let text = text.trim();
                self.plan.warnings.push(format!("“{text}” is invalid: {why}."));
            }
            None => {}
        }
    }

    fn list(&mut self, list: &'a List) {
        let numerals = Numerals::of(self.lists);
        self.lists += 1;
        for (at, item) in list.items.iter().enumerate() {
            let mark = match (item.task, list.start) {
                (Some(true), _) => "☒ ".to_owned(),
                (Some(false), _) => "☐ ".to_owned(),
                (None, Some(start)) => {
                    format!("{}. ", numerals.write(start.saturating_add(at as u64)))
                }
                (None, None) => "• ".to_owned(),
            };
            let mut blocks = item.blocks.iter();
            match blocks.next() {
                Some(Block::Paragraph(content)) => self.paragraph(&mark, content),
                first => {
                    self.line(&mark, &[]);
                    self.inside(|planner| first.into_iter().for_each(|b| planner.block(b)));
                }
            }
            self.inside(|planner| blocks.for_each(|block| planner.block(block)));
        }
        self.lists -= 1;
    }

    fn code(&mut self, text: &str) {
        for line in text.lines() {
            self.line("", &[Inline::Code(line.replace('\t', "    "))]);
        }
    }

    fn quote(&mut self, alert: Option<Alert>, blocks: &'a [Block]) {
        if let Some(alert) = alert {
            let title = Inline::Text(words::alert(alert, self.language).to_owned());
            self.line("", &[Inline::Strong(vec![title])]);
        }
        self.inside(|planner| blocks.iter().for_each(|block| planner.block(block)));
    }

    fn notes(&mut self, document: &'a Document) {
        if document.notes.is_empty() {
            return;
        }
        let name = self.name("Notes");
        self.plan.sheets.push(SheetPlan { heading: name.clone(), name, parts: Vec::new() });
        for (at, note) in document.notes.iter().enumerate() {
            let mut blocks = note.iter();
            match blocks.as_slice() {
                [Block::Paragraph(content), rest @ ..] => {
                    self.paragraph(&format!("[{}] ", at + 1), content);
                    blocks = rest.iter();
                }
                _ => self.line(&format!("[{}]", at + 1), &[]),
            }
            self.inside(|planner| blocks.for_each(|block| planner.block(block)));
        }
    }
}

/// A name for a workbook's only sheet.
pub fn clean_name(heading: &str) -> String {
    let name = cut(&allowed(heading), NAME_UNITS);
    if name.eq_ignore_ascii_case("history") { "Sheet1".to_owned() } else { name }
}

/// The heading without characters that Excel rejects.
fn allowed(heading: &str) -> String {
    let clean: String = heading
        .chars()
        .map(|c| if "[]:*?/\\".contains(c) || c.is_control() { ' ' } else { c })
        .collect();
    let clean = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = clean.trim_matches('\'');
    if clean.is_empty() { "Sheet".to_owned() } else { clean.to_owned() }
}

/// The part that two headings have in common if a number could give their sheets the same name.
fn beginning(clean: &str) -> String {
    cut(clean, NUMBERED_UNITS).to_lowercase()
}

/// The longest prefix of whole characters that fits.
fn cut(text: &str, units: usize) -> String {
    let mut left = units;
    let fits = |c: &char| {
        let size = c.len_utf16();
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    text.chars().take_while(fits).collect::<String>().trim_end().trim_matches('\'').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;

    #[test]
    fn names_of_sheets_are_valid_and_unique() {
        let headings = [
            "A/B: [bad]*name?\\ that is much longer than thirty-one characters",
            "Types 类型",
            "types 类型",
            "History",
            "''",
            "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀",
        ];
        let source =
            headings.map(|h| format!("## {}\n\nx\n\n", h.replace(['\\', '[', '*'], ""))).concat();
        let document = markdown::read(&source).unwrap();
        let names: Vec<String> = plan(&document).sheets.into_iter().map(|s| s.name).collect();
        assert_eq!(names.len(), headings.len());
        assert_eq!(names[1..5], ["Types 类型", "types 类型 (2)", "History (2)", "Sheet"]);
        for name in &names {
            assert!(name.encode_utf16().count() <= NAME_UNITS, "{name}");
            assert!(!name.contains(['[', ']', ':', '*', '?', '/', '\\']), "{name}");
        }
    }

    /// Each number is tried once, and not for each of the sheets.
    #[test]
    fn many_sheets_may_have_the_same_heading() {
        let source = format!("{}# a\n# a\ny\n", "# a\n\nx\n\n".repeat(30_000));
        let document = markdown::read(&source).unwrap();
        let plan = plan(&document);
        let last = plan.sheets.last().map(|sheet| sheet.name.as_str());
        assert_eq!((plan.sheets.len(), last), (30_001, Some("a (30001)")));
    }

    #[test]
    fn a_chapter_without_text_of_its_own_has_no_sheet() {
        let document = markdown::read("# Report\n## A\nx\n## B\ny\n## End\n").unwrap();
        let plan = plan(&document);
        let names: Vec<&str> = plan.sheets.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["A", "B"]);
        assert_eq!(plan.warnings, ["“Report” and “End” have no content, so they have no sheets."]);
        assert_eq!(super::plan(&markdown::read("# Only\n").unwrap()).sheets.len(), 1);
    }

    #[test]
    fn every_heading_of_the_first_two_levels_is_a_sheet() {
        let document =
            markdown::read("before\n# A\ntext\n## B\n### c\n| x |\n|---|\n| 1 |\n").unwrap();
        let plan = plan(&document);
        let names: Vec<&str> = plan.sheets.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["Sheet1", "A", "B"]);
        assert!(matches!(plan.sheets[2].parts[..], [PlannedPart::Text(_), PlannedPart::Table(..)]));
    }
}
