//! Pictures as Office draws them: turned as the camera noted it (EXIF), and WebP as PNG.

use std::borrow::Cow;
use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

/// The quality of a turned photo, in percent.
const QUALITY: u8 = 92;

/// A picture without a note about its orientation.
pub struct Upright<'b> {
    pub format: ImageFormat,
    pub bytes: Cow<'b, [u8]>,
    /// In pixels.
    pub width: u32,
    pub height: u32,
}

/// The picture with its pixels turned. `limit` is its maximum number of pixels. The error is the
/// reason why it cannot be drawn.
pub fn upright(bytes: &[u8], limit: u64) -> Result<Upright<'_>, String> {
    let damaged = |_| "it is damaged".to_owned();
    let format = image::guess_format(bytes).map_err(damaged)?;
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > limit {
        return Err(format!("it has more than {} million pixels", limit / 1_000_000));
    }
    let orientation = orientation(&mut decoder);
    if orientation == Orientation::NoTransforms && format != ImageFormat::WebP {
        return Ok(Upright { format, bytes: bytes.into(), width, height });
    }
    let mut image = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    image.apply_orientation(orientation);
    let mut turned = Cursor::new(Vec::new());
    let format = if format == ImageFormat::Jpeg { format } else { ImageFormat::Png };
    let written = if format == ImageFormat::Jpeg {
        let image = DynamicImage::ImageRgb8(image.to_rgb8());
        image.write_with_encoder(JpegEncoder::new_with_quality(&mut turned, QUALITY))
    } else {
        image.write_to(&mut turned, format)
    };
    written.map_err(|error| error.to_string())?;
    let (width, height) = (image.width(), image.height());
    Ok(Upright { format, bytes: turned.into_inner().into(), width, height })
}

/// Width and height of the upright picture, without decoding it.
pub fn size(bytes: &[u8], format: ImageFormat) -> Option<[u32; 2]> {
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut decoder = reader.into_decoder().ok()?;
    let (width, height) = decoder.dimensions();
    let lies = matches!(
        orientation(&mut decoder),
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    );
    Some(if lies { [height, width] } else { [width, height] })
}

fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    decoder.orientation().unwrap_or(Orientation::NoTransforms)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A photo of 40 × 20 pixels, left half red, that has to be turned clockwise.
    pub(crate) fn photo_on_its_side() -> Vec<u8> {
        let pixel = |x, _| image::Rgb(if x < 20 { [250, 0, 0] } else { [0, 0, 250] });
        let image = DynamicImage::ImageRgb8(image::ImageBuffer::from_fn(40, 20, pixel));
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Jpeg).unwrap();
        // An APP1 segment with one entry: orientation 6.
        let tiff = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let length = (tiff.len() as u16 + 2).to_be_bytes();
        let segment = [&[0xff, 0xe1][..], &length, tiff].concat();
        let bytes = bytes.into_inner();
        [&bytes[..2], &segment, &bytes[2..]].concat()
    }

    /// A picture of 30 × 10 pixels.
    pub(crate) fn webp() -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(30, 10).write_to(&mut bytes, ImageFormat::WebP).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_photo_on_its_side_is_turned() {
        let photo = photo_on_its_side();
        let turned = upright(&photo, 1 << 20).unwrap();
        assert_eq!((turned.format, turned.width, turned.height), (ImageFormat::Jpeg, 20, 40));
        let image = image::load_from_memory(&turned.bytes).unwrap().to_rgb8();
        let red = |y| image.get_pixel(10, y)[0];
        assert!(red(5) > 200 && red(35) < 50, "{} {}", red(5), red(35));
        assert_eq!(size(&photo, ImageFormat::Jpeg), Some([20, 40]));
        assert_eq!(upright(&turned.bytes, 1 << 20).unwrap().bytes, turned.bytes);
    }

    #[test]
    fn webp_becomes_png_within_the_limit() {
        let bytes = webp();
        let png = upright(&bytes, 1 << 20).unwrap();
        assert_eq!((png.format, png.width, png.height), (ImageFormat::Png, 30, 10));
        assert!(upright(&bytes, 299).is_err());
    }
}
