//! Links, superscripts and subscripts of a PDF page. Letters are a superscript if the tags say so, or if
//! they are raised and smaller than their line.

use std::rc::Rc;

use super::{bidi, grid::TextPiece, words::Script};

/// The maximum height of a superscript, as a part of that of its line.
const SMALL: f32 = 0.85;
/// How far letters are at least raised or lowered, as a part of the height of their line.
const RAISED: f32 = 0.15;
const LOWERED: f32 = 0.05;
/// The maximum length of a superscript with which a line begins.
const MARK: usize = 4;
/// The signs of footnotes without a number.
const SIGNS: &str = "*†‡§";

/// A run of glyphs.
pub struct ScriptRun<'t> {
    pub text: &'t str,
    /// The baseline, measured upwards.
    pub y: f32,
    pub height: f32,
    /// What the tags of the file say.
    pub tagged: Script,
}

impl ScriptRun<'_> {
    /// How the letters stand in the line of a piece. `open` is how those before them do.
    pub fn script(&self, piece: Option<&TextPiece>, open: Script) -> Script {
        if self.text.trim().is_empty() {
            return open;
        }
        let script = match (self.tagged, piece) {
            (Script::Level, Some(piece)) => of(self.y, self.height, piece.y, piece.height),
            (tagged, _) => tagged,
        };
        let is_mixed = || piece.is_some_and(|piece| bidi::has_rtl(&piece.text));
        // Tags would be reordered with the text.
        if script != Script::Level && (bidi::has_rtl(self.text) || is_mixed()) {
            return Script::Level;
        }
        script
    }

    /// Marks the beginning of a piece, such as the number of a footnote, as a superscript of the line
    /// that begins with this run.
    pub fn level(&self, piece: &mut TextPiece) {
        let is_raised = of(piece.y, piece.height, self.y, self.height) == Script::Raised;
        let mark = piece.text.trim();
        let is_mark = (1..=MARK).contains(&mark.chars().count())
            && mark.chars().all(|c| c.is_numeric() || SIGNS.contains(c));
        if is_raised && is_mark && !bidi::has_rtl(self.text) {
            let [opening, closing] = Script::Raised.tags();
            let space = &piece.text[piece.text.trim_end().len()..];
            piece.text = [opening, mark, closing, space].concat();
            (piece.y, piece.height) = (self.y, self.height);
        }
    }
}

/// The marks that are open at the end of the last piece.
#[derive(Default)]
pub struct OpenMarks {
    link: Option<Rc<str>>,
    script: Script,
}

impl OpenMarks {
    /// Ends and begins marks for a run that continues a piece. Returns what precedes its text.
    pub fn go_on(
        &mut self,
        piece: &mut TextPiece,
        run: &ScriptRun,
        link: Option<Rc<str>>,
    ) -> String {
        run.level(piece);
        let script = run.script(Some(&*piece), self.script);
        if link != self.link {
            self.end(Some(piece));
        } else if script != self.script {
            self.end_script(piece);
        }
        self.turn_to(link, script)
    }

    /// Begins the marks of a run that begins a piece, after those of the last one.
    pub fn begin(
        &mut self,
        last: Option<&mut TextPiece>,
        run: &ScriptRun,
        link: Option<Rc<str>>,
    ) -> String {
        self.end(last);
        self.turn_to(link, run.script(None, Script::Level))
    }

    fn turn_to(&mut self, link: Option<Rc<str>>, script: Script) -> String {
        let bracket = if link.is_some() && self.link.is_none() { "[" } else { "" };
        let tag = if script == self.script { "" } else { script.tags()[0] };
        (self.link, self.script) = (link, script);
        [bracket, tag].concat()
    }

    /// Ends the marks that are open in the last piece, before its last space.
    pub fn end(&mut self, last: Option<&mut TextPiece>) {
        let Some(piece) = last else { return };
        self.end_script(piece);
        if let Some(link) = self.link.take() {
            insert(piece, &format!("]({link})"));
        }
    }

    fn end_script(&mut self, piece: &mut TextPiece) {
        insert(piece, std::mem::take(&mut self.script).tags()[1]);
    }

    /// The number of bytes that the target of the open link takes.
    pub fn link_bytes(&self) -> usize {
        self.link.as_ref().map_or(0, |link| link.len())
    }
}

fn insert(piece: &mut TextPiece, closing: &str) {
    if !closing.is_empty() {
        let end = piece.text.trim_end().len();
        piece.text.insert_str(end, closing);
    }
}

/// How letters stand in a line.
fn of(y: f32, height: f32, line_y: f32, line_height: f32) -> Script {
    let raised = (y - line_y) / line_height.max(1.0);
    if height > line_height * SMALL {
        Script::Level
    } else if raised >= RAISED {
        Script::Raised
    } else if raised <= -LOWERED {
        Script::Lowered
    } else {
        Script::Level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, y: f32, height: f32) -> TextPiece {
        TextPiece {
            text: text.to_owned(),
            left: 0.0,
            right: 50.0,
            y,
            height,
            before: "\n",
            block: None,
            cell: None,
            paragraph: None,
            is_fixed_pitch: false,
        }
    }

    fn run(text: &str, y: f32, height: f32) -> ScriptRun<'_> {
        ScriptRun { text, y, height, tagged: Script::Level }
    }

    #[test]
    fn letters_that_are_smaller_and_raised_are_a_superscript() {
        let line = piece("10", 100.0, 12.0);
        for (run, wanted) in [
            (run("6", 104.0, 7.0), Script::Raised),
            (run("2", 98.0, 7.0), Script::Lowered),
            (run("small", 100.0, 7.0), Script::Level),
            (run("large", 104.0, 12.0), Script::Level),
            (run(" ", 104.0, 7.0), Script::Level),
            (run("ש", 104.0, 7.0), Script::Level),
            (ScriptRun { tagged: Script::Raised, ..run("6", 100.0, 12.0) }, Script::Raised),
        ] {
            assert_eq!(run.script(Some(&line), Script::Level), wanted, "{}", run.text);
        }
        assert_eq!(run("6", 104.0, 7.0).script(None, Script::Level), Script::Level);
    }

    #[test]
    fn the_number_of_a_footnote_begins_its_line() {
        for [begin, wanted] in [["1 ", "<sup>1</sup> "], ["•", "•"], ["12345", "12345"]] {
            let mut line = piece(begin, 103.0, 6.0);
            run("Source", 100.0, 10.0).level(&mut line);
            assert_eq!(line.text, wanted);
            assert_eq!(line.y < 101.0, wanted != begin);
        }
    }
}
