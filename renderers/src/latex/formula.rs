//! The syntax tree of a formula.

#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    Row(Vec<Formula>),
    /// A letter or a symbol.
    Symbol(char),
    Number(String),
    /// Upright text.
    Text(String),
    /// A named function such as `sin`; `limits` places scripts below and above.
    Function {
        name: String,
        limits: bool,
    },
    Fraction(Box<Formula>, Box<Formula>),
    Binomial(Box<Formula>, Box<Formula>),
    Root {
        degree: Option<Box<Formula>>,
        body: Box<Formula>,
    },
    Scripts {
        base: Box<Formula>,
        below: Option<Box<Formula>>,
        above: Option<Box<Formula>>,
    },
    /// Growing brackets; `None` where LaTeX has `.`.
    Fence {
        open: Option<char>,
        close: Option<char>,
        body: Box<Formula>,
    },
    Matrix {
        open: Option<char>,
        close: Option<char>,
        rows: Vec<Vec<Formula>>,
    },
    /// Lines aligned at `&`.
    Lines(Vec<Vec<Formula>>),
    /// A combining character over the body.
    Accent {
        mark: char,
        body: Box<Formula>,
    },
    Brace {
        over: bool,
        body: Box<Formula>,
    },
    Line {
        over: bool,
        body: Box<Formula>,
    },
    Styled {
        style: Style,
        body: Box<Formula>,
    },
    /// In em.
    Space(f32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Bold,
    Upright,
    Blackboard,
    Calligraphic,
    Fraktur,
    Sans,
    Mono,
}
