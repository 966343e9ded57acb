//! Formulas as Office Math (OMML, ECMA-376 part 1, clause 22.1).

use crate::latex::{Enclosure, Formula, Style, bracketed, symbol};
use crate::package::xml::Xml;

/// Relations and operators that need an operand before them.
const RELATIONS: &str = "=<>≤≥≠≈≡∼≃≅∝→⇒⇔↦∈∉⊂⊆⊃⊇×·∗÷∧∨∪∩";

fn lacks_operand(formula: &Formula) -> bool {
    match formula {
        Formula::Row(row) => row.first().is_none_or(lacks_operand),
        Formula::Scripts { base, .. } | Formula::Stack { base, .. } => lacks_operand(base),
        Formula::Symbol(symbol) => RELATIONS.contains(*symbol),
        _ => false,
    }
}

/// Large operators. Their limits are part of the operator.
const LARGE: &str = "∑∏∐∫∬∭∮⋃⋂⨁⨂⋁⋀";

/// The style of letters, for formats in which the run properties repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LetterStyle {
    pub bold: bool,
    pub italic: bool,
}

const UPRIGHT: LetterStyle = LetterStyle { bold: false, italic: false };

/// Writes the properties of a run in the format around the formula.
pub type WriteLetters<'a> = &'a dyn Fn(&mut Xml, LetterStyle);

/// Writes a formula into an open `m:oMath` or argument.
pub fn write(xml: &mut Xml, formula: &Formula, letters: WriteLetters<'_>) {
    Writer { xml, style: None, letters }.formula(formula);
}

struct Writer<'x> {
    xml: &'x mut Xml,
    style: Option<Style>,
    letters: WriteLetters<'x>,
}

impl Writer<'_> {
    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Row(row) => self.row(row),
            Formula::Symbol(symbol) => self.run(&symbol.to_string(), false),
            Formula::Number(number) => self.run(number, false),
            Formula::Text(text) => self.text(text),
            Formula::Function { name, .. } => self.run(name, true),
            // LibreOffice shows wide spaces only as text.
            Formula::Space(em) if *em >= 0.9 => self.text(space(*em)),
            Formula::Space(em) => self.run(space(*em), true),
            Formula::Fraction(over, under) => self.fraction(over, under, false),
            Formula::Binomial(over, under) => {
                self.fence(Some('('), Some(')'), |w| w.fraction(over, under, true));
            }
            Formula::Root { degree, body } => self.root(degree.as_deref(), body),
            Formula::Scripts { base, below, above } => {
                self.scripts(base, below.as_deref(), above.as_deref());
            }
            Formula::Stack { base, below, above } => {
                self.limits(base, below.as_deref(), above.as_deref());
            }
            Formula::Enclosed { mark, body } => self.enclosed(*mark, body),
            Formula::Fence { open, close, body } => {
                self.fence(*open, *close, |w| w.formula(body));
            }
            Formula::Matrix { open: None, close: None, rows } => self.matrix(rows, "center"),
            Formula::Matrix { open, close, rows } => {
                self.fence(*open, *close, |w| w.matrix(rows, "center"));
            }
            Formula::Lines(rows) => self.matrix(rows, "left"),
            Formula::Accent { mark, body } => {
                self.marked(Marks::Accent(*mark), body);
            }
            Formula::Line { over, body } => {
                self.marked(if *over { Marks::LineAbove } else { Marks::LineBelow }, body);
            }
            Formula::Brace { over, body } => self.brace(*over, body),
            Formula::Styled { style, body } => {
                let outer = self.style.replace(*style);
                self.formula(body);
                self.style = outer;
            }
        }
    }

    /// A sum or integral takes the following term as its operand: a part, or all up to the closing
    /// bracket. A bracket with a script is the base of it together with its content.
    fn row(&mut self, row: &[Formula]) {
        let mut rest = row;
        while let Some((first, after)) = rest.split_first() {
            if let Some(operator) = large(first)
                && !after.is_empty()
            {
                let (body, after) = after.split_at(bracketed(after).unwrap_or(1));
                self.nary(operator, body);
                rest = after;
            } else if let Some(count) = bracketed(rest)
                && matches!(rest[count - 1], Formula::Scripts { .. })
            {
                self.brackets(&rest[..count]);
                rest = &rest[count..];
            } else {
                self.formula(first);
                rest = after;
            }
        }
    }

    /// Parts from an opening bracket to its closing one, which may have scripts.
    fn brackets(&mut self, parts: &[Formula]) {
        let [Formula::Symbol(open), inside @ .., last] = parts else { return self.row(parts) };
        match last {
            Formula::Symbol(close) => self.fence(Some(*open), Some(*close), |w| w.row(inside)),
            Formula::Scripts { base, below, above } if matches!(**base, Formula::Symbol(_)) => {
                let close = symbol(base);
                self.scripted(below.as_deref(), above.as_deref(), |w| {
                    w.fence(Some(*open), close, |w| w.row(inside));
                });
            }
            _ => self.row(parts),
        }
    }

    fn nary(&mut self, operator: LargeOperator<'_>, body: &[Formula]) {
        let LargeOperator { symbol, below, above } = operator;
        let beside = "∫∬∭∮".contains(symbol);
        self.xml.open("m:nary", &[]);
        self.xml.open("m:naryPr", &[]);
        self.xml.empty("m:chr", &[("m:val", &symbol.to_string())]);
        self.xml.empty("m:limLoc", &[("m:val", if beside { "subSup" } else { "undOvr" })]);
        for (name, bound) in [("m:subHide", below), ("m:supHide", above)] {
            if bound.is_none() {
                self.xml.empty(name, &[("m:val", "1")]);
            }
        }
        self.xml.close();
        for (name, bound) in [("m:sub", below), ("m:sup", above)] {
            self.argument(name, |w| bound.into_iter().for_each(|bound| w.formula(bound)));
        }
        self.argument("m:e", |w| match body {
            [part] => w.formula(part),
            parts => w.brackets(parts),
        });
        self.xml.close();
    }

    fn argument(&mut self, name: &'static str, inside: impl FnOnce(&mut Self)) {
        self.xml.open(name, &[]);
        inside(self);
        self.xml.close();
    }

    fn run(&mut self, text: &str, upright: bool) {
        if text.is_empty() {
            return;
        }
        self.xml.open("m:r", &[]);
        self.xml.open("m:rPr", &[]);
        let script = match self.style {
            Some(Style::Blackboard) => Some("double-struck"),
            Some(Style::Calligraphic) => Some("script"),
            Some(Style::Fraktur) => Some("fraktur"),
            Some(Style::Sans) => Some("sans-serif"),
            Some(Style::Mono) => Some("monospace"),
            Some(Style::Bold | Style::Upright) | None => None,
        };
        if let Some(script) = script {
            self.xml.empty("m:scr", &[("m:val", script)]);
        }
        let bold = self.style == Some(Style::Bold);
        let italic = !upright && self.style.is_none();
        if bold {
            self.xml.empty("m:sty", &[("m:val", "b")]);
        } else if !italic {
            self.xml.empty("m:sty", &[("m:val", "p")]);
        }
        self.xml.close();
        self.letters(text, LetterStyle { bold, italic });
    }

    fn text(&mut self, text: &str) {
        self.xml.open("m:r", &[]);
        self.xml.raw("<m:rPr><m:nor/></m:rPr>");
        self.letters(text, UPRIGHT);
    }

    /// Writes the properties and the characters, and closes the run.
    fn letters(&mut self, text: &str, style: LetterStyle) {
        (self.letters)(self.xml, style);
        self.xml.leaf("m:t", &[("xml:space", "preserve")], text);
        self.xml.close();
    }

    fn fraction(&mut self, over: &Formula, under: &Formula, bare: bool) {
        self.xml.open("m:f", &[]);
        if bare {
            self.xml.raw("<m:fPr><m:type m:val=\"noBar\"/></m:fPr>");
        }
        self.argument("m:num", |w| w.formula(over));
        self.argument("m:den", |w| w.formula(under));
        self.xml.close();
    }

    fn root(&mut self, degree: Option<&Formula>, body: &Formula) {
        self.xml.open("m:rad", &[]);
        if degree.is_none() {
            self.xml.raw("<m:radPr><m:degHide m:val=\"1\"/></m:radPr>");
        }
        self.argument("m:deg", |w| degree.into_iter().for_each(|degree| w.formula(degree)));
        self.argument("m:e", |w| w.formula(body));
        self.xml.close();
    }

    fn scripts(&mut self, base: &Formula, below: Option<&Formula>, above: Option<&Formula>) {
        let limits = matches!(base, Formula::Function { limits: true, .. } | Formula::Brace { .. })
            || matches!(base, Formula::Symbol(c) if "∑∏∐⋃⋂⨁⨂⋁⋀".contains(*c));
        if limits {
            return self.limits(base, below, above);
        }
        self.scripted(below, above, |w| w.formula(base));
    }

    fn scripted(
        &mut self,
        below: Option<&Formula>,
        above: Option<&Formula>,
        base: impl FnOnce(&mut Self),
    ) {
        let name = match (below, above) {
            (Some(_), Some(_)) => "m:sSubSup",
            (Some(_), None) => "m:sSub",
            (None, _) => "m:sSup",
        };
        self.xml.open(name, &[]);
        self.argument("m:e", base);
        for (name, script) in [("m:sub", below), ("m:sup", above)] {
            if let Some(script) = script {
                self.argument(name, |w| w.formula(script));
            }
        }
        self.xml.close();
    }

    fn limits(&mut self, base: &Formula, below: Option<&Formula>, above: Option<&Formula>) {
        let (name, limit, base_above) = match (below, above) {
            (Some(below), above) => ("m:limLow", below, above),
            (None, Some(above)) => ("m:limUpp", above, None),
            (None, None) => return self.formula(base),
        };
        self.xml.open(name, &[]);
        self.argument("m:e", |w| w.limits(base, None, base_above));
        self.argument("m:lim", |w| w.formula(limit));
        self.xml.close();
    }

    fn enclosed(&mut self, mark: Enclosure, body: &Formula) {
        self.xml.open("m:borderBox", &[]);
        if mark == Enclosure::Strike {
            self.xml.open("m:borderBoxPr", &[]);
            let names = ["m:hideTop", "m:hideBot", "m:hideLeft", "m:hideRight", "m:strikeBLTR"];
            for name in names {
                self.xml.empty(name, &[("m:val", "1")]);
            }
            self.xml.close();
        }
        self.argument("m:e", |w| w.formula(body));
        self.xml.close();
    }

    fn fence(&mut self, open: Option<char>, close: Option<char>, inside: impl FnOnce(&mut Self)) {
        let sign = |sign: Option<char>| sign.map(String::from).unwrap_or_default();
        self.xml.open("m:d", &[]);
        self.xml.open("m:dPr", &[]);
        self.xml.empty("m:begChr", &[("m:val", &sign(open))]);
        self.xml.empty("m:endChr", &[("m:val", &sign(close))]);
        self.xml.close();
        self.argument("m:e", inside);
        self.xml.close();
    }

    /// Aligned lines are a matrix whose columns are aligned right and left in turn.
    fn matrix(&mut self, rows: &[Vec<Formula>], align: &str) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        self.xml.open("m:m", &[]);
        self.xml.raw("<m:mPr><m:mcs>");
        for at in 0..columns {
            let align = if align == "left" && at % 2 == 0 && columns > 1 { "right" } else { align };
            self.xml.raw("<m:mc><m:mcPr><m:count m:val=\"1\"/>");
            self.xml.empty("m:mcJc", &[("m:val", align)]);
            self.xml.raw("</m:mcPr></m:mc>");
        }
        self.xml.raw("</m:mcs></m:mPr>");
        for row in rows {
            self.xml.open("m:mr", &[]);
            for at in 0..columns {
                self.argument("m:e", |w| w.cell(row.get(at)));
            }
            self.xml.close();
        }
        self.xml.close();
    }

    /// A cell that is empty or begins with a relation gets an empty operand, without which
    /// LibreOffice shows a question mark.
    fn cell(&mut self, cell: Option<&Formula>) {
        if cell.is_none_or(lacks_operand) {
            self.text("\u{200b}");
        }
        if let Some(cell) = cell {
            self.formula(cell);
        }
    }

    fn marked(&mut self, marks: Marks, body: &Formula) {
        let (name, properties, property, value) = match marks {
            Marks::Accent(accent) => ("m:acc", "m:accPr", "m:chr", accent.to_string()),
            Marks::LineAbove => ("m:bar", "m:barPr", "m:pos", "top".to_owned()),
            Marks::LineBelow => ("m:bar", "m:barPr", "m:pos", "bot".to_owned()),
        };
        self.xml.open(name, &[]);
        self.xml.open(properties, &[]);
        self.xml.empty(property, &[("m:val", &value)]);
        self.xml.close();
        self.argument("m:e", |w| w.formula(body));
        self.xml.close();
    }

    fn brace(&mut self, over: bool, body: &Formula) {
        let (sign, place, base) = if over { ("⏞", "top", "bot") } else { ("⏟", "bot", "top") };
        self.xml.open("m:groupChr", &[]);
        self.xml.open("m:groupChrPr", &[]);
        self.xml.empty("m:chr", &[("m:val", sign)]);
        self.xml.empty("m:pos", &[("m:val", place)]);
        self.xml.empty("m:vertJc", &[("m:val", base)]);
        self.xml.close();
        self.argument("m:e", |w| w.formula(body));
        self.xml.close();
    }
}

/// A mark over or under a formula.
enum Marks {
    Accent(char),
    LineAbove,
    LineBelow,
}

/// A sum, an integral or the like with its limits.
struct LargeOperator<'f> {
    symbol: char,
    below: Option<&'f Formula>,
    above: Option<&'f Formula>,
}

fn large(formula: &Formula) -> Option<LargeOperator<'_>> {
    let is_large = |c: &char| LARGE.contains(*c);
    match formula {
        Formula::Symbol(c) if is_large(c) => {
            Some(LargeOperator { symbol: *c, below: None, above: None })
        }
        Formula::Scripts { base, below, above } => match **base {
            Formula::Symbol(symbol) if is_large(&symbol) => {
                Some(LargeOperator { symbol, below: below.as_deref(), above: above.as_deref() })
            }
            _ => None,
        },
        _ => None,
    }
}

fn space(em: f32) -> &'static str {
    match em {
        em if em >= 1.5 => "\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}",
        em if em >= 0.9 => "\u{a0}\u{a0}\u{a0}\u{a0}",
        em if em >= 0.25 => "\u{2005}",
        em if em > 0.0 => "\u{2009}",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latex::parse;

    fn drawn(latex: &str) -> String {
        let mut xml = Xml::fragment();
        write(&mut xml, &parse(latex).unwrap(), &|_, _| {});
        String::from_utf8(xml.finish()).unwrap()
    }

    #[test]
    fn no_command_reaches_the_text_of_a_formula() {
        for latex in [
            r"\frac{a}{b} + \sqrt[3]{x^2}",
            r"\int_{0}^{\infty} e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
            r"\begin{pmatrix} a & b \\ c & d \end{pmatrix} \cdot \vec{v} = \sum_{i=1}^{n} \alpha_i \mathbf{e}_i",
            r"\lim_{x \to 0} \overbrace{x+y}^{n} \binom{n}{k}",
            r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
        ] {
            let xml = drawn(latex);
            assert!(!xml.contains('\\') && xml.contains("<m:t"), "{latex}: {xml}");
        }
    }

    /// LibreOffice would draw a question mark before an operator that begins a cell.
    #[test]
    fn a_cell_may_begin_with_an_operator() {
        let xml = drawn(r"\begin{aligned} a &= b \end{aligned}");
        assert_eq!(xml.matches('\u{200b}').count(), 1, "{xml}");
        let (before, _) = xml.split_once('\u{200b}').unwrap();
        assert!(before.contains(">a<") && !before.contains(">=<"), "{xml}");
    }

    #[test]
    fn an_empty_matrix_has_a_row_with_an_empty_operand() {
        for latex in [r"\begin{matrix}\end{matrix}", r"\begin{aligned} \\ \end{aligned}"] {
            let xml = drawn(latex);
            assert_eq!(xml.matches("<m:mr><m:e>").count(), 1, "{latex}: {xml}");
            assert_eq!(xml.matches('\u{200b}').count(), 1, "{latex}: {xml}");
        }
        assert!(drawn(r"\begin{pmatrix}\end{pmatrix}").starts_with("<m:d>"));
    }

    #[test]
    fn wide_spaces_are_text() {
        let xml = drawn(r"a \qquad b");
        assert!(xml.contains("<m:nor/></m:rPr><m:t xml:space=\"preserve\">\u{a0}\u{a0}"), "{xml}");
    }

    #[test]
    fn sums_take_their_bounds_and_their_body() {
        let xml = drawn(r"\sum_{i=1}^{n} x");
        assert!(xml.starts_with("<m:nary><m:naryPr><m:chr m:val=\"∑\"/>"), "{xml}");
        assert!(xml.contains("<m:e><m:r>") && !xml.contains("Hide"), "{xml}");
        assert!(drawn("x^2").starts_with("<m:sSup><m:e>"));
    }
}
