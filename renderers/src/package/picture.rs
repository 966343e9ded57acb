//! Pictures: format detection, size and limits.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Cursor;

use image::{ImageFormat, ImageReader};

use super::kind::{PictureKind, unsupported};
use super::media::MediaFile;
use super::upright::{self, Upright};
use super::vector;
use super::warnings::Warnings;
use super::xml::Xml;
use super::{Package, Relations};
use crate::Document;
use crate::pdf::fontset::Fonts;
use crate::rendered::Warning;

/// Limits for one picture, and for all pictures of a file.
const FILE_BYTES: usize = 20 << 20;
const PIXELS: u64 = 40_000_000;
const PICTURES: usize = 64;
const DECODED_BYTES: u64 = 512 << 20;

/// Why a picture that the document names is not shown, if there is no file for it.
pub const MISSING: &str = "there is no such file";

/// English Metric Units per pixel, at 96 pixels per inch.
pub const EMU_PER_PIXEL: i64 = 9_525;

/// A picture that can be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture<'d> {
    pub kind: PictureKind,
    pub file: MediaFile<'d>,
    /// The vector original of the rasterized `file`, for programs that support SVG.
    pub vector: Option<MediaFile<'d>>,
    /// In pixels.
    pub width: u32,
    pub height: u32,
    /// Whether text stands on it.
    pub is_darkened: bool,
}

impl Picture<'_> {
    /// Reads a picture of any supported format. The error is the reason why it cannot be drawn.
    pub fn read<'d>(bytes: &'d [u8], fonts: &Fonts) -> Result<Picture<'d>, String> {
        match sniff(bytes) {
            Err(Unfit::Vector) => Picture::of_vector(Cow::Borrowed(bytes), fonts),
            Err(Unfit::Broken(why)) => Err(why),
            Ok(picture) => Ok(picture),
        }
    }

    /// A vector picture, with its raster fallback.
    pub fn of_vector<'d>(svg: Cow<'d, [u8]>, fonts: &Fonts) -> Result<Picture<'d>, String> {
        let vector::Raster { png, width, height } = vector::raster(&svg, fonts)?;
        Ok(Picture {
            kind: PictureKind::Png,
            file: MediaFile::of(png.into()),
            vector: Some(MediaFile::of(svg)),
            width,
            height,
            is_darkened: false,
        })
    }

    /// The width and height in EMU at 96 pixels per inch, reduced to fit the box but never
    /// enlarged.
    pub fn fit(&self, limit: EmuSize) -> EmuSize {
        self.own_size().scaled(limit, 1.0)
    }

    /// The size at that width in EMU, reduced to fit the height.
    pub fn of_width(&self, width: i64, max_height: i64) -> EmuSize {
        self.own_size().scaled(EmuSize { width, height: max_height }, f64::MAX)
    }

    /// Like [`Picture::fit`], but enlarged up to three times if there is room. Icons are not
    /// enlarged.
    pub fn fill(&self, limit: EmuSize) -> EmuSize {
        let enlarge = if self.width.max(self.height) < 64 { 1.0 } else { 3.0 };
        self.own_size().scaled(limit, enlarge)
    }

    fn own_size(&self) -> EmuSize {
        EmuSize {
            width: i64::from(self.width.max(1)) * EMU_PER_PIXEL,
            height: i64::from(self.height.max(1)) * EMU_PER_PIXEL,
        }
    }
}

/// A size in English Metric Units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmuSize {
    pub width: i64,
    pub height: i64,
}

impl EmuSize {
    /// The largest size within a limit, enlarged at most by that factor.
    fn scaled(self, limit: Self, enlarge: f64) -> Self {
        let across = limit.width as f64 / self.width as f64;
        let down = limit.height as f64 / self.height as f64;
        let factor = across.min(down).min(enlarge);
        let scaled = |length: i64| ((length as f64 * factor) as i64).max(1);
        Self { width: scaled(self.width), height: scaled(self.height) }
    }
}

/// Where the parts of a picture are stored.
pub struct PictureStores<'a> {
    pub package: &'a mut Package,
    /// The relationships of the part that shows it.
    pub relations: &'a mut Relations,
    /// The folder of the format, and the way to it from the part.
    pub folder: &'static str,
    pub up: &'static str,
}

/// Stores a picture in `media` below the folder and writes its `a:blip`. A vector picture is stored
/// next to its raster fallback; Office 2016 and LibreOffice draw the vector.
pub fn blip(
    xml: &mut Xml,
    PictureStores { package, relations, folder, up }: PictureStores<'_>,
    picture: &Picture<'_>,
) {
    let mut relate = |kind, file: &MediaFile<'_>| {
        let part = package.store(&format!("{folder}/media"), kind, file);
        relations.part("image", &part.replacen(&format!("{folder}/"), up, 1))
    };
    let pixels = relate(picture.kind, &picture.file);
    let vector = picture.vector.as_ref().map(|vector| relate(PictureKind::Svg, vector));
    xml.open("a:blip", &[("r:embed", &pixels)]);
    if picture.is_darkened {
        xml.empty("a:lum", &[("bright", "-45000")]);
    }
    if let Some(vector) = vector {
        vector_of(xml, &vector);
    }
    xml.close();
}

/// The vector original of a picture.
fn vector_of(xml: &mut Xml, vector: &str) {
    xml.open("a:extLst", &[]);
    xml.open("a:ext", &[("uri", "{96DAC541-7B7A-43D3-8B79-37D633B846F1}")]);
    let ns = "http://schemas.microsoft.com/office/drawing/2016/SVG/main";
    xml.empty("asvg:svgBlip", &[("xmlns:asvg", ns), ("r:embed", vector)]);
    xml.close();
    xml.close();
}

/// Looks up pictures and enforces the limits for all pictures of a file.
pub struct Album<'d> {
    fonts: &'d Fonts,
    /// The pictures so far by their URL, or why one cannot be drawn.
    known: HashMap<String, Result<Picture<'d>, String>>,
    /// The number of pictures that can be drawn.
    pictures: usize,
    decoded_bytes: u64,
}

impl<'d> Album<'d> {
    /// An empty album. `fonts` are used for the text of vector pictures.
    pub fn new(fonts: &'d Fonts) -> Self {
        Self { fonts, known: HashMap::new(), pictures: 0, decoded_bytes: 0 }
    }

    /// The picture for `url`, or `None` after a warning with the reason why it cannot be drawn.
    pub fn picture(
        &mut self,
        document: &'d Document,
        url: &str,
        warnings: &mut Warnings,
    ) -> Option<Picture<'d>> {
        match self.find(document, url) {
            Ok(picture) => Some(picture),
            Err(reason) => {
                let name: String = url.chars().take(120).collect();
                warnings.add(Warning::PictureShownAsText { name, why: reason });
                None
            }
        }
    }

    /// Reads a picture only once: it may be shown many times.
    fn find(&mut self, document: &'d Document, url: &str) -> Result<Picture<'d>, String> {
        if let Some(known) = self.known.get(url) {
            return known.clone();
        }
        let found = self.read(document, url);
        self.known.insert(url.to_owned(), found.clone());
        found
    }

    fn read(&mut self, document: &'d Document, url: &str) -> Result<Picture<'d>, String> {
        let bytes = document.assets.get(url).ok_or_else(|| missing(url))?;
        if self.pictures >= PICTURES {
            return Err(format!("a file can have at most {PICTURES} pictures"));
        }
        let picture = Picture::read(bytes, self.fonts)?;
        // Of a vector picture, only its pixels are unpacked.
        let most = picture.vector.as_ref().map_or(u32::MAX, |_| vector::MAX_PIXELS.into());
        let pixels = |length: u32| u64::from(length.min(most));
        let cost = pixels(picture.width) * pixels(picture.height) * 4;
        if self.decoded_bytes + cost > DECODED_BYTES {
            return Err("all pictures together are too large to unpack".into());
        }
        if picture.vector.is_none() {
            decode(bytes)?;
        }
        self.decoded_bytes += cost;
        self.pictures += 1;
        Ok(picture)
    }
}

/// Why there is no data for a picture.
pub fn missing(url: &str) -> &'static str {
    let is_data = url.starts_with("data:");
    if is_data { "its data cannot be read" } else { MISSING }
}

/// Decodes the picture completely: a truncated picture would be a red cross on the page.
fn decode(bytes: &[u8]) -> Result<(), String> {
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let mut reader = reader.map_err(|e| e.to_string())?;
    reader.limits(limits);
    reader.decode().map(|_| ()).map_err(|_| "it is damaged".to_owned())
}

/// The width of a raster picture in pixels, without decoding it; 300 for a vector picture.
pub fn pixels(bytes: &[u8]) -> Option<f64> {
    match image::guess_format(bytes) {
        Ok(format) => upright::size(bytes, format).map(|[width, _]| f64::from(width)),
        Err(_) => vector::is_svg(bytes).then_some(300.0),
    }
}

/// The reason why bytes are not a raster picture.
#[derive(Debug, PartialEq, Eq)]
enum Unfit {
    Vector,
    Broken(String),
}

/// Detects the format from the content; the file name is ignored.
fn sniff(bytes: &[u8]) -> Result<Picture<'_>, Unfit> {
    let broken = |why: &str| Unfit::Broken(why.to_owned());
    if bytes.len() > FILE_BYTES {
        return Err(Unfit::Broken(format!("it is larger than {} MB", FILE_BYTES >> 20)));
    }
    if let Some(why) = unsupported(bytes) {
        return Err(Unfit::Broken(why));
    }
    let unknown = "it is not PNG, JPEG, GIF, BMP, WebP or SVG";
    if image::guess_format(bytes).is_err() {
        let is_vector = vector::is_svg(bytes);
        return Err(if is_vector { Unfit::Vector } else { broken(unknown) });
    }
    let Upright { format, bytes, width, height } =
        upright::upright(bytes, PIXELS).map_err(Unfit::Broken)?;
    let kind = match format {
        ImageFormat::Png => PictureKind::Png,
        ImageFormat::Jpeg => PictureKind::Jpeg,
        ImageFormat::Gif => PictureKind::Gif,
        ImageFormat::Bmp => PictureKind::Bmp,
        _ => return Err(broken(unknown)),
    };
    let file = MediaFile::of(bytes);
    Ok(Picture { kind, file, vector: None, width, height, is_darkened: false })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A black PNG of that size.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image::DynamicImage::new_luma8(width, height)
            .write_to(&mut bytes, ImageFormat::Png)
            .unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_picture_is_known_by_its_bytes_and_keeps_its_shape() {
        let bytes = png(40, 20);
        let picture = sniff(&bytes).unwrap();
        assert_eq!((picture.kind, picture.width, picture.height), (PictureKind::Png, 40, 20));
        let size = |width, height| EmuSize { width, height };
        assert_eq!(picture.fit(size(20 * EMU_PER_PIXEL, 1 << 40)), size(190_500, 95_250));
        assert_eq!(picture.fit(size(1 << 40, 1 << 40)), size(381_000, 190_500));
    }

    #[test]
    fn photos_stand_upright_and_webp_is_drawn() {
        use crate::package::upright::tests::{photo_on_its_side, webp};
        let photo = photo_on_its_side();
        let picture = sniff(&photo).unwrap();
        assert_eq!((picture.kind, picture.width, picture.height), (PictureKind::Jpeg, 20, 40));
        let bytes = webp();
        let picture = sniff(&bytes).unwrap();
        assert_eq!((picture.kind, picture.width, picture.height), (PictureKind::Png, 30, 10));
    }

    #[test]
    fn unsupported_pictures_are_reported_with_a_reason() {
        let mut document = Document::default();
        document.assets.insert("a.png".into(), b"no picture".to_vec());
        document.assets.insert("b.png".into(), png(40, 40)[..45].to_vec());
        document.assets.insert("c.svg".into(), b"<svg xmlns='x'/>".to_vec());
        let fonts = Fonts::default();
        let mut warnings = Warnings::default();
        for url in ["a.png", "b.png", "c.svg", "d.png"] {
            assert_eq!(Album::new(&fonts).picture(&document, url, &mut warnings), None);
        }
        let said =
            warnings.finish(0).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for reason in [
            "not PNG, JPEG",
            "b.png is shown as its text: it is damaged",
            "c.svg is",
            "no such file",
        ] {
            assert!(said.contains(reason), "{reason} in {said}");
        }
    }

    #[test]
    fn a_picture_is_read_once_for_all_of_its_places() {
        let mut document = Document::default();
        let svg = include_bytes!("../../tests/corpus/img/diagram.svg");
        document.assets.insert("a.svg".into(), svg.to_vec());
        let fonts = Fonts::default();
        let (mut album, mut warnings) = (Album::new(&fonts), Warnings::default());
        let mut look_up = || album.picture(&document, "a.svg", &mut warnings).unwrap();
        let pictures = [look_up(), look_up()];
        let [one, two] = pictures.each_ref().map(|picture| picture.file.bytes().as_ptr());
        assert_eq!(one, two, "the same bytes, not equal ones");
    }

    #[test]
    fn a_large_vector_picture_is_drawn() {
        let mut document = Document::default();
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='20000' height='20000'>\
                   <rect width='9000' height='9000'/></svg>";
        document.assets.insert("a.svg".into(), svg.into());
        let fonts = Fonts::default();
        let (mut album, mut warnings) = (Album::new(&fonts), Warnings::default());
        let picture = album.picture(&document, "a.svg", &mut warnings);
        assert_eq!(picture.map(|picture| picture.width), Some(20_000));
    }

    #[test]
    fn a_file_holds_sixty_four_pictures() {
        let mut document = Document::default();
        for n in 0..65 {
            document.assets.insert(format!("{n}.png"), png(1, 1));
        }
        let fonts = Fonts::default();
        let (mut album, mut warnings) = (Album::new(&fonts), Warnings::default());
        let drawn =
            document.assets.keys().filter(|u| album.picture(&document, u, &mut warnings).is_some());
        assert_eq!(drawn.count(), 64);
    }
}
