//! A picture prepared for a vision model: the first frame of an animation, rotated upright, scaled
//! to a size that providers do not reduce further, and without metadata such as the location.

use image::{DynamicImage, ImageDecoder, ImageReader, Limits, Rgb, RgbImage, codecs::jpeg};
use std::io::Cursor;

use super::{ReadError, limits};

/// The longer edge, in pixels.
pub const EDGE: u32 = 1_568;
/// The lowest quality at which text stays legible.
const QUALITY: u8 = 85;
/// The maximum allocation of a decoder.
const DECODED_BYTES: u64 = 192 << 20;

/// The picture as JPEG. A panic of a decoder is reported as a damaged file.
pub fn view(bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    std::panic::catch_unwind(|| drawn(bytes)).unwrap_or_else(|_| Err(damaged()))
}

fn drawn(bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    limits::input(bytes)?;
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .expect("bytes in memory can be read");
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|_| unknown())?;
    let (width, height) = decoder.dimensions();
    limits::pixels(width, height)?;
    limits::within(decoder.total_bytes(), DECODED_BYTES, "bytes when it is decoded")?;
    let orientation = decoder.orientation().map_err(|_| damaged())?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_| damaged())?;
    if width.max(height) > EDGE {
        picture = picture.thumbnail(EDGE, EDGE);
    }
    picture.apply_orientation(orientation);
    let mut jpeg = Vec::new();
    on_white(&picture)
        .write_with_encoder(jpeg::JpegEncoder::new_with_quality(&mut jpeg, QUALITY))
        .map_err(|_| damaged())?;
    Ok(jpeg)
}

/// Replaces transparency by white.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let mut flat = RgbImage::new(picture.width(), picture.height());
    for (to, from) in flat.pixels_mut().zip(picture.to_rgba8().pixels()) {
        let [red, green, blue, alpha] = from.0.map(u16::from);
        let over = |colour: u16| ((colour * alpha + 255 * (255 - alpha)) / 255) as u8;
        *to = Rgb([over(red), over(green), over(blue)]);
    }
    flat
}

fn damaged() -> ReadError {
    ReadError::Damaged("The picture is damaged, or decodes to too much: ask for another.".into())
}

fn unknown() -> ReadError {
    ReadError::Unknown("This is not a supported picture; use PNG, JPEG, GIF, WebP or BMP.".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ExtendedColorType, ImageEncoder as _, Rgba, RgbaImage, codecs::png::PngEncoder};

    fn png(picture: &RgbaImage) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (width, height) = picture.dimensions();
        PngEncoder::new(&mut bytes)
            .write_image(picture, width, height, ExtendedColorType::Rgba8)
            .unwrap();
        bytes
    }

    /// A JPEG whose metadata says that it is rotated.
    fn turned(picture: &RgbImage) -> Vec<u8> {
        let mut jpeg = Vec::new();
        let encoder = jpeg::JpegEncoder::new_with_quality(&mut jpeg, 90);
        picture.write_with_encoder(encoder).unwrap();
        let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let length = (exif.len() as u16 + 2).to_be_bytes();
        let marker = [&[0xff, 0xe1], &length[..], exif].concat();
        [&jpeg[..2], &marker, &jpeg[2..]].concat()
    }

    fn seen(bytes: &[u8]) -> RgbImage {
        let jpeg = view(bytes).unwrap();
        assert!(jpeg.starts_with(b"\xff\xd8\xff"));
        image::load_from_memory(&jpeg).unwrap().to_rgb8()
    }

    #[test]
    fn a_large_picture_is_scaled_and_a_small_one_is_not() {
        let large = seen(&png(&RgbaImage::new(4_000, 1_000)));
        assert_eq!(large.dimensions(), (EDGE, 392));
        assert_eq!(seen(&png(&RgbaImage::new(30, 20))).dimensions(), (30, 20));
        let photo = include_bytes!("../../tests/corpus/img/photo.jpg");
        assert!(seen(photo).width() > 100);
        for other in ["anim.gif", "pic.bmp", "chart.png"] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/img/");
            seen(&std::fs::read(format!("{folder}{other}")).unwrap());
        }
    }

    #[test]
    fn the_same_picture_is_the_same_bytes() {
        let bytes = png(&RgbaImage::from_fn(2_000, 900, |x, y| Rgba([x as u8, y as u8, 7, 255])));
        assert_eq!(view(&bytes), view(&bytes));
    }

    #[test]
    fn transparency_becomes_white_and_rotation_is_applied() {
        let seen_through = RgbaImage::from_pixel(9, 9, Rgba([0, 0, 0, 0]));
        assert!(seen(&png(&seen_through)).pixels().all(|pixel| pixel.0 == [255; 3]));
        let turned = turned(&RgbImage::new(40, 20));
        assert_eq!(seen(&turned).dimensions(), (20, 40));
        let kept = view(&turned).unwrap();
        assert!(!kept.windows(4).any(|four| four == b"Exif"), "what it says besides is gone");
    }

    /// Proves S14.
    #[test]
    fn an_invalid_or_oversized_picture_is_reported() {
        let whole = png(&RgbaImage::new(50, 50));
        let large = claiming(&whole, 60_000, 60_000, 8);
        assert!(matches!(view(&large), Err(ReadError::TooLarge(_))), "{:?}", view(&large));
        let deep = claiming(&whole, 6_000, 6_000, 16);
        assert!(matches!(view(&deep), Err(ReadError::TooLarge(_))), "{:?}", view(&deep));
        for bytes in [&whole[..60], b"", b"hello", b"<svg/>", b"\xff\xd8\xff\xe0"] {
            assert!(view(bytes).is_err(), "{bytes:?}");
        }
    }

    /// The PNG with a changed header: width, height, and bits per channel for its four channels.
    fn claiming(png: &[u8], width: u32, height: u32, bits: u8) -> Vec<u8> {
        let mut bomb = png.to_vec();
        bomb[16..20].copy_from_slice(&width.to_be_bytes());
        bomb[20..24].copy_from_slice(&height.to_be_bytes());
        bomb[24] = bits;
        let checksum = crc(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&checksum.to_be_bytes());
        bomb
    }

    fn crc(bytes: &[u8]) -> u32 {
        let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
    }
}
