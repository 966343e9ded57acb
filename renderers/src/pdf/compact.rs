//! Moves the objects of a PDF into compressed object streams (ISO 32000-1, 7.5.7).
//!
//! A tagged file has several small objects for each paragraph, cell and link. They are moved as they
//! are written: parsing them would take many times their size in memory.

use std::fmt::Write as _;

use lopdf::{Dictionary, Stream};

/// The number of objects in an object stream.
const OBJECTS: usize = 1_000;

/// An entry of the cross-reference stream: its type and two fields.
type Entry = [usize; 3];

/// The same file with object streams and a cross-reference stream. `None` unless the file is as
/// Typst writes it: with a cross-reference table and without generations.
pub fn compact(bytes: &[u8]) -> Option<Vec<u8>> {
    let table = Table::of(bytes)?;
    let mut file = bytes[..*table.offsets.iter().flatten().min()?].to_vec();
    let mut entries: Vec<Entry> = vec![[0, 0, 65_535]; table.offsets.len()];
    let mut small = Vec::new();
    for object in table.objects(bytes)? {
        if object.is_stream() {
            entries[object.number] = [1, file.len(), 0];
            file.extend(format!("{} 0 obj\n", object.number).bytes());
            file.extend(object.body);
            file.extend(b"\nendobj\n");
        } else {
            small.push(object);
        }
    }
    small.sort_unstable_by_key(|object| object.number);
    for objects in small.chunks(OBJECTS) {
        let stream = entries.len();
        for (at, object) in objects.iter().enumerate() {
            entries[object.number] = [2, stream, at];
        }
        entries.push([1, file.len(), 0]);
        let (head, body) = joined(objects);
        let keys = format!("/Type/ObjStm/N {}/First {}", objects.len(), head.len());
        write_stream(&mut file, stream, &keys, [head.into_bytes(), body].concat());
    }
    let begin = file.len();
    entries.push([1, begin, 0]);
    let widths = [1, 5, 2];
    let entry = |entry: &Entry| {
        let fields = entry.iter().zip(widths);
        fields.flat_map(|(field, width)| field.to_be_bytes()[8 - width..].to_vec()).collect()
    };
    let rows: Vec<Vec<u8>> = entries.iter().map(entry).collect();
    let keys = format!("/Type/XRef/Size {}/W[1 5 2]{}", entries.len(), table.trailer);
    write_stream(&mut file, entries.len() - 1, &keys, rows.concat());
    file.extend(format!("startxref\n{begin}\n%%EOF").bytes());
    Some(file)
}

/// The numbers and positions of objects, and the objects one after the other.
fn joined(objects: &[Object<'_>]) -> (String, Vec<u8>) {
    let (mut head, mut body) = (String::new(), Vec::new());
    for object in objects {
        write!(head, "{} {} ", object.number, body.len())
            .expect("writing into a string cannot fail");
        body.extend(object.body);
        body.push(b'\n');
    }
    (head, body)
}

/// Writes a compressed stream with these keys.
fn write_stream(file: &mut Vec<u8>, number: usize, keys: &str, content: Vec<u8>) {
    let mut stream = Stream::new(Dictionary::new(), content);
    // A stream that does not become smaller stays as it is.
    let _ = stream.compress();
    let filter = if stream.dict.has(b"Filter") { "/Filter/FlateDecode" } else { "" };
    let length = stream.content.len();
    file.extend(format!("{number} 0 obj\n<<{keys}{filter}/Length {length}>>stream\n").bytes());
    file.extend(stream.content);
    file.extend(b"\nendstream\nendobj\n");
}

/// The cross-reference table.
struct Table<'b> {
    /// The position of each object; `None` for numbers without one.
    offsets: Vec<Option<usize>>,
    /// The position of the table.
    begin: usize,
    /// The keys of the trailer without the number of objects.
    trailer: &'b str,
}

/// The number and the text of an object.
struct Object<'b> {
    number: usize,
    body: &'b [u8],
}

impl Object<'_> {
    fn is_stream(&self) -> bool {
        self.body.ends_with(b"endstream")
    }
}

impl<'b> Table<'b> {
    fn of(bytes: &'b [u8]) -> Option<Self> {
        let end = std::str::from_utf8(bytes.get(bytes.len().saturating_sub(64)..)?).ok()?;
        let (_, begin) = end.rsplit_once("startxref\n")?;
        let begin: usize = begin.lines().next()?.parse().ok()?;
        let text = std::str::from_utf8(bytes.get(begin..)?).ok()?;
        let (count, rows) = text.strip_prefix("xref\n0 ")?.split_once('\n')?;
        let (rows, trailer) =
            rows.split_at_checked(count.parse::<usize>().ok()?.checked_mul(20)?)?;
        let offset = |row: &[u8]| {
            let row = std::str::from_utf8(row).ok()?;
            match row.trim_end().split_once(' ')? {
                (offset, "00000 n") => offset.parse().ok().map(Some),
                (_, generation) => generation.ends_with('f').then_some(None),
            }
        };
        let offsets = rows.as_bytes().chunks(20).map(offset).collect::<Option<_>>()?;
        let (trailer, _) = trailer.strip_prefix("trailer\n<</Size ")?.split_once("\nstartxref")?;
        let trailer = trailer.trim_start_matches(|c: char| c.is_ascii_digit());
        Some(Self { offsets, begin, trailer: trailer.strip_suffix(">>")? })
    }

    /// The objects in the order of the file.
    fn objects(&self, bytes: &'b [u8]) -> Option<Vec<Object<'b>>> {
        let numbered = self.offsets.iter().enumerate();
        let mut begins: Vec<(usize, usize)> =
            numbered.filter_map(|(number, offset)| offset.map(|offset| (offset, number))).collect();
        begins.sort_unstable();
        let ends = begins.iter().skip(1).map(|(offset, _)| *offset).chain([self.begin]);
        let objects = begins.iter().zip(ends).map(|((begin, number), end)| {
            let text = bytes.get(*begin..end)?.trim_ascii();
            let head = format!("{number} 0 obj\n");
            let body = text.strip_prefix(head.as_bytes())?.strip_suffix(b"endobj")?.trim_ascii();
            Some(Object { number: *number, body })
        });
        objects.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_streams_are_kept() {
        let mut source = b"%PDF-1.7\n%\x80\x80\n\n".to_vec();
        let mut offsets = Vec::new();
        for object in [
            "<</Type/Catalog/Pages 3 0 R>>",
            "<</Length 5>>stream\nhello\nendstream",
            "<</Type/Pages/Count 0/Kids[]/Note(endobj\nx)>>",
        ] {
            offsets.push(source.len());
            source.extend(format!("{} 0 obj\n{object}\nendobj\n", offsets.len()).bytes());
        }
        let begin = source.len();
        source.extend(b"xref\n0 4\n0000000000 65535 f\r\n");
        for offset in offsets {
            source.extend(format!("{offset:010} 00000 n\r\n").bytes());
        }
        let trailer = "trailer\n<</Size 4/Root 1 0 R/ID[(a)(b)]>>\nstartxref\n";
        source.extend(format!("{trailer}{begin}\n%%EOF").bytes());
        let file = lopdf::Document::load_mem(&compact(&source).unwrap()).unwrap();
        assert_eq!(file.catalog().unwrap().get(b"Pages").unwrap().as_reference().unwrap().0, 3);
        let stream = file.get_object((2, 0)).unwrap().as_stream().unwrap();
        assert_eq!(stream.content, b"hello");
        let note = file.get_dictionary((3, 0)).unwrap().get(b"Note").unwrap();
        assert_eq!(note.as_str().unwrap(), b"endobj\nx");
        assert_eq!(file.trailer.get(b"ID").unwrap().as_array().unwrap().len(), 2);
        source.truncate(source.len() - 8);
        assert!(compact(&source).is_none() && compact(b"").is_none());
    }
}
