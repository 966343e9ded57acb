//! Our reader of Word files, compared with docx-rs.

use std::{
    collections::HashMap,
    fs,
    io::{Cursor, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use quick_xml::events::Event;
use renderers::{Format, markdown, read, render};
use serde_json::Value;
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

const BODY: &str = "word/document.xml";
/// A reader that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(3);
/// A reader that needs more memory is given up.
const MEMORY_KIB: usize = 1 << 20;
/// The number of damaged copies of each file, of either kind.
const COPIES: usize = 5;

struct WordFile {
    bytes: Vec<u8>,
    /// The number of occurrences of each word of the body.
    words: HashMap<String, usize>,
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    let paths = entries.map(|entry| entry.expect("the folder is readable").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    paths.sort();
    paths
}

/// The Word files that we make of the corpus.
fn ours() -> Vec<WordFile> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let sources = [files(&corpus, "md"), files(&corpus.join("hostile"), "md")].concat();
    let render = |path: &PathBuf| {
        let source = fs::read_to_string(path).expect("the corpus is readable");
        let document = markdown::read(&source).expect("the corpus is readable");
        WordFile::of(render(&document, Format::Docx).expect("it can be rendered").bytes)
    };
    sources.iter().map(render).collect()
}

fn body(file: &[u8]) -> String {
    let mut zip = ZipArchive::new(Cursor::new(file)).expect("it is a package");
    let mut xml = String::new();
    zip.by_name(BODY).expect("it has a body").read_to_string(&mut xml).expect("it is text");
    xml
}

impl WordFile {
    fn of(bytes: Vec<u8>) -> Self {
        let words = counted(&text_of(&body(&bytes)));
        Self { bytes, words }
    }

    /// A copy with another body.
    fn with_body(&self, body: &[u8]) -> Self {
        let mut zip = ZipArchive::new(Cursor::new(&self.bytes)).expect("it is a package");
        let mut copy = ZipWriter::new(Cursor::new(Vec::new()));
        for at in 0..zip.len() {
            let mut part = zip.by_index(at).expect("it is a package");
            let mut bytes = Vec::new();
            part.read_to_end(&mut bytes).expect("it is a package");
            copy.start_file(part.name(), SimpleFileOptions::default()).expect("memory takes it");
            let bytes = if part.name() == BODY { body } else { &bytes };
            copy.write_all(bytes).expect("memory takes it");
        }
        let bytes = copy.finish().expect("memory takes it").into_inner();
        Self { bytes, words: self.words.clone() }
    }

    /// Copies that end too early, and copies with a number that is none.
    fn damaged(&self) -> Vec<Self> {
        let body = body(&self.bytes);
        let ends = (1..=COPIES).map(|at| body.len() * at / (COPIES + 1));
        let cut = ends.map(|end| self.with_body(&body.as_bytes()[..end]));
        let values: Vec<usize> = body
            .match_indices("=\"")
            .map(|(at, _)| at + 2)
            .filter(|at| body.as_bytes()[*at].is_ascii_digit())
            .collect();
        let step = (values.len() / COPIES).max(1);
        let changed = values.iter().step_by(step).take(COPIES).map(|at| {
            let text = [&body.as_bytes()[..*at], b"x", &body.as_bytes()[at + 1..]].concat();
            self.with_body(&text)
        });
        cut.chain(changed).collect()
    }
}

/// The text of a body; paragraphs are apart.
fn text_of(xml: &str) -> String {
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut text, mut is_text) = (String::new(), false);
    loop {
        match reader.read_event().expect("the body is XML") {
            Event::Start(start) => is_text = matches!(start.name().as_ref(), b"w:t" | b"m:t"),
            Event::End(end) => {
                is_text = false;
                if end.name().as_ref() == b"w:p" {
                    text.push('\n');
                }
            }
            Event::Text(part) if is_text => text.push_str(&part.decode().expect("it is UTF-8")),
            Event::Empty(_) | Event::GeneralRef(_) => text.push(' '),
            Event::Eof => return text,
            _ => {}
        }
    }
}

fn counted(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

fn by_us(file: &[u8]) -> Result<String, String> {
    read::to_markdown("a.docx", file).map(|read| read.markdown).map_err(|error| error.to_string())
}

fn by_docx_rs(file: &[u8]) -> Result<String, String> {
    let docx = docx_rs::read_docx(file).map_err(|error| error.to_string())?;
    let json: Value = serde_json::from_str(&docx.json()).map_err(|error| error.to_string())?;
    let mut text = String::new();
    collect(&json["document"], &mut text);
    Ok(text)
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::Object(fields) => {
            if let Some(Value::String(words)) = fields.get("text") {
                text.push_str(words);
            }
            fields.values().for_each(|value| collect(value, text));
            if fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "text") {
                text.push_str(if fields["type"] == "run" { "" } else { " " });
            }
        }
        _ => {}
    }
}

/// Whose reader is compared.
#[derive(Clone, Copy)]
enum WordReader {
    Ours,
    DocxRs,
}

impl WordReader {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::DocxRs => "docx-rs",
        }
    }

    /// Reads the file in a process of its own, because docx-rs does not end with some files.
    fn read(self, file: &Path) -> Outcome {
        let result = file.with_extension("result");
        let _ = fs::remove_file(&result);
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")])
            .arg(std::env::current_exe().expect("this is a program"))
            .args(["--ignored", "--exact", "one_file_is_read"])
            .env("WORD_READER", self.name())
            .env("WORD_FILE", file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                break status;
            }
            if began.elapsed() > PATIENCE {
                child.kill().expect("it is ours");
                child.wait().expect("it is ours");
                return Outcome::GivenUp;
            }
            thread::sleep(Duration::from_millis(2));
        };
        let Ok(result) = fs::read_to_string(result) else {
            return if status.code().is_some() { Outcome::Panic } else { Outcome::GivenUp };
        };
        match result.split_once('\n') {
            Some((micros, text)) => Outcome::Text {
                text: text.to_owned(),
                time: Duration::from_micros(micros.parse().expect("we wrote it")),
            },
            None => Outcome::Error,
        }
    }
}

enum Outcome {
    Text { text: String, time: Duration },
    Error,
    Panic,
    GivenUp,
}

/// What [`WordReader::read`] starts. The result is the time and the text, or empty after an error.
#[test]
#[ignore = "readers_of_word_files_are_compared starts it"]
fn one_file_is_read() {
    let path = PathBuf::from(std::env::var_os("WORD_FILE").expect("it names a file"));
    let bytes = fs::read(&path).expect("it is readable");
    let is_ours = std::env::var_os("WORD_READER").is_some_and(|name| name == "ours");
    let began = Instant::now();
    let read = if is_ours { by_us(&bytes) } else { by_docx_rs(&bytes) };
    let micros = began.elapsed().as_micros();
    let result = read.map_or(String::new(), |text| format!("{micros}\n{text}"));
    fs::write(path.with_extension("result"), result).expect("it is writable");
}

#[derive(Default)]
struct Figures {
    files: usize,
    errors: usize,
    panics: usize,
    given_up: usize,
    words: usize,
    found: usize,
    time: Duration,
}

impl Figures {
    fn of(reader: WordReader, files: &[WordFile]) -> Self {
        let path = std::env::temp_dir().join(format!("word-readers-{}.docx", std::process::id()));
        let mut figures = Self::default();
        for file in files {
            fs::write(&path, &file.bytes).expect("the folder is writable");
            figures.add(file, reader.read(&path));
        }
        for path in [path.with_extension("result"), path] {
            let _ = fs::remove_file(path);
        }
        figures
    }

    fn add(&mut self, file: &WordFile, outcome: Outcome) {
        self.files += 1;
        self.words += file.words.values().sum::<usize>();
        match outcome {
            Outcome::GivenUp => self.given_up += 1,
            Outcome::Panic => self.panics += 1,
            Outcome::Error => self.errors += 1,
            Outcome::Text { text, time } => {
                let found = counted(&text);
                let common = |(word, count): (&String, &usize)| {
                    found.get(word).map_or(0, |found| *found.min(count))
                };
                self.found += file.words.iter().map(common).sum::<usize>();
                self.time += time;
            }
        }
    }

    fn row(&self, corpus: &str, reader: &str) -> String {
        let Self { files, errors, panics, given_up, .. } = self;
        let share = self.found as f64 * 100.0 / self.words.max(1) as f64;
        let time = self.time.as_secs_f64();
        format!(
            "| {corpus} | {files} | {reader} | {share:.1} % | {errors} | {panics} | {given_up} | \
             {time:.2} s |"
        )
    }
}

/// Prints the share of the words that each reader returns. `WORD_FILES` names a folder with files of
/// other programs.
#[test]
#[ignore = "prints figures; docs/development/benchmarks.md says how to run it"]
fn readers_of_word_files_are_compared() {
    let mut corpora = vec![("ours", ours())];
    if let Some(folder) = std::env::var_os("WORD_FILES") {
        let paths = files(Path::new(&folder), "docx");
        let read = |path: &PathBuf| WordFile::of(fs::read(path).expect("it is readable"));
        corpora.push(("of other programs", paths.iter().map(read).collect()));
    }
    let damaged = corpora.iter().flat_map(|(_, files)| files).flat_map(WordFile::damaged);
    corpora.push(("damaged copies", damaged.collect()));
    eprintln!("| Files | Number | Reader | Words | Errors | Panics | Given up | Time |");
    eprintln!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |");
    for (name, files) in &corpora {
        let us = Figures::of(WordReader::Ours, files);
        eprintln!("{}", us.row(name, "ours"));
        eprintln!("{}", Figures::of(WordReader::DocxRs, files).row(name, "docx-rs"));
        assert_eq!((us.panics, us.given_up), (0, 0), "{name}");
    }
}
