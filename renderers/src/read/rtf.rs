//! Rich Text Format (Microsoft's specification, 1.9.1): words, marks, lists and tables. Pictures,
//! headers, instructions of fields, and whatever a reader may skip, are skipped.

use encoding_rs::{Encoding, WINDOWS_1252};

use super::{
    limits,
    reading::{Kind, ReadError, Reading},
    words::{Line, Marks, Words},
};

/// How such a file begins.
pub const START: &[u8] = b"{\\rtf";

/// Groups that are no text of the document.
const SKIPPED: [&str; 14] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "object",
    "fldinst",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
];
/// Signs that have words of their own.
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
        if let Token::Word("bin", Some(count)) = token {
            rest = rest.get(usize::try_from(count).unwrap_or(0)..).unwrap_or_default();
        }
    }
    rtf.paragraph()?;
    rtf.end_table()?;
    Ok(Reading::of(Kind::Rtf, rtf.words.finish()))
}

enum Token<'a> {
    Open,
    Close,
    Word(&'a str, Option<i32>),
    /// A backslash before something else than a letter.
    Sign(u8),
    /// A byte by its number.
    Byte(u8),
    Text(&'a [u8]),
}

fn next(bytes: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match first {
        b'{' => Some((Token::Open, rest)),
        b'}' => Some((Token::Close, rest)),
        b'\\' => match rest.split_first()? {
            (b'\'', rest) => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok();
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                Some((Token::Byte(byte.unwrap_or(b'?')), &rest[2..]))
            }
            (letter, _) if letter.is_ascii_alphabetic() => Some(word(rest)),
            (sign, rest) => Some((Token::Sign(*sign), rest)),
        },
        b'\r' | b'\n' => Some((Token::Text(&[]), rest)),
        _ => {
            let is_special = |byte: &u8| matches!(byte, b'{' | b'}' | b'\\' | b'\r' | b'\n');
            let end = bytes.iter().position(is_special).unwrap_or(bytes.len());
            Some((Token::Text(&bytes[..end]), &bytes[end..]))
        }
    }
}

/// Letters, a number perhaps, and the space that ends them.
fn word(bytes: &[u8]) -> (Token<'_>, &[u8]) {
    let count = |bytes: &[u8], is: fn(&u8) -> bool| bytes.iter().take_while(|b| is(b)).count();
    let (name, rest) = bytes.split_at(count(bytes, u8::is_ascii_alphabetic));
    let sign = usize::from(rest.first() == Some(&b'-'));
    let digits = count(&rest[sign..], u8::is_ascii_digit);
    let (number, rest) = rest.split_at(if digits == 0 { 0 } else { sign + digits });
    let ascii = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    let token = Token::Word(ascii(name), ascii(number).parse().ok());
    (token, rest.strip_prefix(b" ").unwrap_or(rest))
}

/// What holds until the end of a group.
#[derive(Clone, Default)]
struct Group {
    marks: Marks,
    is_skipped: bool,
    /// How many bytes stand in for a character of Unicode that old readers do not know.
    stand_in: Option<usize>,
}

#[derive(Default)]
struct Rtf {
    words: Words,
    line: Line,
    groups: Vec<Group>,
    group: Group,
    encoding: Option<&'static Encoding>,
    /// Text that is not decoded yet.
    bytes: Vec<u8>,
    /// The first half of a character.
    half: Option<u16>,
    /// Bytes to come that stand in for what was read already.
    skip: usize,
    /// Level of the heading that the paragraph is.
    heading: Option<usize>,
    /// Depth of the list that the paragraph is in, as its mark says.
    list: Option<usize>,
    in_table: bool,
    cells: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rtf {
    fn step(&mut self, token: &Token<'_>) -> Result<(), ReadError> {
        match *token {
            Token::Text(text) => {
                let skipped = self.skip.min(text.len());
                self.skip -= skipped;
                self.bytes.extend_from_slice(&text[skipped..]);
                return Ok(());
            }
            Token::Byte(_) if self.skip > 0 => {
                self.skip -= 1;
                return Ok(());
            }
            Token::Byte(byte) => {
                self.bytes.push(byte);
                return Ok(());
            }
            _ => self.decode(),
        }
        match *token {
            Token::Open => {
                limits::depth(self.groups.len())?;
                self.groups.push(self.group.clone());
            }
            Token::Close => self.group = self.groups.pop().unwrap_or_default(),
            Token::Sign(b'*') => self.group.is_skipped = true,
            Token::Sign(b'~') => self.push("\u{a0}"),
            Token::Sign(b'_') => self.push("-"),
            Token::Sign(sign @ (b'\\' | b'{' | b'}')) => self.bytes.push(sign),
            Token::Sign(b'\r' | b'\n') => self.paragraph()?,
            Token::Word(name, number) => self.word(name, number)?,
            Token::Sign(_) | Token::Text(_) | Token::Byte(_) => {}
        }
        Ok(())
    }

    fn word(&mut self, name: &str, number: Option<i32>) -> Result<(), ReadError> {
        let is_on = number != Some(0);
        let count = number.and_then(|number| usize::try_from(number).ok());
        match name {
            name if SKIPPED.contains(&name) => self.group.is_skipped = true,
            "v" => self.group.is_skipped |= is_on,
            "b" => self.group.marks.strong = is_on,
            "i" => self.group.marks.emphasis = is_on,
            "strike" => self.group.marks.strike = is_on,
            "plain" => self.group.marks = Marks::default(),
            "uc" => self.group.stand_in = count,
            "u" => self.unicode(number.unwrap_or(0)),
            "ansicpg" => self.encoding = code_page(count.unwrap_or(0)),
            "par" | "sect" | "page" => self.paragraph()?,
            "line" => self.push(" "),
            "pard" => (self.in_table, self.heading, self.list) = (false, None, None),
            "intbl" => self.in_table = true,
            "outlinelevel" => self.heading = count.filter(|level| *level < 6),
            "ilvl" => self.list = count,
            "listtext" | "pntext" => self.list = self.list.or(Some(0)),
            "cell" | "nestcell" => {
                let cell = std::mem::take(&mut self.line).finish();
                self.cells.push(cell.trim().to_owned());
            }
            "row" | "nestrow" => self.rows.push(std::mem::take(&mut self.cells)),
            name => {
                if let Some((_, sign)) = SIGNS.iter().find(|(known, _)| *known == name) {
                    self.push(sign);
                }
            }
        }
        Ok(())
    }

    /// A character by its number in UTF-16; what follows it is for readers that do not know it.
    fn unicode(&mut self, number: i32) {
        let unit = number as u16;
        let units = self.half.take().into_iter().chain([unit]);
        if (0xd800..0xdc00).contains(&unit) {
            self.half = Some(unit);
        } else {
            let text: String = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect();
            self.push(&text);
        }
        self.skip = self.group.stand_in.unwrap_or(1);
    }

    fn decode(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let encoding = self.encoding.unwrap_or(WINDOWS_1252);
            self.push(&encoding.decode_without_bom_handling(&bytes).0);
        }
    }

    fn push(&mut self, text: &str) {
        if !self.group.is_skipped {
            self.line.push(text, self.group.marks);
        }
    }

    /// The end of a paragraph; in a cell it is a space.
    fn paragraph(&mut self) -> Result<(), ReadError> {
        self.decode();
        if self.in_table {
            self.push(" ");
            return Ok(());
        }
        self.end_table()?;
        let text = std::mem::take(&mut self.line).finish();
        let text = text.trim();
        match (self.heading, self.list, text.split_once('\t')) {
            (Some(level), ..) => self.words.heading(level + 1, text.trim_matches('*')),
            (None, Some(depth), Some((mark, text))) => {
                let numbered = mark.contains(char::is_alphanumeric);
                self.words.entry(depth.min(8), numbered, text.trim());
            }
            _ => self.words.paragraph(text),
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), ReadError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() { Ok(()) } else { self.words.table(&rows) }
    }
}

fn code_page(number: usize) -> Option<&'static Encoding> {
    let label = match number {
        932 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        10_000 => "macintosh",
        65_001 => "utf-8",
        number => return Encoding::for_label(format!("windows-{number}").as_bytes()),
    };
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(rtf: &str) -> String {
        read(rtf.as_bytes()).unwrap().markdown
    }

    #[test]
    fn words_marks_lists_and_tables_are_read() {
        let rtf = "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}{\\info{\\author Ann}}\n\
            \\pard\\outlinelevel0 Rivers\\par\\pard Gr\\'f6\\'dfe \\b bold\\b0  and \\u8364? \\{x\\}\\par\n\
            {\\field{\\*\\fldinst HYPERLINK \"http://a\"}{\\fldrslt link}}\\par\n\
            {\\listtext\\bullet\\tab}one\\par{\\listtext 1.\\tab}two\\par\n\
            \\pard\\trowd\\intbl a\\cell b\\cell\\row\\intbl 1\\cell 2\\par 3\\cell\\row\\pard End\\par}";
        let markdown = markdown(rtf);
        for words in [
            "# Rivers",
            "Größe **bold** and € {x}",
            "link",
            "- one",
            "1. two",
            "| a | b |",
            "| 1 | 2 3 |",
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

    #[test]
    fn s14_what_is_broken_ends_and_what_is_deep_is_refused() {
        for rtf in
            ["{\\rtf1 a", "{\\rtf1 \\'z", "{\\rtf1 \\bin9999999 x}", "{\\rtf1}}}}b", "{\\rtf1\\"]
        {
            read(rtf.as_bytes()).unwrap();
        }
        assert!(read("{".repeat(100_000).as_bytes()).is_err());
    }
}
