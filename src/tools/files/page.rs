//! Extracts one page of a text that arrives in pieces. Pure.

/// The requested range: lines from 1, characters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start_line: u64,
    pub start_column: u64,
    /// The last requested line.
    pub end_line: u64,
    /// The maximum length of the page, including line numbers; the last number may exceed it.
    pub max_chars: usize,
}

/// Where the text continues after the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    pub line: u64,
    /// Set if the page ends within the line.
    pub column: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPage {
    /// Lines such as `    10│ fn main() {`.
    pub content: String,
    pub total_lines: u64,
    pub lines_shown: u64,
    pub next: Option<Next>,
    /// Whether the text ends with a line break, as it should.
    pub ends_with_newline: bool,
}

/// Processes the text piece by piece, and keeps only the page.
#[derive(Debug)]
pub struct Pager {
    range: Range,
    /// The current line, and the number of its characters that were processed.
    line: u64,
    column: u64,
    open: bool,
    content: String,
    chars: usize,
    shown: u64,
    /// The current line with its number, once it is in the range.
    current: Option<String>,
    next: Option<Next>,
}

impl Pager {
    pub fn new(range: Range) -> Self {
        Self {
            range,
            line: 1,
            column: 0,
            open: false,
            content: String::new(),
            chars: 0,
            shown: 0,
            current: None,
            next: None,
        }
    }

    pub fn feed(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let body = piece.strip_suffix('\n');
            self.take(body.unwrap_or(piece));
            self.open = true;
            if body.is_some() {
                self.end_line();
            }
        }
    }

    pub fn finish(mut self) -> TextPage {
        let ends_with_newline = !self.open;
        if self.open {
            self.end_line();
        }
        let total_lines = self.line - 1;
        let after = self.range.end_line.saturating_add(1);
        let more = (after <= total_lines).then_some(Next { line: after, column: None });
        TextPage {
            content: self.content,
            total_lines,
            lines_shown: self.shown,
            next: self.next.or(more),
            ends_with_newline,
        }
    }

    fn is_wanted(&self) -> bool {
        self.next.is_none() && (self.range.start_line..=self.range.end_line).contains(&self.line)
    }

    fn take(&mut self, body: &str) {
        if !self.is_wanted() {
            return;
        }
        // An empty line counts as well, because of its number.
        if self.current.is_none() && self.shown > 0 && self.chars >= self.range.max_chars {
            self.break_off();
            return;
        }
        let line = self.line;
        let current = self.current.get_or_insert_with(|| {
            let number = format!("{line:>6}│ ");
            self.chars += number.chars().count() + 1;
            number
        });
        let skip = if line == self.range.start_line { self.range.start_column - 1 } else { 0 };
        for character in body.chars() {
            self.column += 1;
            if self.column <= skip {
                continue;
            }
            if self.chars >= self.range.max_chars {
                self.break_off();
                return;
            }
            self.chars += 1;
            current.push(character);
        }
    }

    /// Ends the page. A line that is not the first of the page is left for the next page as a
    /// whole.
    fn break_off(&mut self) {
        if self.shown > 0 {
            self.current = None;
            self.next = Some(Next { line: self.line, column: None });
        } else {
            self.next = Some(Next { line: self.line, column: Some(self.column) });
            self.show();
        }
    }

    fn end_line(&mut self) {
        self.show();
        self.line += 1;
        self.column = 0;
        self.open = false;
    }

    fn show(&mut self) {
        let Some(current) = self.current.take() else { return };
        if self.shown > 0 {
            self.content.push('\n');
        }
        self.content += &current;
        self.shown += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: Range =
        Range { start_line: 1, start_column: 1, end_line: u64::MAX, max_chars: 1000 };

    fn page(text: &str, range: Range) -> TextPage {
        let mut pager = Pager::new(range);
        pager.feed(text);
        pager.finish()
    }

    /// The lines without the numbers in front of them.
    fn bare(content: &str) -> String {
        let lines = content.split('\n').map(|line| line.split_once("│ ").unwrap().1);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Proves FO-03.
    #[test]
    fn line_numbers_are_right_aligned() {
        let text = "x\n".repeat(9) + "fn main() {\n";
        let page = page(&text, Range { start_line: 9, ..ALL });
        assert_eq!(page.content, "     9│ x\n    10│ fn main() {");
    }

    /// Proves FO-30.
    #[test]
    fn lines_are_counted_as_people_do() {
        for (text, lines, whole) in
            [("", 0, true), ("a", 1, false), ("a\n", 1, true), ("a\n\n", 2, true), ("\n", 1, true)]
        {
            let page = page(text, ALL);
            assert_eq!((page.total_lines, page.lines_shown), (lines, lines), "{text:?}");
            assert_eq!(page.ends_with_newline, whole, "{text:?}");
            assert_eq!(page.next, None);
        }
    }

    /// Proves FO-30.
    #[test]
    fn carriage_returns_stay() {
        assert_eq!(page("a\r\nb\r\n", ALL).content, "     1│ a\r\n     2│ b\r");
    }

    /// Proves FO-02.
    #[test]
    fn a_page_says_where_the_next_one_begins() {
        let text = (1..=50).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let page = page(&text, Range { start_line: 10, end_line: 29, ..ALL });
        assert!(page.content.starts_with("    10│ line 10\n"));
        assert!(page.content.ends_with("\n    29│ line 29"));
        assert_eq!((page.lines_shown, page.total_lines), (20, 50));
        assert_eq!(page.next, Some(Next { line: 30, column: None }));
    }

    /// Proves MC-19.
    #[test]
    fn a_long_line_goes_on_where_it_broke_off() {
        let first = page("abcdefghij\nk", Range { max_chars: 14, ..ALL });
        assert_eq!(first.content, "     1│ abcde");
        assert_eq!(first.next, Some(Next { line: 1, column: Some(6) }));
        let rest = page("abcdefghij\nk", Range { start_column: 6, ..ALL });
        assert_eq!(rest.content, "     1│ fghij\n     2│ k");
        assert_eq!(rest.next, None);
    }

    /// Proves MC-19.
    #[test]
    fn a_line_that_just_fits_is_not_continued() {
        let page = page("abcde", Range { max_chars: 14, ..ALL });
        assert_eq!((page.content.as_str(), page.next), ("     1│ abcde", None));
    }

    /// Proves MC-19.
    #[test]
    fn a_line_of_ten_megabytes_reassembles_to_the_byte() {
        let text = "a😀漢字\u{200d}é".repeat(700_000);
        assert!(text.len() > 10_000_000);
        let (mut whole, mut range) = (String::new(), Range { max_chars: 1_000_000, ..ALL });
        loop {
            let page = page(&text, range);
            whole += &bare(&page.content);
            let Some(next) = page.next else { break };
            range.start_line = next.line;
            range.start_column = next.column.unwrap();
        }
        assert!(whole == text, "{} of {} bytes", whole.len(), text.len());
    }

    /// Lines without characters fill a page too.
    /// Proves MC-19, FO-05.
    #[test]
    fn empty_lines_have_an_end() {
        let page = page(&"\n".repeat(1_000_000), ALL);
        assert_eq!(page.next, Some(Next { line: 113, column: None }));
        assert_eq!((page.lines_shown, page.total_lines), (112, 1_000_000));
    }

    proptest! {
        /// Proves MC-19.
        #[test]
        fn a_page_of_a_file_has_a_limited_length(
            text in "[a\n]{0,200}",
            max_chars in 1_usize..60,
        ) {
            const NUMBER: usize = "    10│ ".len();
            let page = page(&text, Range { max_chars, ..ALL });
            prop_assert!(page.content.chars().count() <= max_chars + NUMBER);
        }

        /// Proves MC-19.
        #[test]
        fn any_text_reassembles_in_any_pieces(
            text in "[a😀\r\n]{0,40}",
            max_chars in 10_usize..60,
            piece in 1_usize..7,
        ) {
            let pieces: Vec<String> = text
                .chars()
                .collect::<Vec<_>>()
                .chunks(piece)
                .map(|chars| chars.iter().collect())
                .collect();
            let (mut whole, mut range) = (String::new(), Range { max_chars, ..ALL });
            for _ in 0..200 {
                let mut pager = Pager::new(range);
                for piece in &pieces {
                    pager.feed(piece);
                }
                let page = pager.finish();
                if page.lines_shown > 0 {
                    whole += &bare(&page.content);
                }
                let Some(next) = page.next else {
                    if page.ends_with_newline && page.total_lines > 0 {
                        whole.push('\n');
                    }
                    break;
                };
                if next.column.is_none() {
                    whole.push('\n');
                }
                range.start_line = next.line;
                range.start_column = next.column.unwrap_or(1);
            }
            prop_assert_eq!(whole, text);
        }
    }
}
