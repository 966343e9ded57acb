//! The requests to a rendering process, its answers, and its work: everything that depends on a
//! document's text happens there, where a crash affects nothing else.

use chrono::NaiveDate;
use renderers::{
    Document, Format, RenderError, Rendered, Warning,
    document::{Block, SlideSize, plain_text},
    markdown, rows,
};
use serde::{Deserialize, Serialize};
use std::{mem, path::PathBuf};

use super::{
    blob::Blob,
    branding::{self, BrandingAssets},
    edit_protocol::{self, EditRequest, EditedFile},
    request::{Aspect, RenderPart, RenderText},
};

/// Sent as a line of JSON; a CSV follows as it is.
#[derive(Debug, Serialize, Deserialize)]
pub enum RenderRequest {
    /// List the files that these texts refer to.
    Names(Vec<String>),
    /// Render a file.
    File(Box<RenderOptions>),
    /// Edit files.
    Edit(Box<EditRequest>),
    /// Crash, for tests.
    #[cfg(any(test, feature = "testing"))]
    Break(Breakdown),
}

/// The options of a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct RenderOptions {
    pub format: Format,
    pub text: RenderText,
    pub title: Option<String>,
    /// The default date of documents.
    pub date: Option<NaiveDate>,
    pub aspect: Option<Aspect>,
    pub assets: BrandingAssets,
    /// Whether a picture of the first page is requested as well.
    #[serde(default)]
    pub with_picture: bool,
}

/// Returned as a line of JSON; the bytes of a file follow.
#[derive(Debug, Serialize, Deserialize)]
pub enum RenderResponse {
    Names(Names),
    File {
        title: Option<String>,
        pages: usize,
        warnings: Vec<Warning>,
        /// The number of bytes at the end that are a picture of the first page (PNG).
        picture_bytes: usize,
    },
    /// The files, whose bytes follow.
    Edited(Vec<EditedFile>),
    /// An explanation for the model.
    Refused(String),
}

/// The files that texts refer to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Names {
    /// The pictures of each text, in the order of the texts.
    pub pictures: Vec<Vec<String>>,
    /// The template of the first text, whose front matter takes effect.
    pub template: Option<String>,
}

/// The kinds of crashes.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Breakdown {
    Memory,
    Stack,
    Loop,
    Panic,
}

/// The request as it is sent. Within the JSON, a CSV would be in memory twice, here and there.
pub fn encode(mut request: RenderRequest) -> Vec<u8> {
    let csv = match &mut request {
        RenderRequest::File(options) => match &mut options.text {
            RenderText::Csv(csv) => mem::take(csv),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let mut bytes = serde_json::to_vec(&request).expect("a request is plain text and numbers");
    bytes.reserve_exact(csv.len() + 1);
    bytes.push(b'\n');
    bytes.extend_from_slice(csv.as_bytes());
    bytes
}

/// Handles a request, with the fonts of these folders.
pub fn answer(order: &[u8], fonts: &[PathBuf]) -> Vec<u8> {
    let end = order.iter().position(|byte| *byte == b'\n').unwrap_or(order.len());
    let (order, csv) = order.split_at(end);
    let done = serde_json::from_slice(order)
        .map_err(|error| RenderError::Invalid(error.to_string()))
        .and_then(|order| follow(order, csv.strip_prefix(b"\n").unwrap_or_default(), fonts));
    let (answer, bytes) =
        done.unwrap_or_else(|refused| (RenderResponse::Refused(refused.to_string()), Vec::new()));
    let mut whole = serde_json::to_vec(&answer).expect("an answer is plain text and numbers");
    whole.push(b'\n');
    whole.extend(bytes);
    whole
}

fn follow(
    order: RenderRequest,
    csv: &[u8],
    fonts: &[PathBuf],
) -> Result<(RenderResponse, Vec<u8>), RenderError> {
    match order {
        RenderRequest::Names(texts) => {
            let read = texts.iter().map(|text| markdown::read(text));
            let documents = read.collect::<Result<Vec<_>, _>>()?;
            let pictures = documents.iter().map(markdown::image_urls).collect();
            let template = documents.into_iter().next().and_then(|first| first.meta.template);
            Ok((RenderResponse::Names(Names { pictures, template }), Vec::new()))
        }
        RenderRequest::File(options) => {
            let csv = str::from_utf8(csv).map_err(|odd| RenderError::Invalid(odd.to_string()))?;
            let (file, picture, title) = draw(*options, csv, fonts)?;
            let Rendered { mut bytes, pages, warnings } = file;
            let picture = picture.unwrap_or_default();
            bytes.extend(&picture);
            let picture_bytes = picture.len();
            Ok((RenderResponse::File { title, pages, warnings, picture_bytes }, bytes))
        }
        RenderRequest::Edit(request) => {
            let (files, bytes) = edit_protocol::answer(&request)?;
            Ok((RenderResponse::Edited(files), bytes))
        }
        #[cfg(any(test, feature = "testing"))]
        RenderRequest::Break(how) => break_down(how),
    }
}

type RenderResult = (Rendered, Option<Vec<u8>>, Option<String>);

/// The file, a picture of it, and the title of its contents.
fn draw(options: RenderOptions, csv: &str, fonts: &[PathBuf]) -> Result<RenderResult, RenderError> {
    let RenderOptions { format, text, title, date, aspect, assets, with_picture } = options;
    let named = title.as_deref().unwrap_or("Rows");
    let is_csv = matches!(text, RenderText::Csv(_));
    let is_streamed = is_csv && format == Format::Xlsx && rows::is_long(csv);
    let mut document = match text {
        RenderText::Csv(_) if is_streamed => Document::default(),
        RenderText::Csv(_) => rows::from_csv(named, csv)?,
        text => read(named, text)?,
    };
    document.meta.title = document.meta.title.or(title);
    document.meta.date = document.meta.date.or(date);
    match aspect {
        Some(Aspect::Wide) => document.meta.slides = SlideSize::Wide,
        Some(Aspect::Standard) => document.meta.slides = SlideSize::Standard,
        None => {}
    }
    assets.apply_to(&mut document);
    if is_streamed {
        return Ok((rows::stream(&document, csv)?, None, document.meta.title));
    }
    if matches!(format, Format::Pdf | Format::Docx) {
        drop_repeated_title(&mut document);
    }
    let (rendered, picture) = branding::draw(&document, format, fonts, with_picture)?;
    Ok((rendered, picture, document.meta.title))
}

/// Parses a text. `named` is the title if the text has none.
fn read(named: &str, text: RenderText) -> Result<Document, RenderError> {
    let documents = match text {
        RenderText::Csv(csv) => return rows::from_csv(named, &csv),
        RenderText::Json(rows) => return rows::from_json(named, &rows),
        RenderText::Files(files) => {
            let files = files.into_iter().map(|(name, text)| read(&name, text));
            let mut files = files.collect::<Result<Vec<_>, _>>()?;
            for file in &mut files {
                file.meta.title = Some(named.to_owned());
            }
            files
        }
        RenderText::Markdown(parts) => {
            parts.into_iter().map(with_pictures).collect::<Result<Vec<_>, _>>()?
        }
    };
    let whole = documents.into_iter().reduce(|mut whole, document| {
        whole.append(document);
        whole
    });
    Ok(whole.unwrap_or_default())
}

fn with_pictures(part: RenderPart) -> Result<Document, RenderError> {
    let mut document = markdown::read(&part.text)?;
    document.assets.extend(part.pictures.into_iter().map(|(url, Blob(bytes))| (url, bytes)));
    document.warnings.extend(part.warnings);
    Ok(document)
}

/// Models often give the title in the front matter and again as the first heading, which would show
/// it twice.
fn drop_repeated_title(document: &mut Document) {
    let repeats = match (&document.meta.title, document.blocks.first()) {
        (Some(title), Some(Block::Heading { level: 1, content })) => {
            plain_text(content).trim() == title.trim()
        }
        _ => false,
    };
    if repeats {
        document.blocks.remove(0);
    }
}

#[cfg(any(test, feature = "testing"))]
fn break_down(how: Breakdown) -> Result<(RenderResponse, Vec<u8>), RenderError> {
    fn deeper(depth: u64) -> u64 {
        let room = std::hint::black_box([depth; 64]);
        if room[0] == u64::MAX { 0 } else { deeper(depth + 1) + room[1] }
    }
    let mut kept = Vec::new();
    loop {
        match how {
            Breakdown::Memory => kept.push(vec![1_u8; 1 << 20]),
            Breakdown::Stack => kept.push(vec![deeper(0) as u8]),
            Breakdown::Loop => std::hint::spin_loop(),
            Breakdown::Panic => panic!("requested by a test"),
        }
    }
}
