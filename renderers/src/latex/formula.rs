//! The syntax tree of a formula.

/// A formula, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// Parts side by side.
    Row(Vec<Formula>),
    /// A letter or a symbol.
    Symbol(char),
    /// A number.
    Number(String),
    /// Upright text.
    Text(String),
    /// A named function such as `sin`; `limits` places scripts below and above.
    Function {
        /// The name.
        name: String,
        /// Whether scripts are placed below and above.
        limits: bool,
    },
    /// A numerator over a denominator.
    Fraction(Box<Formula>, Box<Formula>),
    /// A binomial coefficient: upper and lower part.
    Binomial(Box<Formula>, Box<Formula>),
    /// A root.
    Root {
        /// The degree; `None` for a square root.
        degree: Option<Box<Formula>>,
        /// The radicand.
        body: Box<Formula>,
    },
    /// Subscript and superscript.
    Scripts {
        /// The base.
        base: Box<Formula>,
        /// The subscript.
        below: Option<Box<Formula>>,
        /// The superscript.
        above: Option<Box<Formula>>,
    },
    /// Parts directly below and above a base.
    Stack {
        /// The base.
        base: Box<Formula>,
        /// The part below.
        below: Option<Box<Formula>>,
        /// The part above.
        above: Option<Box<Formula>>,
    },
    /// A part that is boxed or struck out.
    Enclosed {
        /// The kind of mark.
        mark: Enclosure,
        /// The part.
        body: Box<Formula>,
    },
    /// Growing brackets; `None` where LaTeX has `.`.
    Fence {
        /// The opening bracket.
        open: Option<char>,
        /// The closing bracket.
        close: Option<char>,
        /// The content between the brackets.
        body: Box<Formula>,
    },
    /// A matrix.
    Matrix {
        /// The bracket to its left.
        open: Option<char>,
        /// The bracket to its right.
        close: Option<char>,
        /// The cells of each row.
        rows: Vec<Vec<Formula>>,
    },
    /// Lines aligned at `&`.
    Lines(Vec<Vec<Formula>>),
    /// A combining character over the body.
    Accent {
        /// The combining character.
        mark: char,
        /// The content below the mark.
        body: Box<Formula>,
    },
    /// A horizontal brace.
    Brace {
        /// Whether it is above the body.
        over: bool,
        /// The spanned content.
        body: Box<Formula>,
    },
    /// A horizontal line.
    Line {
        /// Whether it is above the body.
        over: bool,
        /// The spanned content.
        body: Box<Formula>,
    },
    /// A part in another style.
    Styled {
        /// The style.
        style: Style,
        /// The part.
        body: Box<Formula>,
    },
    /// A horizontal space, in em.
    Space(f32),
}

/// A mark around or across a part of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enclosure {
    /// `\boxed`
    Box,
    /// `\cancel`
    Strike,
}

/// A style of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `\mathbf`
    Bold,
    /// `\mathrm`
    Upright,
    /// `\mathbb`
    Blackboard,
    /// `\mathcal`
    Calligraphic,
    /// `\mathfrak`
    Fraktur,
    /// `\mathsf`
    Sans,
    /// `\mathtt`
    Mono,
}

/// The most parts between two brackets that belong together.
const BRACKETED: usize = 200;

/// The number of parts up to the bracket that closes the first one.
pub fn bracketed(parts: &[Formula]) -> Option<usize> {
    let mut expected = Vec::new();
    for (at, part) in parts.iter().take(BRACKETED).enumerate() {
        let sign = match part {
            Formula::Scripts { base, .. } => symbol(base),
            part => symbol(part),
        };
        match (sign, part) {
            (Some('('), Formula::Symbol(_)) => expected.push(')'),
            (Some('['), Formula::Symbol(_)) => expected.push(']'),
            (Some(close @ (')' | ']')), _) if expected.pop() != Some(close) => return None,
            _ => {}
        }
        if expected.is_empty() {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

/// The symbol that a formula consists of.
pub fn symbol(formula: &Formula) -> Option<char> {
    match formula {
        Formula::Symbol(symbol) => Some(*symbol),
        _ => None,
    }
}
