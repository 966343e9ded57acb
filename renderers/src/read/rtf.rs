//! Rich Text Format (Microsoft's specification, 1.9.1): text, formatting, lists and tables.
//! Pictures, headers, text boxes, comments and ignorable groups are skipped; of the fields, links and
//! symbols are read.

use std::collections::BTreeSet;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::{
    charset, labels, limits,
    reading::{Kind, ReadError, Reading},
    rtf_changes::RtfChange,
    rtf_fields::{hyperlink, symbol},
    rtf_fonts::RtfFonts,
    rtf_notes::{RtfLine, RtfNotes},
    rtf_places::{RtfPlace, place},
    rtf_tables::RtfTables,
    rtf_tokens::{RtfToken, next},
    symbol_fonts,
    words::{Marks, Script, Words},
};

/// The signature of RTF files.
pub const START: &[u8] = b"{\\rtf";

/// Control words for single characters.
const SIGNS: [(&str, &str); 8] = [
    ("emdash", "—"),
    ("endash", "–"),
    ("lquote", "‘"),
    ("rquote", "’"),
    ("ldblquote", "“"),
    ("rdblquote", "”"),
    ("bullet", "•"),
    ("tab", "\t"),
];

pub fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut rtf = Rtf::default();
    let mut rest = bytes;
    while let Some((token, after)) = next(rest) {
        rest = after;
        rtf.step(&token)?;
        if let RtfToken::Word("bin", Some(count)) = token {
            rest = rest.get(usize::try_from(count).unwrap_or(0)..).unwrap_or_default();
        }
    }
    rtf.finish()
}

/// State that applies until the end of a group.
#[derive(Clone, Default)]
struct Group {
    place: RtfPlace,
    marks: Marks,
    is_hidden: bool,
    change: Option<RtfChange>,
    /// The font number, if it is not the default.
    font: Option<usize>,
    /// The number of fallback bytes after a Unicode character.
    stand_in: Option<usize>,
    paragraph: RtfParagraph,
    /// Whether its text is that of a link.
    in_link: bool,
    /// Whether its text is that of a footnote.
    in_note: bool,
}

#[derive(Clone, Copy, Default)]
struct RtfParagraph {
    /// The heading level.
    heading: Option<usize>,
    /// The list depth, if it has a bullet or number.
    depth: usize,
    in_table: bool,
    /// The nesting of its table, if it is more than one.
    nesting: Option<usize>,
}

#[derive(Default)]
struct Rtf {
    words: Words,
    line: RtfLine,
    notes: RtfNotes,
    has_changes: bool,
    instruction: String,
    /// The place before `\*`, which skips a group unless the next word is known.
    before_star: Option<RtfPlace>,
    /// The bullet or number of the current paragraph.
    mark: String,
    groups: Vec<Group>,
    group: Group,
    encoding: Option<&'static Encoding>,
    fonts: RtfFonts,
    /// Text that is not decoded yet.
    bytes: Vec<u8>,
    /// The first surrogate of a pair.
    half: Option<u16>,
    /// The number of fallback bytes to skip in this group.
    skip: usize,
    tables: RtfTables,
    /// The kinds of dropped text.
    lost: BTreeSet<&'static str>,
}

impl Rtf {
    fn step(&mut self, token: &RtfToken<'_>) -> Result<(), ReadError> {
        match *token {
            RtfToken::Text(text) => {
                let skipped = self.skip.min(text.len());
                self.skip -= skipped;
                self.bytes.extend_from_slice(&text[skipped..]);
                return Ok(());
            }
            RtfToken::Byte(_) if self.skip > 0 => {
                self.skip -= 1;
                return Ok(());
            }
            RtfToken::Byte(byte) => {
                self.bytes.push(byte);
                return Ok(());
            }
            _ => self.decode(),
        }
        match *token {
            RtfToken::Open => {
                limits::depth(self.groups.len())?;
                self.groups.push(self.group.clone());
                self.skip = 0;
            }
            RtfToken::Close => {
                let outer = self.groups.pop().unwrap_or_default();
                let ended = std::mem::replace(&mut self.group, outer);
                self.before_star = None;
                if ended.in_link && !self.group.in_link {
                    self.line.end_link();
                }
                if ended.in_note && !self.group.in_note {
                    self.notes.end(&mut self.line);
                }
                self.skip = 0;
            }
            RtfToken::Sign(b'*') => {
                let skipped = std::mem::replace(&mut self.group.place, RtfPlace::Nowhere);
                self.before_star = Some(skipped);
            }
            RtfToken::Sign(b'~') => self.push("\u{a0}"),
            RtfToken::Sign(b'_') => self.push("-"),
            RtfToken::Sign(sign @ (b'\\' | b'{' | b'}')) => self.bytes.push(sign),
            RtfToken::Sign(b'\r' | b'\n') => self.word("par", None)?,
            RtfToken::Word(name, number) => self.word(name, number)?,
            RtfToken::Sign(_) | RtfToken::Text(_) | RtfToken::Byte(_) => {}
        }
        Ok(())
    }

    fn word(&mut self, name: &str, number: Option<i32>) -> Result<(), ReadError> {
        let before_star = self.before_star.take();
        let is_on = number != Some(0);
        let count = number.and_then(|number| usize::try_from(number).ok());
        let group = &mut self.group;
        match name {
            "b" => group.marks.strong = is_on,
            "i" => group.marks.emphasis = is_on,
            "strike" => group.marks.strike = is_on,
            "super" | "up" => group.marks.script = script(Script::Raised, is_on),
            "sub" | "dn" => group.marks.script = script(Script::Lowered, is_on),
            "nosupersub" => group.marks.script = Script::Level,
            "v" => group.is_hidden = is_on,
            "f" => group.font = count,
            "deleted" => group.change = is_on.then_some(RtfChange::Deleted),
            // Text that is inserted and deleted is deleted.
            "revised" if group.change != Some(RtfChange::Deleted) => {
                group.change = is_on.then_some(RtfChange::Inserted);
            }
            "revised" => {}
            "plain" => {
                (group.marks, group.is_hidden, group.font) = (Marks::default(), false, None);
                group.change = None;
            }
            "pard" => group.paragraph = RtfParagraph::default(),
            "intbl" => group.paragraph.in_table = true,
            "itap" => group.paragraph.nesting = count,
            "outlinelevel" => group.paragraph.heading = count.filter(|level| *level < 6),
            "ilvl" => group.paragraph.depth = count.unwrap_or(0).min(8),
            "uc" => group.stand_in = count,
            "u" => self.unicode(number.unwrap_or(0)),
            "ansicpg" => self.encoding = charset::of_page(count.unwrap_or(0)),
            "deff" => self.fonts.usual = count.unwrap_or(0),
            "fcharset" => self.fonts.charset(group.font, count.unwrap_or(1)),
            "cpg" => self.fonts.encoding(group.font, charset::of_page(count.unwrap_or(0))),
            "fldrslt" => self.begin_result(),
            name => match place(name) {
                Some(place) => {
                    self.group.place = before_star.unwrap_or(self.group.place);
                    self.enter(place);
                }
                None => self.flow(name, number)?,
            },
        }
        Ok(())
    }

    /// Groups inside a skipped group are skipped too.
    fn enter(&mut self, place: RtfPlace) {
        let is_shown = matches!(place, RtfPlace::Note | RtfPlace::Mark | RtfPlace::NestedRow);
        let is_field = place == RtfPlace::Instruction;
        if (is_shown && self.group.place != RtfPlace::Text) || (is_field && !self.is_shown()) {
            return;
        }
        if is_field {
            self.instruction.clear();
        }
        if place == RtfPlace::Note {
            self.notes.begin(&mut self.line);
            self.group.in_note = true;
        }
        self.group.place = place;
    }

    fn is_shown(&self) -> bool {
        matches!(self.group.place, RtfPlace::Text | RtfPlace::Note) && !self.group.is_hidden
    }

    /// Begins the text of a field, which may be a link.
    fn begin_result(&mut self) {
        let instruction = std::mem::take(&mut self.instruction);
        if !self.is_shown() {
            return;
        }
        if let Some(link) = hyperlink(&instruction) {
            self.line.begin_link(link);
            self.group.in_link = true;
        }
        if let Some(symbol) = symbol(&instruction) {
            self.push(&symbol.to_string());
            // The text is the same symbol, or empty.
            self.group.place = RtfPlace::Nowhere;
        }
    }

    /// Breaks and symbols; only in the body do they end paragraphs, cells and rows.
    fn flow(&mut self, name: &str, number: Option<i32>) -> Result<(), ReadError> {
        match (name, self.group.place) {
            ("par" | "sect" | "page", RtfPlace::Text) => self.paragraph()?,
            ("line", RtfPlace::Text) => self.push("\n"),
            // A table in a footnote is text.
            ("line" | "par", _) | ("cell" | "nestcell", RtfPlace::Note) => self.push(" "),
            ("cell" | "nestcell", RtfPlace::Text) => {
                let depth = if name == "cell" { 1 } else { self.nesting().max(2) };
                let text = self.entry();
                self.tables.add(depth, &text);
                self.tables.end_cell(depth);
            }
            ("row", RtfPlace::Text) => self.tables.end_row(),
            ("nestrow", RtfPlace::Text | RtfPlace::NestedRow) => self.tables.end_nested_row(),
            _ => {
                if let Some((_, sign)) = SIGNS.iter().find(|(known, _)| *known == name) {
                    self.push(sign);
                } else {
                    self.tables.define(self.group.place, name, number);
                }
            }
        }
        Ok(())
    }

    /// A UTF-16 code unit, followed by a fallback for older readers.
    fn unicode(&mut self, number: i32) {
        let unit = number as u16;
        let units = self.half.take().into_iter().chain([unit]);
        if (0xd800..0xdc00).contains(&unit) {
            self.half = Some(unit);
        } else {
            let text: String = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect();
            let text = self.fonts.characters(self.group.font, text);
            self.push(&text);
        }
        self.skip = self.group.stand_in.unwrap_or(1);
    }

    fn decode(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let font = self.group.font;
            if self.group.place == RtfPlace::Fonts {
                return self.fonts.name(font, &String::from_utf8_lossy(&bytes));
            }
            let text = self.fonts.text(font, &bytes, self.encoding.unwrap_or(WINDOWS_1252));
            self.push(&text);
        }
    }

    fn push(&mut self, text: &str) {
        let hidden = self.group.is_hidden.then_some(RtfChange::Hidden);
        match self.group.place {
            RtfPlace::Text | RtfPlace::Note => {
                let change = self.group.change.or(hidden);
                self.has_changes |= self.group.change.is_some();
                self.line.push(text, self.group.marks, change);
            }
            _ if hidden.is_some() => {}
            RtfPlace::Mark => self.mark.push_str(text),
            RtfPlace::Instruction => self.instruction.push_str(text),
            RtfPlace::Lost(what) if !text.trim().is_empty() => {
                self.lost.insert(what);
            }
            RtfPlace::Lost(_) | RtfPlace::NestedRow | RtfPlace::Fonts | RtfPlace::Nowhere => {}
        }
    }

    /// The end of a paragraph, which is a line inside a cell.
    fn paragraph(&mut self) -> Result<(), ReadError> {
        let RtfParagraph { heading, depth, in_table, .. } = self.group.paragraph;
        if in_table {
            let text = self.entry();
            self.tables.add(self.nesting(), &text);
            return Ok(());
        }
        self.end_table()?;
        if let Some(level) = heading {
            let text = self.entry();
            self.words.heading(level + 1, text.trim_matches('*'));
            return Ok(());
        }
        let text = self.line.take();
        match std::mem::take(&mut self.mark).trim() {
            "" => self.words.text(&text),
            label => self.words.item(depth, &labels::written_mark(label), &text),
        }
        Ok(())
    }

    /// The paragraph on one line, with its number if it has one.
    fn entry(&mut self) -> String {
        let text = self.line.take();
        let mark = std::mem::take(&mut self.mark);
        if labels::is_number(mark.trim()) { format!("{} {text}", mark.trim()) } else { text }
    }

    /// The depth of the table that the paragraph belongs to.
    fn nesting(&self) -> usize {
        self.group.paragraph.nesting.unwrap_or(1)
    }

    fn end_table(&mut self) -> Result<(), ReadError> {
        let rows = self.tables.finish();
        if rows.is_empty() { Ok(()) } else { self.words.table(&rows) }
    }

    /// Handles text after the last end of a paragraph, in any open group.
    fn finish(mut self) -> Result<Reading, ReadError> {
        self.decode();
        self.group = Group::default();
        self.notes.end_all(&mut self.line);
        self.tables.end_row();
        self.paragraph()?;
        self.notes.write_to(&mut self.words);
        let reading = Reading::of(Kind::Rtf, self.words.finish());
        let lost = |what: &&str| format!("{what} were skipped.");
        let mut warnings: Vec<String> = self.lost.iter().map(lost).collect();
        if self.has_changes {
            warnings.push("Tracked changes are marked: {++inserted++}, {--deleted--}.".into());
        }
        warnings.extend(symbol_fonts::warning(&self.fonts.unknown));
        warnings.extend(self.tables.warnings.iter().map(|warning| (*warning).to_owned()));
        Ok(Reading { warnings, ..reading })
    }
}

/// A position of letters, if it is on.
fn script(script: Script, is_on: bool) -> Script {
    if is_on { script } else { Script::Level }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tables::MERGED;

    fn markdown(rtf: &str) -> String {
        read(rtf.as_bytes()).unwrap().markdown
    }

    #[test]
    fn words_marks_lists_and_tables_are_read() {
        let rtf = "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}{\\info{\\author Ann}}\n\
            \\pard\\outlinelevel0 Rivers\\par\\pard Gr\\'f6\\'dfe \\b bold\\b0  and \\u8364? \\{x\\}\\par\n\
            {\\field{\\*\\fldinst HYPERLINK \"http://a\"}{\\fldrslt link}}\\par\n\
            {\\listtext\\bullet\\tab}one\\par{\\listtext 2.\\tab}two\\par\n\
            \\pard\\trowd\\intbl a\\cell b\\cell\\row\\intbl 1\\cell 2\\par 3\\cell\\row\\pard End\\par}";
        let markdown = markdown(rtf);
        for words in [
            "# Rivers",
            "Größe **bold** and € {x}",
            "[link](http://a)",
            "- one",
            "2. two",
            "| a | b |",
            "| 1 | 2<br>3 |",
            "End",
        ] {
            assert!(markdown.contains(words), "{words}: {markdown}");
        }
        for words in ["Arial", "Ann", "HYPERLINK"] {
            assert!(!markdown.contains(words), "{words}: {markdown}");
        }
    }

    #[test]
    fn other_scripts_come_by_code_page_and_by_number() {
        assert_eq!(markdown("{\\rtf1\\ansicpg936 \\'d6\\'d0\\'ce\\'c4\\par}").trim(), "中文");
        assert_eq!(markdown("{\\rtf1\\uc2 \\u-10179 ??\\u-8704 ??!\\par}").trim(), "😀!");
    }

    /// Word writes each bullet in a separate group, which starts with a separate paragraph.
    #[test]
    fn lists_as_word_writes_them_are_lists() {
        let rtf = "{\\rtf1\\ansi{\\fonttbl{\\f0 Calibri;}{\\f3\\fcharset2 Symbol;}}\\pard\\plain Before\\par\n\
            {\\listtext\\pard\\plain \\f3 \\'b7\\tab}\\pard \\fi-360\\li720\\ls1 {\\rtlch one}\\par\n\
            {\\listtext\\pard\\plain o\\tab}\\pard \\ilvl1\\ls1 inner\\par\n\
            {\\listtext\\pard\\plain \\f3 \\'b7\\tab}\\pard \\ls1 two\\tab tabbed\\par\n\
            \\pard between\\tab words\\par\n\
            {\\pntext\\pard\\plain 3)\\tab}\\pard \\ls2{\\*\\pn\\pnlvlbody} third\\par\n\
            {\\listtext\\pard\\plain b)\\tab}\\pard \\ilvl1\\ls2 inner\\par\n\
            {\\listtext 2.1\\tab}\\pard\\outlinelevel1 Head\\par\n\
            {\\listtext 3.\\tab}\\pard\\intbl cell\\par more\\cell\\row\\pard After\\par}";
        let wanted = "Before\n\n- one\n  - inner\n- two\ttabbed\n\nbetween\twords\n\n3. third\n    b) inner\n\n\
            ## 2.1 Head\n\n| 3. cell<br>more |\n| --- |\n\nAfter";
        assert_eq!(markdown(rtf), wanted);
    }

    /// Word writes the properties of an inner row after its cells, and paragraphs for readers that
    /// know no nested tables.
    #[test]
    fn tables_in_cells_are_lines() {
        let row = |cells: &str| {
            format!("{cells}{{\\*\\nesttableprops\\trowd\\cellx9\\nestrow}}{{\\nonesttables\\par}}")
        };
        let cells = |one: &str, two: &str| {
            let inner = "\\pard\\intbl\\itap2";
            format!("{inner} {one}\\nestcell{inner} {two}\\nestcell")
        };
        let rtf = format!(
            "{{\\rtf1 \\trowd\\pard\\intbl a\\cell before\\par {}{}\\pard\\intbl after\\cell\\row\
             \\pard End\\par}}",
            row(&cells("n1", "n2\\par more")),
            row(&cells("n3", "{\\pard\\intbl\\itap3 deep\\nestcell}x"))
        );
        let wanted =
            "| a | before<br>n1 ; n2<br>more<br>n3 ; deep<br>x<br>after |\n| --- | --- |\n\nEnd";
        assert_eq!(markdown(&rtf), wanted);
    }

    /// As Word marks the parts, and as LibreOffice writes wide cells.
    #[test]
    fn parts_of_merged_cells_are_marked() {
        let wanted = "| A | Wide | ← | D |\n| --- | --- | --- | --- |\n| Tall | b | c | d |\n\
            | ↑ | Block | ← | e |\n| ↑ | ↑ | ↑ | f |";
        let marked = "{\\rtf1 \\trowd\\cellx9\\clmgf\\cellx99\\clmrg\\cellx199\\cellx299\n\
            \\intbl A\\cell Wide\\cell\\cell D\\cell\\row\n\
            \\trowd\\clvmgf\\cellx9\\cellx99\\cellx199\\cellx299 Tall\\cell b\\cell c\\cell d\\cell\\row\n\
            \\trowd\\clvmrg\\cellx9\\clvmgf\\clmgf\\cellx99\\clvmgf\\clmrg\\cellx199\\cellx299\n\
            \\cell Block\\cell\\cell e\\cell\\row\n\
            \\trowd\\clvmrg\\cellx9\\clmgf\\clvmrg\\cellx99\\clmrg\\clvmrg\\cellx199\\cellx299\n\
            \\cell\\cell\\cell f\\cell\\row}";
        let wide = "{\\rtf1 \\trowd\\cellx586\\cellx1382\\cellx1728\\intbl A\\cell Wide\\cell D\\cell\\row\n\
            \\trowd\\clvmgf\\cellx586\\cellx995\\cellx1382\\cellx1728 Tall\\cell b\\cell c\\cell d\\cell\\row\n\
            \\trowd\\clvmrg\\cellx586\\clvmgf\\cellx1382\\cellx1730\\cell Block\\cell e\\cell\\row\n\
            \\trowd\\clvmrg\\cellx586\\clvmrg\\cellx1382\\cellx1728\\cell\\cell f\\cell\\row}";
        for rtf in [marked, wide] {
            let reading = read(rtf.as_bytes()).unwrap();
            assert_eq!(reading.markdown, wanted, "{rtf}");
            assert_eq!(reading.warnings, [MERGED]);
        }
    }

    /// LibreOffice writes surplus ends of cells after a table in a cell, and the definition of the row
    /// again.
    #[test]
    fn merged_cells_around_a_table_in_a_cell_are_marked() {
        let row = "\\trowd\\cellx3213\\cellx6425\\clvmrg\\cellx9638";
        let rtf = format!(
            "{{\\rtf1 \\trowd\\cellx6425\\clvmgf\\cellx9638\\intbl wide\\cell tall\\cell\\row\n\
             {row} a\\cell\\pard\\intbl\\itap2 w\\nestcell{{\\*\\nesttableprops\\trowd\\cellx3213\\nestrow}}\n\
             t\\nestcell b\\nestcell{{\\*\\nesttableprops\\trowd\\clvmgf\\cellx1606\\cellx3213\\nestrow}}\n\
             \\nestcell c\\nestcell{{\\*\\nesttableprops\\trowd\\clvmrg\\cellx1606\\cellx3213\\nestrow}}\n\
             \\pard\\intbl\\cell{row}\\cell\\cell\\cell\\row{row}\n\
             x\\cell\\cell own\\cell\\row}}"
        );
        let wanted = "| wide | ← | tall |\n| --- | --- | --- |\n\
            | a | w ; ←<br>t ; b<br>↑ ; c | ↑ |\n| x |  | own |";
        assert_eq!(markdown(&rtf), wanted);
    }

    /// A cell with a text of its own keeps it, and a border that was moved merges nothing.
    #[test]
    fn other_cells_of_rtf_are_not_marked() {
        let rtf = "{\\rtf1 \\trowd\\cellx100\\cellx200\\cellx300\\intbl a\\cell b\\cell c\\cell\\row\n\
            \\trowd\\clvmrg\\cellx150\\cellx300 d\\cell e\\cell\\row}";
        let reading = read(rtf.as_bytes()).unwrap();
        assert_eq!(reading.markdown, "| a | b | c |\n| --- | --- | --- |\n| d | e |  |");
        assert_eq!(reading.warnings, Vec::<String>::new());
    }

    #[test]
    fn a_font_says_what_its_bytes_mean() {
        let fonts = "{\\rtf1\\ansi\\deff1{\\fonttbl{\\f0\\fcharset0 Calibri;}{\\f1\\fnil\\fcharset204 Calibri;}\
            {\\f2\\fcharset161 Arial;}{\\f3\\fcharset128 MS Mincho;}{\\f4\\fcharset255 Odd;}}";
        for (text, wanted) in [
            ("\\pard\\f1\\'ca\\'eb\\'fe\\'f7", "Ключ"),
            ("\\'ca {\\f0 \\'ca} \\'ca", "К Ê К"),
            ("\\f0 \\'ca \\plain \\'ca", "Ê К"),
            ("\\f2\\'c1", "Α"),
            ("\\f3\\'93\\'fa\\'96\\'7b", "日本"),
            ("\\f4\\'ca \\f9\\'ca", "Ê Ê"),
        ] {
            assert_eq!(markdown(&format!("{fonts}{text}\\par}}")), wanted, "{text}");
        }
    }

    const BOX_IN_CELL: &str = "\\trowd\\pard\\intbl a\\cell b {\\shp{\\*\\shpinst{\\shptxt \\pard\\intbl\\itap2 \
        x\\nestcell{\\*\\nesttableprops\\trowd\\cellx9\\nestrow}{\\nonesttables\\par}\\pard\\par}}}more\\cell\\row\
        \\pard\\intbl c\\cell d\\cell\\row\\pard End\\par";
    const NOTE_IN_CELL: &str = "\\trowd\\pard\\intbl a\\cell b {\\footnote \\pard\\intbl\\itap2 x\\nestcell\
        {\\*\\nesttableprops\\trowd\\cellx9\\nestrow}{\\nonesttables\\par}\\pard note} more\\cell\\row\
        \\pard\\intbl c\\cell d\\cell\\row\\pard End\\par";

    #[test]
    fn skipped_groups_do_not_change_their_surroundings() {
        for (text, wanted) in [
            ("a \\v hidden\\v0 rest\\par", "a {hidden: hidden}rest"),
            ("a {\\v hidden}\\v b\\plain c\\par", "a {hidden: hiddenb}c"),
            ("a{\\xe{\\v entry}} b\\par", "a b"),
            ("{\\header \\pard\\intbl x\\cell\\row\\pard\\par}a\\par", "a"),
            ("a {\\*\\shpinst x\\par\\page}b\\par", "a b"),
            (
                "\\intbl a{\\footnote \\pard one\\par two} b\\cell\\row",
                "| a[^1] b |\n| --- |\n\n## Footnotes\n\n[^1]: one two",
            ),
            (
                "a{\\footnote \\pard one\\par two} b\\par",
                "a[^1] b\n\n## Footnotes\n\n[^1]: one two",
            ),
            ("{\\u8364}abc\\par", "€abc"),
            ("\\u8364{a}bc\\par", "€abc"),
            (BOX_IN_CELL, "| a | b more |\n| --- | --- |\n| c | d |\n\nEnd"),
            (
                NOTE_IN_CELL,
                "| a | b [^1] more |\n| --- | --- |\n| c | d |\n\nEnd\n\n## Footnotes\n\n[^1]: x note",
            ),
            ("\\intbl a\\cell b", "| a |\n| --- |\n\nb"),
        ] {
            assert_eq!(markdown(&format!("{{\\rtf1 {text}}}")), wanted, "{text}");
        }
    }

    /// LibreOffice marks footnotes as groups that may be skipped.
    #[test]
    fn a_star_skips_only_what_is_unknown() {
        for (text, wanted) in [
            (
                "a{\\super \\chftn{\\*\\footnote\\chftn\\pard\\plain  one}} b\\par",
                "a[^1] b\n\n## Footnotes\n\n[^1]: one",
            ),
            ("a{\\*\\unknown{\\*\\footnote x}} b\\par", "a b"),
            (
                "{\\field{\\*\\fldinst{ HYPERLINK \"https://a.b/(c)\" }}{\\fldrslt{\\b bold} text}} after\\par",
                "[**bold** text](https://a.b/%28c%29) after",
            ),
            ("{\\field{\\*\\fldinst PAGE}{\\fldrslt 3}}\\par", "3"),
            (
                "{\\field{\\*\\fldinst HYPERLINK \"https://a\"}{\\fldrslt x\\par y}}\\par",
                "[x](https://a)\n\ny",
            ),
        ] {
            assert_eq!(markdown(&format!("{{\\rtf1 {text}}}")), wanted, "{text}");
        }
    }

    #[test]
    fn letters_of_symbol_fonts_are_the_symbols_that_they_show() {
        let fonts = "{\\fonttbl{\\f0 Calibri;}{\\f13\\fnil\\fcharset2 Wingdings;}\
            {\\f3\\fcharset2{\\*\\panose 05}Symbol;}{\\f4\\fcharset2 Webdings;}}";
        let fields = "{\\field{\\*\\fldinst SYMBOL 224 \\\\f Wingdings}{\\fldrslt \\f13\\'e0}}\
            {\\field{\\*\\fldinst SYMBOL 252 \\\\f \"Wingdings\" \\\\s 10}{\\fldrslt\\f13}}";
        let rtf = format!(
            "{{\\rtf1\\ansi{fonts}A {{\\f13 \\'e0}} B {{\\f13\\'fc}}{{\\f3 a\\u-3933?}}{{\\f4 x}}\
             {{\\f13\\'01}} {fields}\\par}}"
        );
        let reading = read(rtf.as_bytes()).unwrap();
        assert_eq!(reading.markdown, "A → B ✔α≤x\u{fffd} →✔");
        let unknown = "Symbols without a Unicode character are shown as \u{fffd}: Wingdings.";
        assert_eq!(reading.warnings, [unknown]);
    }

    #[test]
    fn footnotes_stand_apart_from_the_text_around_them() {
        let rtf = "{\\rtf1 Price is 100{\\footnote \\pard\\plain Only {\\b for} members}EUR{\\b  today}\\par\n\
            10{\\super 6} units, H\\sub 2\\nosupersub O, x\\up6 2\\up0  end{\\footnote Open";
        let wanted = "Price is 100[^1]EUR **today**\n\n\
            10<sup>6</sup> units, H<sub>2</sub>O, x<sup>2</sup> end[^2]\n\n\
            ## Footnotes\n\n[^1]: Only **for** members\n\n[^2]: Open";
        assert_eq!(markdown(rtf), wanted);
    }

    #[test]
    fn lines_of_cells_stay_lines_and_text_is_escaped() {
        let rtf = "{\\rtf1 \\intbl one\\par two\\line three\\cell four\\cell\\row\\pard # no\\line - list\\par}";
        let wanted = "| one<br>two<br>three | four |\n| --- | --- |\n\n\\# no\n\\- list";
        assert_eq!(markdown(rtf), wanted);
    }

    #[test]
    fn changes_are_marked_and_comments_are_named_as_lost() {
        let rtf = "{\\rtf1 kept {\\deleted\\revauthdel1 gone}{\\revised new \\b words\\b0}\\par\n\
            {\\revised\\deleted both}\\deleted a\\par b\\deleted0 c\\par\n\
            x{\\*\\atnid AB}{\\*\\atnauthor Ann}{\\*\\annotation{\\*\\atnref 1} Why?} y\\par}";
        let reading = read(rtf.as_bytes()).unwrap();
        let wanted = "kept {--gone--}{++new **words**++}\n\n{--botha--}\n\n{--b--}c\n\nx y";
        assert_eq!(reading.markdown, wanted);
        let changes = "Tracked changes are marked: {++inserted++}, {--deleted--}.";
        assert_eq!(reading.warnings, ["Comments were skipped.", changes]);
    }

    #[test]
    fn headers_and_boxes_that_say_something_are_named_as_lost() {
        let warnings = |rtf: &str| read(rtf.as_bytes()).unwrap().warnings;
        let rtf = "{\\rtf1{\\headerl Acme}{\\footer \\b Acme}a{\\shp{\\*\\shpinst{\\sp{\\sn x}{\\sv 1}}\
            {\\shptxt \\pard Box\\par}}}\\par}";
        let wanted = ["Headers and footers were skipped.", "Text boxes were skipped."];
        assert_eq!(warnings(rtf), wanted);
        let rtf =
            "{\\rtf1{\\header \\pard\\plain{\\*\\bkmkstart x}\\par}{\\*\\shpinst{\\sv 1}}a\\par}";
        assert_eq!(warnings(rtf), Vec::<String>::new());
    }

    /// Proves S14.
    #[test]
    fn malformed_rtf_is_read_and_deep_nesting_is_rejected() {
        for rtf in
            ["{\\rtf1 a", "{\\rtf1 \\'z", "{\\rtf1 \\bin9999999 x}", "{\\rtf1}}}}b", "{\\rtf1\\"]
        {
            read(rtf.as_bytes()).unwrap();
        }
        assert!(read("{".repeat(100_000).as_bytes()).is_err());
    }
}
