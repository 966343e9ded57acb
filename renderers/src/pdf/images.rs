//! Pictures for Typst: detected and decoded once within limits, so that a broken or huge picture
//! becomes a sentence in the text and the document is still rendered.

use std::collections::BTreeMap;
use std::io::Cursor;

use crate::package::kind::unsupported;
use crate::package::upright;
use image::{ImageFormat as Raster, ImageReader, Limits};
use typst::foundations::Bytes;
use typst::visualize::{ExchangeFormat, ImageFormat, SvgImage, VectorFormat};

/// The maximum size of a picture file, in bytes.
pub const FILE_BYTES: usize = 20 * 1024 * 1024;
/// The maximum size of a picture, in pixels.
pub const PIXELS: u64 = 40_000_000;
/// The maximum number of pictures per document.
pub const COUNT: usize = 64;
/// The maximum size of all decoded pictures of a document, in bytes.
pub const DECODED_BYTES: u64 = 512 * 1024 * 1024;

/// A picture that Typst can draw.
#[derive(Debug, Clone)]
pub struct PdfPicture {
    pub bytes: Bytes,
    pub format: ImageFormat,
    /// In pixels, at 96 per inch.
    pub width: f64,
    pub height: f64,
}

impl PdfPicture {
    pub fn is_vector(&self) -> bool {
        matches!(self.format, ImageFormat::Vector(_))
    }
}

/// By URL: the picture, or the reason why it cannot be drawn.
pub type Pictures = BTreeMap<String, Result<PdfPicture, String>>;

pub fn load(assets: &BTreeMap<String, Vec<u8>>) -> Pictures {
    let mut decoded = 0;
    let load = |(at, (url, bytes)): (usize, (&String, &Vec<u8>))| {
        let picture = if at >= COUNT {
            Err(format!("a document may have {COUNT} pictures"))
        } else {
            picture(bytes, &mut decoded)
        };
        (url.clone(), picture)
    };
    assets.iter().enumerate().map(load).collect()
}

pub fn picture(bytes: &[u8], decoded: &mut u64) -> Result<PdfPicture, String> {
    if bytes.len() > FILE_BYTES {
        return Err(format!("the file is larger than {} MB", FILE_BYTES / 1024 / 1024));
    }
    if let Some(why) = unsupported(bytes) {
        return Err(why);
    }
    match image::guess_format(bytes) {
        Ok(format) => raster(bytes, format, decoded),
        Err(_) => vector(bytes),
    }
}

fn raster(bytes: &[u8], format: Raster, decoded: &mut u64) -> Result<PdfPicture, String> {
    let exchange = match format {
        Raster::Png | Raster::Bmp => ExchangeFormat::Png,
        Raster::Jpeg => ExchangeFormat::Jpg,
        Raster::Gif => ExchangeFormat::Gif,
        Raster::WebP => ExchangeFormat::Webp,
        other => return Err(format!("pictures of the type {other:?} are not supported")),
    };
    let (width, height) = ImageReader::with_format(Cursor::new(bytes), format)
        .into_dimensions()
        .map_err(|_| "the file is damaged".to_owned())?;
    let pixels = u64::from(width) * u64::from(height);
    *decoded = decoded.saturating_add(pixels.saturating_mul(4));
    if pixels > PIXELS || *decoded > DECODED_BYTES {
        return Err(format!("{width} × {height} pixels exceed the limit"));
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(PIXELS * 8);
    reader.limits(limits);
    let image = reader.decode().map_err(|_| "the file is damaged".to_owned())?;
    let (bytes, format) = match format {
        Raster::Bmp => (png(&image)?, Raster::Png),
        other => (bytes.to_vec(), other),
    };
    // Typst turns a photo as its camera noted.
    let [width, height] = upright::size(&bytes, format).unwrap_or([width, height]);
    let (width, height) = (f64::from(width), f64::from(height));
    Ok(PdfPicture { bytes: Bytes::new(bytes), format: exchange.into(), width, height })
}

/// Converts BMP, which Typst does not support.
fn png(image: &image::DynamicImage) -> Result<Vec<u8>, String> {
    let mut png = Cursor::new(Vec::new());
    image.write_to(&mut png, Raster::Png).map_err(|error| error.to_string())?;
    Ok(png.into_inner())
}

pub fn vector(bytes: &[u8]) -> Result<PdfPicture, String> {
    crate::package::vector::check(bytes)?;
    let bytes = Bytes::new(bytes.to_vec());
    let svg = SvgImage::new(bytes.clone()).map_err(|_| "the file is damaged".to_owned())?;
    let (width, height) = (svg.width(), svg.height());
    Ok(PdfPicture { bytes, format: ImageFormat::Vector(VectorFormat::Svg), width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(bytes: &[u8]) -> String {
        picture(bytes, &mut 0).unwrap_err()
    }

    #[test]
    fn photos_have_the_size_of_the_upright_picture() {
        let photo = picture(&upright::tests::photo_on_its_side(), &mut 0).unwrap();
        assert_eq!((photo.width, photo.height), (20.0, 40.0));
        let webp = picture(&upright::tests::webp(), &mut 0).unwrap();
        assert_eq!((webp.width, webp.height), (30.0, 10.0));
    }

    #[test]
    fn pictures_of_five_kinds_are_read() {
        for bytes in [
            include_bytes!("../../tests/corpus/img/chart.png").as_slice(),
            include_bytes!("../../tests/corpus/img/photo.jpg"),
            include_bytes!("../../tests/corpus/img/anim.gif"),
            include_bytes!("../../tests/corpus/img/pic.bmp"),
            include_bytes!("../../tests/corpus/img/diagram.svg"),
        ] {
            let picture = picture(bytes, &mut 0).unwrap();
            assert!(picture.width >= 64.0 && picture.height >= 48.0);
        }
    }

    #[test]
    fn a_bad_picture_says_why() {
        let chart = include_bytes!("../../tests/corpus/img/chart.png");
        assert_eq!(why(&chart[..400]), "the file is damaged");
        assert_eq!(why(b"hello"), "the kind is not known");
        assert_eq!(why(b"<svg><image href='http://x/y.png'/></svg>"), "it references other files");
        let svg = include_bytes!("../../tests/corpus/hostile/svg-external.svg");
        assert_eq!(why(svg), "it declares entities");
    }

    #[test]
    fn a_small_file_cannot_ask_for_much_memory() {
        let mut liar = include_bytes!("../../tests/corpus/img/dot.png").to_vec();
        liar[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        assert!(matches!(
            why(&liar).as_str(),
            "the file is damaged" | "2147483647 × 2147483647 pixels exceed the limit"
        ));
        let mut decoded = DECODED_BYTES - 100;
        let dot = include_bytes!("../../tests/corpus/img/dot.png");
        assert!(picture(dot, &mut decoded).is_err());
    }
}
