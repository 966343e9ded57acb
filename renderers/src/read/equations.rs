//! The equations of Word and PowerPoint files (ECMA-376 part 1, 22.1) on one line of text: `(a)/(b)`,
//! `x^(2)`, `√(x)`.

use std::collections::BTreeMap;

use super::xml::XmlElement;

/// The elements with content.
const PARTS: [&str; 20] = [
    "oMath",
    "acc",
    "bar",
    "borderBox",
    "box",
    "d",
    "eqArr",
    "f",
    "func",
    "groupChr",
    "limLow",
    "limUpp",
    "m",
    "nary",
    "phant",
    "rad",
    "sPre",
    "sSub",
    "sSubSup",
    "sSup",
];
/// Those that are arguments of the others.
const ARGUMENTS: [&str; 9] = ["e", "num", "den", "sub", "sup", "deg", "lim", "fName", "mr"];
/// What the properties of an element say.
const SIGNS: [&str; 6] = ["begChr", "endChr", "sepChr", "chr", "type", "pos"];
const SWITCHES: [&str; 3] = ["degHide", "subHide", "supHide"];
/// The maximum length of a sign, which many arguments may share.
const SIGN_CHARS: usize = 8;

/// An equation that is being read.
pub struct Equation {
    /// The open elements, each within the one before it.
    open: Vec<MathPart>,
}

/// An element of an equation.
#[derive(Default)]
struct MathPart {
    name: &'static str,
    text: String,
    properties: BTreeMap<String, String>,
    arguments: Vec<MathArgument>,
}

/// Such as the numerator of a fraction.
struct MathArgument {
    name: &'static str,
    text: String,
}

impl Equation {
    /// The equation of an element `oMath`, which has begun.
    pub fn begin() -> Self {
        Self { open: vec![MathPart { name: PARTS[0], ..MathPart::default() }] }
    }

    pub fn open(&mut self, element: &XmlElement) {
        let mut known = PARTS.iter().chain(ARGUMENTS.iter()).copied();
        if let Some(name) = known.find(|name| *name == element.name) {
            self.open.push(MathPart { name, ..MathPart::default() });
        } else if let Some(part) = self.open.last_mut() {
            part.property(element);
        }
    }

    pub fn text(&mut self, text: &str) {
        if let Some(part) = self.open.last_mut() {
            part.text.push_str(text);
        }
    }

    /// Ends an element. Returns the text of the equation if it was the last one.
    pub fn close(&mut self, name: &str) -> Option<String> {
        let part = self.open.pop_if(|part| part.name == name)?;
        let text = part.written();
        let Some(outer) = self.open.last_mut() else { return Some(text) };
        if ARGUMENTS.contains(&part.name) {
            outer.arguments.push(MathArgument { name: part.name, text });
        } else {
            outer.text.push_str(&text);
        }
        None
    }
}

impl MathPart {
    fn property(&mut self, element: &XmlElement) {
        let name = element.name.as_str();
        if SIGNS.contains(&name) {
            let value = element.attribute("val").unwrap_or_default();
            self.properties.insert(name.to_owned(), value.chars().take(SIGN_CHARS).collect());
        } else if SWITCHES.contains(&name) && element.is_on() {
            self.properties.insert(name.to_owned(), String::new());
        }
    }

    /// The element on one line. Fractions and scripts have parentheses, so that it is clear what
    /// belongs to them.
    fn written(&self) -> String {
        let body = self.argument("e");
        let scripts = || self.script("sub", '_') + &self.script("sup", '^');
        let written = match self.name {
            "d" => {
                let inner = self.joined(self.sign("sepChr", "|"));
                [self.sign("begChr", "("), &inner, self.sign("endChr", ")")].concat()
            }
            "f" => {
                let line = if self.sign("type", "bar") == "noBar" { '¦' } else { '/' };
                format!("({}){line}({})", self.argument("num"), self.argument("den"))
            }
            "rad" => match self.argument("deg") {
                degree if self.hides("deg") || degree.trim().is_empty() => format!("√({body})"),
                degree => format!("√[{degree}]({body})"),
            },
            "nary" => [self.sign("chr", "∫"), &scripts(), body].concat(),
            "sPre" => scripts() + body,
            "sSub" | "sSup" | "sSubSup" => body.to_owned() + &scripts(),
            "limLow" => body.to_owned() + &self.script("lim", '_'),
            "limUpp" => body.to_owned() + &self.script("lim", '^'),
            "func" if body.starts_with('(') => self.argument("fName").to_owned() + body,
            "func" => [self.argument("fName"), " ", body].concat(),
            "acc" => grouped(body) + self.sign("chr", "\u{302}"),
            "bar" => line(body, self.sign("pos", "bot") == "top"),
            "m" | "eqArr" => self.joined("; "),
            "mr" => self.joined(", "),
            _ => self.joined(""),
        };
        [self.text.as_str(), &written].concat()
    }

    fn argument(&self, name: &str) -> &str {
        let mut arguments = self.arguments.iter();
        arguments
            .find(|argument| argument.name == name)
            .map_or("", |argument| argument.text.as_str())
    }

    /// All arguments.
    fn joined(&self, between: &str) -> String {
        let texts: Vec<&str> =
            self.arguments.iter().map(|argument| argument.text.as_str()).collect();
        texts.join(between)
    }

    fn sign<'s>(&'s self, name: &str, usual: &'s str) -> &'s str {
        self.properties.get(name).map_or(usual, String::as_str)
    }

    fn hides(&self, argument: &str) -> bool {
        self.properties.contains_key(&format!("{argument}Hide"))
    }

    /// A raised or lowered argument, unless it is empty or hidden.
    fn script(&self, name: &str, mark: char) -> String {
        let text = self.argument(name);
        let is_shown = !text.trim().is_empty() && !self.hides(name);
        if is_shown { format!("{mark}({text})") } else { String::new() }
    }
}

fn is_letter(text: &str) -> bool {
    text.chars().count() <= 1
}

/// The text in parentheses if it is longer than a letter.
fn grouped(text: &str) -> String {
    if is_letter(text) { text.to_owned() } else { format!("({text})") }
}

/// The text with a line over or under it, as in UnicodeMath.
fn line(text: &str, is_over: bool) -> String {
    match (is_letter(text), is_over) {
        (true, true) => format!("{text}\u{305}"),
        (true, false) => format!("{text}\u{332}"),
        (false, true) => format!("¯({text})"),
        (false, false) => format!("▁({text})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::xml::{XmlNode, walk};

    /// The text of an equation, in which `[x]` is a run of text.
    fn text(equation: &str) -> String {
        let runs = equation.replace('[', "<m:r><m:t>").replace(']', "</m:t></m:r>");
        let (mut equation, mut text) = (Equation::begin(), None);
        walk(format!("<x xmlns:m='m'>{runs}<m:oMath/></x>").as_bytes(), |node| {
            match node {
                XmlNode::Open(element) if element.name != "oMath" => equation.open(element),
                XmlNode::Text(text) => equation.text(text),
                XmlNode::Close(name) => text = equation.close(name).or(text.take()),
                XmlNode::Open(_) => {}
            }
            Ok(())
        })
        .unwrap();
        text.unwrap()
    }

    #[test]
    fn parts_of_equations_stay_apart() {
        for (equation, wanted) in [
            ("<m:f><m:num>[a+b]</m:num><m:den>[2]</m:den></m:f>", "(a+b)/(2)"),
            (
                "<m:f><m:fPr><m:type m:val='noBar'/></m:fPr><m:num>[n]</m:num><m:den>[k]</m:den></m:f>",
                "(n)¦(k)",
            ),
            (
                "<m:sSup><m:e><m:d><m:dPr/><m:e>[a+b]</m:e></m:d></m:e><m:sup>[2]</m:sup></m:sSup>",
                "(a+b)^(2)",
            ),
            (
                "<m:d><m:dPr><m:begChr m:val='|'/><m:endChr m:val='|'/></m:dPr><m:e>[x]</m:e></m:d>",
                "|x|",
            ),
            (
                "<m:d><m:dPr><m:sepChr m:val=','/></m:dPr><m:e>[a]</m:e><m:e>[b]</m:e></m:d>",
                "(a,b)",
            ),
            ("<m:rad><m:radPr><m:degHide/></m:radPr><m:deg/><m:e>[x]</m:e></m:rad>[y]", "√(x)y"),
            ("<m:rad><m:deg>[3]</m:deg><m:e>[x]</m:e></m:rad>", "√[3](x)"),
            (
                "[s=]<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>[i=1]</m:sub>\
                 <m:sup>[n]</m:sup><m:e>[i]</m:e></m:nary>",
                "s=∑_(i=1)^(n)i",
            ),
            (
                "<m:nary><m:naryPr><m:supHide m:val='1'/></m:naryPr><m:sub>[C]</m:sub><m:sup/>\
                 <m:e>[f]</m:e></m:nary>",
                "∫_(C)f",
            ),
            ("<m:limLow><m:e>[lim]</m:e><m:lim>[x→0]</m:lim></m:limLow>", "lim_(x→0)"),
            ("<m:func><m:fName>[sin]</m:fName><m:e>[x]</m:e></m:func>", "sin x"),
            ("<m:acc><m:e>[x]</m:e></m:acc>", "x\u{302}"),
            ("<m:bar><m:barPr><m:pos m:val='top'/></m:barPr><m:e>[ab]</m:e></m:bar>", "¯(ab)"),
            ("<m:sPre><m:sub>[1]</m:sub><m:sup>[2]</m:sup><m:e>[H]</m:e></m:sPre>", "_(1)^(2)H"),
            ("<m:box><m:e>[a]</m:e></m:box><m:phant><m:e>[b]</m:e></m:phant>", "ab"),
        ] {
            assert_eq!(text(equation), wanted, "{equation}");
        }
    }

    #[test]
    fn rows_of_equations_stay_apart() {
        let row = |cells: [&str; 2]| {
            format!("<m:mr>{}</m:mr>", cells.map(|cell| format!("<m:e>[{cell}]</m:e>")).concat())
        };
        let cases = format!(
            "<m:d><m:dPr><m:begChr m:val='{{'/><m:endChr m:val=''/></m:dPr><m:e><m:m><m:mPr/>{}{}\
             </m:m></m:e></m:d>",
            row(["1", "x&gt;0"]),
            row(["0", "x≤0"])
        );
        assert_eq!(text(&cases), "{1, x>0; 0, x≤0");
        let lines = "<m:eqArr><m:e>[a=1]</m:e><m:e>[b=2]</m:e></m:eqArr>";
        assert_eq!(text(lines), "a=1; b=2");
    }

    /// A sign cannot be repeated without limit.
    #[test]
    fn long_signs_are_cut() {
        let long = "x".repeat(100);
        let list = format!(
            "<m:d><m:dPr><m:sepChr m:val='{long}'/></m:dPr>{}</m:d>",
            "<m:e>[a]</m:e>".repeat(3)
        );
        assert_eq!(text(&list), "(axxxxxxxxaxxxxxxxxa)");
    }
}
