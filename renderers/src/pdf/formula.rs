//! Formulas as Typst equations, with their LaTeX as the alternative text that PDF/UA requires.

use typst::foundations::SymbolElem;
use typst::foundations::{Array, Content, IntoValue, NativeElement, Value};
use typst::layout::{Em, HElem};
use typst::math::{
    Accent, AccentElem, AlignPointElem, AttachElem, BinomElem, CancelElem, DelimiterPair,
    EquationElem, FracElem, LimitsElem, LrElem, MatElem, OpElem, OverbraceElem, OverlineElem,
    RootElem, UnderbraceElem, UnderlineElem,
};
use typst::text::{LinebreakElem, TextElem};

use super::marks::grounded;
use crate::latex::{self, Enclosure, Formula, Style};

pub fn draw(latex: &str, block: bool) -> Result<Content, String> {
    let body = content(&latex::parse(latex)?);
    Ok(EquationElem::new(body).with_block(block).with_alt(Some(latex.into())).pack())
}

fn content(formula: &Formula) -> Content {
    match formula {
        Formula::Row(row) => Content::sequence(row.iter().map(content)),
        Formula::Symbol(c) => SymbolElem::packed(*c),
        Formula::Number(text) => TextElem::packed(text.as_str()),
        Formula::Text(text) => TextElem::packed(&*grounded(text)),
        Formula::Function { name, limits } => {
            OpElem::new(TextElem::packed(name.as_str())).with_limits(*limits).pack()
        }
        Formula::Fraction(above, below) => FracElem::new(content(above), content(below)).pack(),
        Formula::Binomial(above, below) => {
            BinomElem::new(content(above), vec![content(below)]).pack()
        }
        Formula::Root { degree, body } => {
            RootElem::new(content(body)).with_index(degree.as_deref().map(content)).pack()
        }
        Formula::Scripts { base, below: Some(note), above: None }
            if matches!(**base, Formula::Brace { over: false, .. }) =>
        {
            brace(base, note)
        }
        Formula::Scripts { base, below: None, above: Some(note) }
            if matches!(**base, Formula::Brace { over: true, .. }) =>
        {
            brace(base, note)
        }
        Formula::Scripts { base, below, above } => AttachElem::new(content(base))
            .with_b(below.as_deref().map(content))
            .with_t(above.as_deref().map(content))
            .pack(),
        Formula::Stack { base, below, above } => {
            let base = LimitsElem::new(content(base)).with_inline(true).pack();
            AttachElem::new(base)
                .with_b(below.as_deref().map(content))
                .with_t(above.as_deref().map(content))
                .pack()
        }
        Formula::Enclosed { mark: Enclosure::Box, body } => {
            OverlineElem::new(UnderlineElem::new(content(body)).pack()).pack()
        }
        Formula::Enclosed { mark: Enclosure::Strike, body } => {
            CancelElem::new(content(body)).pack()
        }
        Formula::Fence { open, close, body } => fence(*open, *close, content(body)),
        Formula::Matrix { open, close, rows } => fence(*open, *close, matrix(rows)),
        Formula::Lines(rows) => lines(rows),
        Formula::Accent { mark, body } => AccentElem::new(content(body), Accent(*mark)).pack(),
        Formula::Brace { over: true, body } => OverbraceElem::new(content(body)).pack(),
        Formula::Brace { over: false, body } => UnderbraceElem::new(content(body)).pack(),
        Formula::Line { over: true, body } => OverlineElem::new(content(body)).pack(),
        Formula::Line { over: false, body } => UnderlineElem::new(content(body)).pack(),
        Formula::Styled { style, body } => styled(*style, content(body)),
        Formula::Space(em) => HElem::new(Em::new(f64::from(*em)).into()).pack(),
    }
}

/// The annotation of a brace is placed outside it.
fn brace(base: &Formula, note: &Formula) -> Content {
    let note = Some(content(note));
    match base {
        Formula::Brace { over: true, body } => {
            OverbraceElem::new(content(body)).with_annotation(note).pack()
        }
        Formula::Brace { over: false, body } => {
            UnderbraceElem::new(content(body)).with_annotation(note).pack()
        }
        other => content(other),
    }
}

fn fence(open: Option<char>, close: Option<char>, body: Content) -> Content {
    if open.is_none() && close.is_none() {
        return body;
    }
    let sign = |c: Option<char>| c.map_or_else(Content::empty, SymbolElem::packed);
    LrElem::new(Content::sequence([sign(open), body, sign(close)])).pack()
}

fn matrix(rows: &[Vec<Formula>]) -> Content {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let row = |row: &Vec<Formula>| {
        let mut cells: Vec<Content> = row.iter().map(content).collect();
        cells.resize(columns, Content::empty());
        cells
    };
    let matrix = MatElem::new(rows.iter().map(row).collect());
    let none: Array = [Value::None, Value::None].into_iter().collect();
    match none.into_value().cast::<DelimiterPair>() {
        Ok(none) => matrix.with_delim(none).pack(),
        Err(_) => matrix.pack(),
    }
}

fn lines(rows: &[Vec<Formula>]) -> Content {
    let mut parts = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            parts.push(LinebreakElem::shared().clone());
        }
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                parts.push(AlignPointElem::shared().clone());
            }
            parts.push(content(cell));
        }
    }
    Content::sequence(parts)
}

fn styled(style: Style, body: Content) -> Content {
    use typst::math;
    match style {
        Style::Bold => math::bold(math::upright(body)),
        Style::Upright => math::upright(body),
        Style::Blackboard => math::bb(body),
        Style::Calligraphic => math::cal(body),
        Style::Fraktur => math::frak(body),
        Style::Sans => math::sans(body),
        Style::Mono => math::mono(body),
    }
}
