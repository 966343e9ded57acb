//! Splits the bytes of a response into JSON objects.
//!
//! The first byte determines whether a response is a stream of server-sent events, lines of JSON,
//! an array or a single object, because not all servers honour `stream` or send the right media
//! type. Line ends, a byte order mark and characters may be split between pieces.

use serde_json::Value;

use super::json;

#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Object(Value),
    /// The end mark `[DONE]`.
    Done,
    /// An object that cannot be parsed.
    Invalid,
}

#[derive(Debug, Default)]
pub(super) struct Frames {
    form: Form,
    /// The current line of an event stream.
    line: Vec<u8>,
    after_cr: bool,
    object: Object,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Only white space so far.
    #[default]
    Unknown,
    Events,
    Objects,
}

/// The current object. Only braces outside strings matter.
#[derive(Debug, Default)]
struct Object {
    bytes: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Frames {
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for byte in bytes {
            if self.form == Form::Unknown {
                self.form = form(*byte);
            }
            match self.form {
                Form::Unknown => {}
                Form::Events => self.event_byte(*byte, &mut frames),
                Form::Objects => frames.extend(self.object.push(*byte)),
            }
        }
        frames
    }

    /// The last event, if only its line end is missing.
    pub fn finish(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut frames);
        }
        frames
    }

    fn event_byte(&mut self, byte: u8, frames: &mut Vec<Frame>) {
        let is_second_half = byte == b'\n' && self.after_cr;
        self.after_cr = byte == b'\r';
        match byte {
            _ if is_second_half => {}
            b'\n' | b'\r' => self.end_line(frames),
            _ => self.line.push(byte),
        }
    }

    fn end_line(&mut self, frames: &mut Vec<Frame>) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            // An object must not extend beyond the end of its event.
            if self.object.depth > 0 {
                self.object = Object::default();
                frames.push(Frame::Invalid);
            }
            return;
        }
        // An object without a field name is the error message of a proxy.
        let data = line.strip_prefix(b"data:").or_else(|| line.starts_with(b"{").then_some(&line));
        match data.map(<[u8]>::trim_ascii) {
            Some(b"[DONE]") => frames.push(Frame::Done),
            Some(data) => frames.extend(data.iter().filter_map(|byte| self.object.push(*byte))),
            None => {}
        }
    }
}

/// White space and a byte order mark do not determine the form.
fn form(byte: u8) -> Form {
    match byte {
        b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => Form::Unknown,
        b'{' | b'[' => Form::Objects,
        _ => Form::Events,
    }
}

impl Object {
    /// Adds a byte, and returns the object if this byte ends it. Bytes between objects are skipped.
    fn push(&mut self, byte: u8) -> Option<Frame> {
        if self.depth == 0 && byte != b'{' {
            return None;
        }
        self.bytes.push(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' if !self.in_string => self.depth += 1,
            b'}' if !self.in_string => self.depth -= 1,
            _ => {}
        }
        if self.depth > 0 {
            return None;
        }
        let bytes = std::mem::take(self).bytes;
        Some(json::read(&bytes).map_or(Frame::Invalid, Frame::Object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn frames(response: &[u8]) -> Vec<Frame> {
        let mut whole = Frames::default();
        let mut all = whole.push(response);
        all.extend(whole.finish());
        let mut cut = Frames::default();
        let mut pieces: Vec<_> = response.iter().flat_map(|byte| cut.push(&[*byte])).collect();
        pieces.extend(cut.finish());
        assert_eq!(all, pieces, "the boundaries of the pieces do not matter");
        all
    }

    fn objects(count: usize) -> Vec<Frame> {
        (0..count).map(|n| Frame::Object(json!({ "n": n, "text": "a}b" }))).collect()
    }

    #[test]
    fn objects_are_found_in_every_form_of_response() {
        let [one, two] = [r#"{"n":0,"text":"a}b"}"#, r#"{"n":1,"text":"a}b"}"#];
        for response in [
            format!("data: {one}\n\ndata: {two}\n\n"),
            format!("data:{one}\r\n\r\nevent: x\r\ndata:{two}\r\n\r\n"),
            format!("data: {one}\r\rdata: {two}"),
            format!("\u{feff}: hello\n\ndata: {one}\n\nid: 7\ndata: {two}\n\n"),
            format!("data: {{\"n\":0,\ndata: \"text\":\"a}}b\"}}\n\ndata: {two}\n\n"),
            format!("data: {one}\ndata: {two}\n"),
            format!("{one}\n{two}\n"),
            format!("\u{feff}[{one}\n,\r\n{two}]"),
        ] {
            assert_eq!(frames(response.as_bytes()), objects(2), "{response}");
        }
    }

    #[test]
    fn the_end_mark_and_what_is_not_an_object_are_told_apart() {
        assert_eq!(frames(b"data: ping\n\ndata:\n\ndata: [DONE]\n\n"), [Frame::Done]);
        assert_eq!(frames(b"data: [DONE]"), [Frame::Done]);
        assert_eq!(frames(b"data: {\"a\":}\n\n"), [Frame::Invalid]);
        assert_eq!(frames(b"data: {\"a\":\n\ndata: {}\n\n").len(), 2);
        assert_eq!(frames(b"<html>{</html>"), []);
        assert_eq!(frames(b"{\"a\":"), []);
    }
}
