//! Links, superscripts and subscripts of a PDF page. Letters are a superscript if the tags say so, or if
//! they are raised and smaller than their line.

use std::rc::Rc;

use super::{bidi, grid::TextPiece, words::Script};

/// The maximum height of a superscript, as a part of that of its line.
const SMALL: f32 = 0.85;
/// How far letters are at least raised or lowered, as a part of the height of their line.
const RAISED: f32 = 0.15;
const LOWERED: f32 = 0.05;
/// The maximum length of a superscript with which a line begins: in letters, and with spaces.
const MARK: usize = 4;
const MARK_BYTES: usize = 32;
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
    /// How the letters stand beside those of their piece. `open` is how those before them do.
    fn script(&self, letters: Option<PieceLetters>, open: Script) -> Script {
        if self.text.trim().is_empty() {
            return open;
        }
        let script = match (self.tagged, letters) {
            (Script::Level, Some(line)) => of(self.y, self.height, line.y, line.height),
            (tagged, _) => tagged,
        };
        let is_mixed = letters.is_some_and(|letters| letters.has_rtl);
        // Tags would be reordered with the text.
        if script != Script::Level && (is_mixed || bidi::has_rtl(self.text)) {
            return Script::Level;
        }
        script
    }

    /// Marks the beginning of a piece, such as the number of a footnote, as a superscript of the line
    /// that begins with this run.
    fn level(&self, piece: &mut TextPiece) {
        // A long text is no mark, and is not looked through for each run.
        if piece.text.len() > MARK_BYTES
            || of(piece.y, piece.height, self.y, self.height) != Script::Raised
        {
            return;
        }
        let mark = piece.text.trim();
        let is_mark = (1..=MARK).contains(&mark.chars().count())
            && mark.chars().all(|c| c.is_numeric() || SIGNS.contains(c));
        if is_mark && !bidi::has_rtl(self.text) {
            let [opening, closing] = Script::Raised.tags();
            let space = &piece.text[piece.text.trim_end().len()..];
            piece.text = [opening, mark, closing, space].concat();
            (piece.y, piece.height) = (self.y, self.height);
        }
    }
}

/// What is known of the letters of a piece. Its first ones may be small, such as the limit of a sum, so
/// that others are compared with the largest of them.
#[derive(Clone, Copy, Default)]
struct PieceLetters {
    y: f32,
    height: f32,
    /// Whether some run from right to left.
    has_rtl: bool,
}

impl PieceLetters {
    fn add(&mut self, run: &ScriptRun) {
        if run.height > self.height && !run.text.trim().is_empty() {
            (self.y, self.height) = (run.y, run.height);
        }
        self.has_rtl |= bidi::has_rtl(run.text);
    }
}

/// The marks that are open at the end of the last piece.
#[derive(Default)]
pub struct OpenMarks {
    link: Option<Rc<str>>,
    script: Script,
    /// The letters of the last piece.
    letters: PieceLetters,
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
        let script = run.script(Some(self.letters), self.script);
        self.letters.add(run);
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
        self.letters = PieceLetters::default();
        self.letters.add(run);
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
        let mut letters = PieceLetters::default();
        letters.add(&run("10", 100.0, 12.0));
        for (run, wanted) in [
            (run("6", 104.0, 7.0), Script::Raised),
            (run("2", 98.0, 7.0), Script::Lowered),
            (run("small", 100.0, 7.0), Script::Level),
            (run("large", 104.0, 12.0), Script::Level),
            (run(" ", 104.0, 7.0), Script::Level),
            (run("ש", 104.0, 7.0), Script::Level),
            (ScriptRun { tagged: Script::Raised, ..run("6", 100.0, 12.0) }, Script::Raised),
        ] {
            assert_eq!(run.script(Some(letters), Script::Level), wanted, "{}", run.text);
        }
        assert_eq!(run("6", 104.0, 7.0).script(None, Script::Level), Script::Level);
    }

    /// The text of a piece of these runs.
    fn marked(runs: &[ScriptRun]) -> String {
        let mut open = OpenMarks::default();
        let mut line = piece("", runs[0].y, runs[0].height);
        for (at, run) in runs.iter().enumerate() {
            let opening = match at {
                0 => open.begin(None, run, None),
                _ => open.go_on(&mut line, run, None),
            };
            line.text.extend([opening.as_str(), run.text]);
        }
        open.end(Some(&mut line));
        line.text
    }

    #[test]
    fn letters_are_compared_with_the_largest_of_their_line() {
        let [limit, energy, square] =
            [run("𝑖=1 ", 93.0, 7.0), run("𝐸 = 𝑚𝑐", 100.0, 11.0), run("2", 104.0, 7.0)];
        assert_eq!(marked(&[limit, energy, square]), "𝑖=1 𝐸 = 𝑚𝑐<sup>2</sup>");
        let [space, word, star] =
            [run(" ", 100.0, 20.0), run("word", 100.0, 11.0), run("*", 104.0, 7.0)];
        assert_eq!(marked(&[space, word, star]), " word<sup>*</sup>");
        let [hebrew, ten, six] =
            [run("ש ", 100.0, 11.0), run("10", 100.0, 11.0), run("6", 104.0, 7.0)];
        assert_eq!(marked(&[hebrew, ten, six]), "ש 106");
    }

    /// If each run looked through the piece or moved it, this would take many minutes instead of less
    /// than a second.
    #[test]
    fn a_long_piece_is_not_looked_through_for_each_run() {
        let (bytes, count) = (32 << 20, 100_000);
        let mut open = OpenMarks::default();
        open.begin(None, &run("1", 103.0, 6.0), None);
        let mut line = piece(&"1".repeat(bytes), 103.0, 6.0);
        for _ in 0..count {
            open.go_on(&mut line, &run("x", 100.0, 12.0), None);
            open.go_on(&mut line, &run("6", 104.0, 7.0), None);
        }
        open.end(Some(&mut line));
        assert_eq!(line.text.len(), bytes + count * "</sup>".len());
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
