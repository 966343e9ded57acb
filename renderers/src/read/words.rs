//! Paragraphs, formatting, lists and tables as Markdown. Text is not escaped, so that a model can
//! quote it verbatim; only a line that would be a heading, an item, a quote or a rule is.

use super::{limits, line_starts, reading::ReadError};

/// A document that is being built.
#[derive(Debug, Default)]
pub struct Words {
    text: String,
    /// Whether the last block was a list item, which the next one follows without an empty line.
    in_list: bool,
    /// How far the items of each open level indent those in them.
    indents: Vec<usize>,
    /// Whether the last block was a paragraph of a quote.
    in_quote: bool,
    cells: usize,
}

/// The maximum depth of an item.
const DEPTH: usize = 9;
/// The maximum number of headers and footers that are read.
const EDGES: usize = 200;

/// Headers and footers, each once.
#[derive(Debug, Default)]
pub struct EdgeTexts {
    texts: Vec<String>,
    is_cut: bool,
}

impl EdgeTexts {
    pub fn add(&mut self, text: String) {
        if text.is_empty() || self.texts.contains(&text) {
            return;
        }
        if self.texts.len() < EDGES {
            self.texts.push(text);
        } else {
            self.is_cut = true;
        }
    }

    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.texts.retain(|text| keeps(text));
    }
}

/// The formatting of a run of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    pub strong: bool,
    pub emphasis: bool,
    pub strike: bool,
    pub script: Script,
}

/// Whether letters are raised or lowered. Without their marks, 10⁶ would be 106.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Script {
    #[default]
    Level,
    Raised,
    Lowered,
}

impl Script {
    /// The tags around the text.
    pub fn tags(self) -> [&'static str; 2] {
        match self {
            Self::Level => [""; 2],
            Self::Raised => ["<sup>", "</sup>"],
            Self::Lowered => ["<sub>", "</sub>"],
        }
    }
}

/// What a list item begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemMark {
    Bullet,
    /// `1.`
    Number(u64),
    /// A task, and whether it is done.
    Task(bool),
    /// A label that Markdown lacks, such as `a.`, `(1)` or `2.1`. It is written in place of a bullet,
    /// as in Pandoc's Markdown: text refers to items by their labels, which a number would replace,
    /// and a bullet before it would be a second mark.
    Label(String),
}

impl ItemMark {
    pub fn written(&self) -> String {
        match self {
            Self::Bullet => "-".to_owned(),
            Self::Number(number) => format!("{number}."),
            Self::Task(done) => format!("- [{}]", if *done { 'x' } else { ' ' }),
            Self::Label(label) => label.clone(),
        }
    }

    /// How far items in this one are indented: at least by the width of its mark, as CommonMark wants.
    fn indent(&self) -> usize {
        match self {
            Self::Bullet | Self::Task(_) => 2,
            Self::Number(_) => (self.written().len() + 1).max(4),
            Self::Label(_) => 4,
        }
    }
}

/// The formatted text of one paragraph.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    marks: Marks,
}

impl Line {
    pub fn push(&mut self, text: &str, marks: Marks) {
        if self.is_full() {
            return;
        }
        let bare = text.trim();
        if bare.is_empty() {
            self.text.push_str(text);
            return;
        }
        if marks == self.marks {
            self.text.push_str(text);
            return;
        }
        let (lead, rest) = text.split_at(text.len() - text.trim_start().len());
        // Other marks stay open around a superscript: `****` would end none.
        let is_level = |marks: Marks| marks == Marks { script: marks.script, ..Marks::default() };
        let is_same = Marks { script: marks.script, ..self.marks } == marks;
        if is_same && !is_level(marks) {
            self.insert(self.marks.script.tags()[1]);
            self.text.extend([lead, marks.script.tags()[0], rest]);
        } else {
            self.close();
            self.text.extend([lead, &opening(marks), marks.script.tags()[0], rest]);
        }
        self.marks = marks;
    }

    /// Adds unformatted text: a break, a picture, a footnote number.
    pub fn push_plain(&mut self, text: &str) {
        self.close();
        if !self.is_full() {
            self.text.push_str(text);
        }
    }

    /// Whether the text is longer than anything that is written. A file may repeat a long text, such
    /// as the target of a link, more often than memory allows.
    fn is_full(&self) -> bool {
        self.text.len() > limits::MARKDOWN_BYTES
    }

    fn close(&mut self) {
        // Without marks, the space at the end is not looked through again for each addition to it.
        if self.marks == Marks::default() {
            return;
        }
        let closing: String = opening(self.marks).chars().rev().collect();
        self.insert(self.marks.script.tags()[1]);
        self.insert(&closing);
        self.marks = Marks::default();
    }

    /// Adds the end of a mark before the space at the end.
    fn insert(&mut self, closing: &str) {
        let end = self.text.trim_end().len();
        self.text.insert_str(end, closing);
    }

    pub fn finish(self) -> String {
        self.verbatim().trim().to_owned()
    }

    /// The text with the spaces around it.
    pub fn verbatim(mut self) -> String {
        self.close();
        self.text
    }
}

fn opening(marks: Marks) -> String {
    let parts = [(marks.strike, "~~"), (marks.strong, "**"), (marks.emphasis, "*")];
    parts.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect()
}

impl Words {
    pub fn heading(&mut self, level: usize, text: &str) {
        if !text.is_empty() {
            self.block(&format!("{} {}", "#".repeat(level.clamp(1, 6)), text.replace('\n', " ")));
        }
    }

    pub fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.block(text);
        }
    }

    /// A paragraph of text that is no Markdown, apart from its marks.
    pub fn text(&mut self, text: &str) {
        self.paragraph(&line_starts::escaped(text));
    }

    /// A paragraph of a quote, which continues the quote before it.
    pub fn quote(&mut self, text: &str) {
        if text.is_empty() || self.is_full() {
            return;
        }
        let quoted = format!("> {}", line_starts::escaped(text).replace('\n', "\n> "));
        if self.in_quote {
            self.text.extend([">\n", &quoted, "\n"]);
        } else {
            self.block(&quoted);
        }
        self.in_quote = true;
    }

    pub fn edges(&mut self, edges: &EdgeTexts) {
        if !edges.texts.is_empty() {
            self.heading(2, "Headers and footers");
        }
        for text in &edges.texts {
            self.paragraph(text);
        }
        if edges.is_cut {
            self.paragraph("Further headers and footers were left out.");
        }
    }

    /// A list item with a bullet; `depth` starts at 0.
    pub fn bullet(&mut self, depth: usize, text: &str) {
        self.item(depth, &ItemMark::Bullet, text);
    }

    /// A list item; `depth` starts at 0.
    pub fn item(&mut self, depth: usize, mark: &ItemMark, text: &str) {
        if text.is_empty() || self.is_full() {
            return;
        }
        let text = line_starts::escaped(text);
        if !self.in_list {
            self.gap();
            self.indents.clear();
        }
        self.indents.truncate(depth.min(DEPTH));
        // Levels without an item are those of a list like this one.
        self.indents.resize(depth.min(DEPTH), mark.indent());
        let indent = " ".repeat(self.indents.iter().sum());
        self.indents.push(mark.indent());
        let more = format!("\n{indent}  ");
        self.text.extend([&indent, &mark.written(), " ", &text.replace('\n', &more), "\n"]);
        (self.in_list, self.in_quote) = (true, false);
    }

    /// Writes a table; the first row is the header. Rows may have different lengths.
    pub fn table(&mut self, rows: &[Vec<String>]) -> Result<(), ReadError> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Ok(());
        }
        limits::within(columns as u64, limits::COLUMNS as u64, "columns in a table")?;
        self.cells += columns * rows.len();
        limits::within(self.cells as u64, limits::CELLS as u64, "table cells")?;
        let line = |row: &[String]| {
            let cell = |at: usize| row.get(at).map(|text| in_cell(text)).unwrap_or_default();
            format!("| {} |\n", (0..columns).map(cell).collect::<Vec<_>>().join(" | "))
        };
        let mut table = line(&rows[0]);
        table.extend(["|", &" --- |".repeat(columns), "\n"]);
        table.extend(rows[1..].iter().map(|row| line(row)));
        self.block(table.trim_end());
        Ok(())
    }

    /// Removes a paragraph if nothing has followed it.
    pub fn retract(&mut self, paragraph: &str) {
        if let Some(before) = self.text.trim_end_matches('\n').strip_suffix(paragraph) {
            let end = before.trim_end_matches('\n').len();
            self.text.truncate(end);
            self.text.extend((end > 0).then_some('\n'));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub fn finish(self) -> String {
        self.text.trim_matches('\n').to_owned()
    }

    fn block(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        self.gap();
        self.text.push_str(text);
        self.text.push('\n');
        (self.in_list, self.in_quote) = (false, false);
    }

    /// Whether there is more than is shown, so that the rest need not be kept.
    fn is_full(&self) -> bool {
        self.text.len() > limits::MARKDOWN_BYTES
    }

    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

fn in_cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_hold_words_and_not_the_space_around_them() {
        let strong = Marks { strong: true, ..Marks::default() };
        let mut line = Line::default();
        line.push("a", Marks::default());
        line.push(" b ", strong);
        line.push("c", strong);
        line.push(" d", Marks::default());
        assert_eq!(line.finish(), "a **b c** d");
    }

    #[test]
    fn raised_and_lowered_letters_are_marked() {
        let marks = |strong, script| Marks { strong, script, ..Marks::default() };
        let mut line = Line::default();
        line.push("10", marks(false, Script::Level));
        line.push("6 ", marks(false, Script::Raised));
        line.push("units H", marks(true, Script::Level));
        line.push("2", marks(true, Script::Lowered));
        line.push("O", marks(true, Script::Level));
        line.push(" x", marks(false, Script::Level));
        line.push("2", marks(false, Script::Raised));
        line.push_plain("[^1]");
        assert_eq!(line.finish(), "10<sup>6</sup> **units H<sub>2</sub>O** x<sup>2</sup>[^1]");
    }

    #[test]
    fn tasks_have_boxes_and_items_are_escaped() {
        let mut words = Words::default();
        words.item(0, &ItemMark::Task(true), "done");
        words.item(1, &ItemMark::Task(false), "# open");
        words.quote("> said");
        words.text("- text\nand\n# more");
        words.paragraph("# Markdown");
        let wanted =
            "- [x] done\n  - [ ] \\# open\n\n> \\> said\n\n\\- text\nand\n\\# more\n\n# Markdown";
        assert_eq!(words.finish(), wanted);
    }

    #[test]
    fn tables_and_lists_stand_as_markdown() {
        let mut words = Words::default();
        words.heading(2, "T");
        words.bullet(0, "one");
        words.bullet(1, "two");
        words.table(&[vec!["a|b".into()], vec!["1\n2".into(), "3".into()]]).unwrap();
        let wanted = "## T\n\n- one\n  - two\n\n| a\\|b |  |\n| --- | --- |\n| 1<br>2 | 3 |";
        assert_eq!(words.finish(), wanted);
    }

    #[test]
    fn items_may_have_labels_of_their_own() {
        let mut words = Words::default();
        words.paragraph("Before");
        words.item(0, &ItemMark::Label("b)".into()), "one\nmore");
        words.item(1, &ItemMark::Label("i.".into()), "two");
        words.item(0, &ItemMark::Number(3), "three");
        assert_eq!(words.finish(), "Before\n\nb) one\n  more\n    i. two\n3. three");
    }

    #[test]
    fn items_are_indented_by_the_marks_of_those_that_they_are_in() {
        let mut words = Words::default();
        for (depth, mark) in [
            (0, ItemMark::Number(1)),
            (1, ItemMark::Bullet),
            (2, ItemMark::Number(1)),
            (3, ItemMark::Task(false)),
            (1, ItemMark::Number(1000)),
            (2, ItemMark::Bullet),
            (0, ItemMark::Bullet),
            (1, ItemMark::Label("a)".into())),
        ] {
            words.item(depth, &mark, "x");
        }
        let wanted = "1. x\n    - x\n      1. x\n          - [ ] x\n    1000. x\n          - x\n\
                      - x\n  a) x";
        assert_eq!(words.finish(), wanted);
        let mut words = Words::default();
        words.item(0, &ItemMark::Number(1), "x");
        words.item(2, &ItemMark::Bullet, "two levels in it");
        words.paragraph("between");
        words.item(1, &ItemMark::Bullet, "a list that begins within");
        let wanted = "1. x\n      - two levels in it\n\nbetween\n\n  - a list that begins within";
        assert_eq!(words.finish(), wanted);
    }

    #[test]
    fn text_over_the_limit_is_not_kept() {
        let long = "x".repeat(limits::MARKDOWN_BYTES / 4);
        let (mut words, mut line) = (Words::default(), Line::default());
        for _ in 0..20 {
            words.paragraph(&long);
            words.quote(&long);
            words.bullet(0, &long);
            line.push(&long, Marks::default());
            line.push_plain(&long);
        }
        for text in [words.finish(), line.finish()] {
            assert!((limits::MARKDOWN_BYTES..limits::MARKDOWN_BYTES * 2).contains(&text.len()));
        }
    }

    #[test]
    fn headers_and_footers_are_limited_and_written_once() {
        let mut edges = EdgeTexts::default();
        for at in 0..EDGES * 2 {
            edges.add((at / 2).to_string());
        }
        let written = |edges: &EdgeTexts| {
            let mut words = Words::default();
            words.edges(edges);
            words.finish()
        };
        assert_eq!(written(&edges).lines().count(), 1 + 2 * EDGES);
        edges.add("more".to_owned());
        edges.add("199".to_owned());
        assert!(written(&edges).ends_with("\n199\n\nFurther headers and footers were left out."));
    }

    #[test]
    fn a_paragraph_that_introduces_nothing_is_removed() {
        let mut words = Words::default();
        words.paragraph("text");
        words.paragraph("> Notes:");
        words.retract("> Notes:");
        words.paragraph("> Notes:");
        words.paragraph("said");
        words.retract("> Notes:");
        assert_eq!(words.finish(), "text\n\n> Notes:\n\nsaid");
    }

    #[test]
    fn paragraphs_of_a_quote_are_one_quote() {
        let mut words = Words::default();
        words.quote("one\nline");
        words.quote("two");
        words.paragraph("between");
        words.quote("three");
        assert_eq!(words.finish(), "> one\n> line\n>\n> two\n\nbetween\n\n> three");
    }
}
