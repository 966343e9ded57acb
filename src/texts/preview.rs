//! The preview that a tool adds to an approval request: the change that it would make, in Markdown.
//!
//! A preview stores its text in full and truncates it only for display, so that redaction always
//! sees complete secrets.

use channels::text::reveal;

use super::{Language, PreviewNote, PreviewTexts};

/// The number of lines of a problem that are shown.
const PROBLEM_LINES: usize = 20;
const PROBLEM_LINE_CHARS: usize = 300;

/// A preview, and the arguments that it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Paragraphs before the block.
    notes: Vec<PreviewNote>,
    block: Option<Block>,
    /// The language of the people who decide.
    language: Language,
    /// The arguments whose text the block contains. All others are shown separately.
    covers: &'static [&'static str],
}

/// A text in a fence that it cannot close, and the size of the part that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub language: &'static str,
    pub text: String,
    /// The number of lines shown. If it is 0, only the note is shown.
    pub lines: usize,
    pub line_chars: usize,
}

impl Preview {
    /// A note that shows no argument.
    pub fn note(note: PreviewNote) -> Self {
        Self { notes: vec![note], ..Self::default() }
    }

    /// Writes the notes in this language.
    pub fn in_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// A failed preview. The problem may quote arguments, so it must not act as Markdown.
    pub fn failure(problem: impl std::fmt::Display) -> Self {
        let problem = Block {
            language: "",
            text: problem.to_string(),
            lines: PROBLEM_LINES,
            line_chars: PROBLEM_LINE_CHARS,
        };
        Self::block(problem).after(PreviewNote::Failure)
    }

    /// Why the call would fail, if this is a failed preview.
    pub fn problem(&self) -> Option<&str> {
        let block = self.block.as_ref().filter(|_| self.notes == [PreviewNote::Failure])?;
        Some(&block.text)
    }

    pub fn block(block: Block) -> Self {
        Self { block: Some(block), ..Self::default() }
    }

    /// Declares that the block contains these arguments. A preview without a block, or one that
    /// omits something, covers nothing.
    pub fn covering(self, arguments: &'static [&'static str]) -> Self {
        Self { covers: arguments, ..self }
    }

    /// Adds a paragraph before the preview.
    pub fn after(mut self, note: PreviewNote) -> Self {
        self.notes.insert(0, note);
        self
    }

    pub fn covers(&self, argument: &str) -> bool {
        let is_whole = self.block.as_ref().is_some_and(|block| !block.is_cut());
        is_whole && self.covers.contains(&argument)
    }

    /// Whether the shown text is exactly the value of this argument, and not a diff of it.
    pub fn shows(&self, argument: &str, value: &str) -> bool {
        let is_value = self.block.as_ref().is_some_and(|block| block.text == value);
        is_value && self.covers(argument) && reveal(&self.shown()).contains(&reveal(value))
    }

    /// Whether the shown text omits anything.
    pub fn is_cut(&self) -> bool {
        self.block.as_ref().is_some_and(Block::is_cut)
    }

    /// The text that the request shows.
    pub fn shown(&self) -> String {
        let block = self.block.as_ref().filter(|block| block.lines > 0);
        self.joined(block.map(|block| block.shown(self.texts())))
    }

    /// The full text.
    pub fn everything(&self) -> String {
        self.joined(self.block.as_ref().map(|block| block.everything(self.texts())))
    }

    /// Applies a function to all texts, before anything is cut.
    pub fn map(self, change: impl Fn(&str) -> String) -> Self {
        let block = self.block.map(|block| Block { text: change(&block.text), ..block });
        let notes = self.notes.into_iter().map(|note| note.map(&change)).collect();
        Self { notes, block, ..self }
    }

    fn texts(&self) -> &'static PreviewTexts {
        &self.language.words().previews
    }

    /// The notes and the block as paragraphs.
    fn joined(&self, block: Option<String>) -> String {
        let notes = self.notes.iter().map(self.texts().note);
        let parts = notes.chain(block).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

impl Block {
    fn is_cut(&self) -> bool {
        let is_long = |line: &str| line.chars().nth(self.line_chars).is_some();
        self.all_lines().count() > self.lines || self.all_lines().any(is_long)
    }

    fn all_lines(&self) -> impl Iterator<Item = &str> {
        self.text.split_terminator('\n')
    }

    fn shown(&self, texts: &PreviewTexts) -> String {
        self.fenced(self.lines, self.line_chars, texts)
    }

    fn everything(&self, texts: &PreviewTexts) -> String {
        self.fenced(usize::MAX, usize::MAX, texts)
    }

    /// Uses a fence that is longer than any run of backticks in the text.
    fn fenced(&self, lines: usize, line_chars: usize, texts: &PreviewTexts) -> String {
        let shown = self.all_lines().take(lines).map(|line| visible(line, line_chars, texts));
        let shown = shown.collect::<Vec<_>>().join("\n");
        let fence = "`".repeat(longest_run(&shown).max(2) + 1);
        let rest = match self.all_lines().count().saturating_sub(lines) {
            0 => String::new(),
            more => format!("\n{}", (texts.more_lines)(more)),
        };
        format!("{fence}{}\n{shown}\n{fence}{rest}", self.language)
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A line with invisible and direction-changing characters made visible.
fn visible(line: &str, max_chars: usize, texts: &PreviewTexts) -> String {
    let seen = |text: &str| reveal(&text.replace('\r', "␍"));
    match line.char_indices().nth(max_chars) {
        None => seen(line),
        Some((end, _)) => {
            let more = line[end..].chars().count();
            format!("{} {}", seen(&line[..end]), (texts.more_characters)(more))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Preview {
        Preview::block(Block { language: "", text: text.into(), lines: 2, line_chars: 10 })
    }

    #[test]
    fn a_preview_that_leaves_something_out_covers_nothing() {
        let whole = block("a\nb\n").covering(&["content"]);
        assert!(whole.covers("content") && !whole.covers("path"));
        assert_eq!(whole.shown(), whole.everything());
        for cut in [block("a\nb\nc"), block("more than ten")] {
            let cut = cut.covering(&["content"]);
            assert!(cut.is_cut() && !cut.covers("content"), "{cut:?}");
        }
        assert!(!Preview::note(PreviewNote::Unchanged).covering(&["content"]).covers("content"));
    }

    /// A preview that alters a value does not replace the argument.
    #[test]
    fn only_an_identical_text_shows_an_argument() {
        let shows =
            |text: &str, value: &str| block(text).covering(&["content"]).shows("content", value);
        assert!(shows("a\nb\n", "a\nb\n"));
        assert!(!shows("+a\n", "a\n"), "a diff");
        assert!(!shows("a\nb\nc", "a\nb\nc"), "a cut");
        assert!(!shows("a\r\nb", "a\r\nb"), "line ends that are written out");
        assert!(!block("a").shows("content", "a"), "not declared");
    }

    #[test]
    fn a_text_is_changed_before_it_is_cut() {
        let marked = block("the key is 0123456789\n").map(|text| text.replace("0123456789", "‹›"));
        assert_eq!(marked.shown(), "```\nthe key is … and 3 more characters\n```");
        assert_eq!(marked.everything(), "```\nthe key is ‹›\n```");
        let fits = block("key 0123456789").map(|text| text.replace("0123456789", "‹›"));
        assert_eq!(fits.shown(), "```\nkey ‹›\n```");
        assert!(!fits.is_cut());
    }

    #[test]
    fn a_problem_does_not_act_as_markdown() {
        let shown = Preview::failure("Path not allowed: [Allow](https://evil.example)").shown();
        let expected =
            "This will fail.\n\n```\nPath not allowed: [Allow](https://evil.example)\n```";
        assert_eq!(shown, expected);
    }

    /// Every sentence of a preview is in the language of the chat.
    #[test]
    fn previews_are_in_the_language_of_the_reader() {
        let mut texts = std::collections::BTreeSet::new();
        for language in Language::ALL {
            for note in PreviewNote::examples() {
                let shown = Preview::note(note).in_language(language).shown();
                assert!(texts.insert(shown.clone()), "{language:?}: {shown}");
            }
            let cut = block("more than ten\n2\n3\n4").in_language(language).shown();
            for text in cut.lines().filter(|line| line.contains('…')) {
                assert!(texts.insert(text.to_owned()), "{language:?}: {text}");
            }
        }
    }

    /// A name in a note does not act as Markdown, and secrets in it are hidden.
    #[test]
    fn names_in_notes_are_escaped_and_redacted() {
        let path = "[a](https://evil.example)_secret".to_owned();
        let preview = Preview::note(PreviewNote::Creates { path });
        let shown = preview.map(|text| text.replace("secret", "‹›")).shown();
        assert_eq!(
            shown,
            format!("Creates {}.", channels::text::escape("[a](https://evil.example)_‹›"))
        );
    }

    #[test]
    fn a_block_of_no_lines_is_in_the_full_text_only() {
        let preview = Preview::block(Block { lines: 0, ..block("x").block.unwrap() });
        let note = |text: &str| PreviewNote::Markdown(text.into());
        let preview = preview.after(note("1 byte.")).after(note("Note."));
        assert_eq!(preview.shown(), "Note.\n\n1 byte.");
        assert_eq!(preview.everything(), "Note.\n\n1 byte.\n\n```\nx\n```");
        assert!(preview.is_cut());
    }
}
