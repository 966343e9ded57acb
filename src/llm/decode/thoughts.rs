//! Removes the reasoning that some models write into their answer: `<think>…</think>`.
//!
//! Reads character by character, so that the boundaries of the pieces do not matter. Tags in code
//! are treated as text. Tool calls that a model writes as text are passed on unchanged, so that
//! their arguments are exactly what the model wrote.

use crate::llm::{
    code_state::CodeState,
    tool_call_scan::{CallBody, OPEN},
    vendor::ToolCalls,
};

/// The tags around reasoning.
const TAGS: [Tag; 3] = [
    Tag { open: "<think>", close: "</think>" },
    Tag { open: "<thinking>", close: "</thinking>" },
    Tag { open: "<thought>", close: "</thought>" },
];

#[derive(Debug, Clone, Copy)]
struct Tag {
    open: &'static str,
    close: &'static str,
}

#[derive(Debug)]
pub(super) struct Thoughts {
    tools: ToolCalls,
    /// The beginning of a possible tag, which is not shown yet.
    held: String,
    thought: Option<Thought>,
    /// A tool call that is written as text.
    call: Option<CallBody>,
    /// Whether the rest is passed on unchanged because the whole answer may be a tool call.
    is_json: bool,
    /// Whether any reasoning was found.
    has_thought: bool,
    /// Whether any other text was found.
    has_text: bool,
    code: CodeState,
}

/// An open block of reasoning.
#[derive(Debug)]
struct Thought {
    tag: Tag,
    text: String,
    /// Whether the tag is at the beginning of a line. Otherwise it may be a sentence about the tag.
    begins_line: bool,
}

/// What becomes visible.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VisibleText {
    /// Whether the text shown so far was reasoning, so that the visible text starts here.
    pub starts_again: bool,
    pub text: String,
}

impl VisibleText {
    fn start_again(&mut self) {
        self.starts_again = true;
        self.text.clear();
    }
}

impl Thoughts {
    pub fn new(tools: ToolCalls) -> Self {
        Self {
            tools,
            held: String::new(),
            thought: None,
            call: None,
            is_json: false,
            has_thought: false,
            has_text: false,
            code: CodeState::default(),
        }
    }

    pub fn push(&mut self, piece: &str) -> VisibleText {
        let mut visible = VisibleText::default();
        for letter in piece.chars() {
            self.take(letter, &mut visible);
        }
        visible
    }

    /// The rest of the text. Reasoning that was not closed stays hidden, unless it began in the
    /// middle of a line.
    pub fn finish(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.held);
        if let Some(thought) = self.thought.take().filter(|thought| !thought.begins_line) {
            rest.insert_str(0, &format!("{}{}", thought.tag.open, thought.text));
        }
        rest
    }

    fn take(&mut self, letter: char, visible: &mut VisibleText) {
        if let Some(thought) = &mut self.thought {
            thought.text.push(letter);
            if letter == '>' && thought.text.ends_with(thought.tag.close) {
                self.thought = None;
            }
            return;
        }
        if let Some(body) = &mut self.call {
            visible.text.push(letter);
            if body.closes(letter) {
                self.call = None;
            }
            return;
        }
        if self.is_json || (letter != '<' && self.held.is_empty()) {
            return self.show(letter, visible);
        }
        self.held.push(letter);
        if self.is_tag(visible) {
            self.held.clear();
        } else if !self.may_become_tag() {
            self.give_up(visible);
        }
    }

    /// Handles the held text if it is a tag. Returns whether it is one.
    fn is_tag(&mut self, visible: &mut VisibleText) -> bool {
        if self.code.is_code() {
            return false;
        }
        if self.tools == ToolCalls::Prompted && self.held == OPEN {
            visible.text.push_str(OPEN);
            self.has_text = true;
            self.call = Some(CallBody::default());
            return true;
        }
        if let Some(tag) = TAGS.iter().find(|tag| self.held == tag.open) {
            let begins_line = self.code.begins_line();
            self.thought = Some(Thought { tag: *tag, text: String::new(), begins_line });
            self.has_thought = true;
            return true;
        }
        if !TAGS.iter().any(|tag| self.held == tag.close) {
            return false;
        }
        // Some servers remove the opening tag together with the prompt template.
        if !self.has_thought {
            visible.start_again();
            self.code = CodeState::default();
            (self.has_thought, self.has_text) = (true, false);
        }
        true
    }

    fn may_become_tag(&self) -> bool {
        let is_begun = |tag: &str| tag.starts_with(&self.held) && tag != self.held;
        let mut tags = TAGS.iter().flat_map(|tag| [tag.open, tag.close]);
        tags.any(is_begun) || (self.tools == ToolCalls::Prompted && is_begun(OPEN))
    }

    /// The held text is not a tag. Only its last character may begin another one.
    fn give_up(&mut self, visible: &mut VisibleText) {
        let held = std::mem::take(&mut self.held);
        let first = held.strip_suffix('<').filter(|first| !first.is_empty());
        first.unwrap_or(&held).chars().for_each(|letter| self.show(letter, visible));
        if first.is_some() {
            self.held.push('<');
        }
    }

    /// White space between the reasoning and the text is removed.
    fn show(&mut self, letter: char, visible: &mut VisibleText) {
        if !self.has_text {
            if self.has_thought && letter.is_whitespace() {
                return;
            }
            self.has_text = !letter.is_whitespace();
            self.is_json = self.tools == ToolCalls::Prompted && matches!(letter, '{' | '[');
        }
        visible.text.push(letter);
        self.code.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(tools: ToolCalls, pieces: &[&str]) -> String {
        let mut thoughts = Thoughts::new(tools);
        let mut text = String::new();
        for piece in pieces {
            let visible = thoughts.push(piece);
            if visible.starts_again {
                text.clear();
            }
            text.push_str(&visible.text);
        }
        text.push_str(&thoughts.finish());
        text
    }

    /// Passes the answer in one piece and in single characters.
    fn shown(tools: ToolCalls, answer: &str) -> String {
        let letters: Vec<String> = answer.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let whole = seen(tools, &[answer]);
        assert_eq!(whole, seen(tools, &letters), "the boundaries of the pieces do not matter");
        whole
    }

    #[test]
    fn reasoning_is_not_shown() {
        for (answer, text) in [
            ("<think>\nHm.\n</think>\n\nYes.", "Yes."),
            ("<thinking>a <b> c</thinking>Yes.", "Yes."),
            ("Hm.\nSo it is.\n</think>\n\nYes.", "Yes."),
            ("One.\n<think>Hm.</think>\nTwo.", "One.\n\nTwo."),
            ("<think>a</think>One. <think>b</think>Two.", "One. Two."),
            ("<think>never closed", ""),
            ("1 < 2 and <thing> and <<think>x</think>.", "1 < 2 and <thing> and <."),
        ] {
            assert_eq!(shown(ToolCalls::Native, answer), text, "{answer}");
        }
    }

    #[test]
    fn a_text_about_the_tags_stays() {
        for answer in [
            "Remove `<think>` and `</think>` first.",
            "```\n<think>\nx\n</think>\n```\nThat is it.",
            "The tag <think> is never closed here.",
            "It ends with <thin",
        ] {
            assert_eq!(shown(ToolCalls::Native, answer), answer);
        }
    }

    #[test]
    fn a_call_that_is_written_as_text_stays_as_it_is() {
        let call = r#"{"name":"write","arguments":{"text":"<think>a</think></tool_call>"}}"#;
        let answers = [format!("<tool_call>{call}</tool_call> Done."), format!("[{call}]")];
        for answer in answers {
            let thought = format!("<think>Hm.</think>\n{answer}");
            assert_eq!(shown(ToolCalls::Prompted, &thought), answer);
        }
    }
}
