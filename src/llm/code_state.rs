//! Tracks the code blocks and inline code of a Markdown text that arrives in pieces.

/// How many characters of a line are kept to recognise the fence of a code block.
const HEAD_CHARS: usize = 80;

#[derive(Debug, Default)]
pub(super) struct CodeState {
    line: CurrentLine,
    block: Option<Block>,
}

/// The open code block.
#[derive(Debug, Clone, Copy)]
struct Block {
    letter: char,
    count: usize,
}

/// The current line so far.
#[derive(Debug, Default)]
struct CurrentLine {
    head: String,
    ticks: usize,
}

impl CodeState {
    pub fn push(&mut self, letter: char) {
        if letter == '\n' {
            self.block = match (self.block, self.line.edge()) {
                (None, Some(edge)) => Some(Block { letter: edge.letter, count: edge.count }),
                (Some(block), Some(edge)) if edge.closes(block) => None,
                (block, _) => block,
            };
            self.line = CurrentLine::default();
            return;
        }
        if letter == '`' {
            self.line.ticks += 1;
        }
        if self.line.head.len() < HEAD_CHARS {
            self.line.head.push(letter);
        }
    }

    /// Whether the next character belongs to a code block or to inline code.
    pub fn is_code(&self) -> bool {
        self.block.is_some() || self.line.ticks % 2 == 1 || self.line.edge().is_some()
    }

    /// Whether there is only white space on the current line.
    pub fn begins_line(&self) -> bool {
        self.line.head.trim().is_empty()
    }
}

struct FenceEdge {
    letter: char,
    count: usize,
    /// Whether the line contains nothing else.
    bare: bool,
}

impl FenceEdge {
    fn closes(&self, block: Block) -> bool {
        self.bare && self.letter == block.letter && self.count >= block.count
    }
}

impl CurrentLine {
    /// The fence of a code block, if this line is one.
    fn edge(&self) -> Option<FenceEdge> {
        let head = self.head.trim();
        let letter = head.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let count = head.chars().take_while(|c| *c == letter).count();
        let rest = &head[count..];
        // Three backticks that are closed on the same line are inline code.
        let is_edge = count >= 3 && !(letter == '`' && rest.contains('`'));
        is_edge.then_some(FenceEdge { letter, count, bare: rest.is_empty() })
    }
}
