//! Picture formats.

use image::ImageFormat;

/// Formats that Office draws as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    Png,
    Jpeg,
    Gif,
    Bmp,
    Svg,
}

impl PictureKind {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Bmp => "bmp",
            Self::Svg => "svg",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Bmp => "image/bmp",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// Brands of HEIF files, which cameras of telephones write.
const HEIF: [&[u8]; 6] = [b"heic", b"heix", b"heim", b"hevc", b"mif1", b"msf1"];

/// Why a picture of a known kind cannot be drawn, and what to do. Its decoder would need a library
/// in C (AVIF, HEIC), or the kind is rare.
pub fn unsupported(bytes: &[u8]) -> Option<String> {
    let brand = bytes.get(8..12).filter(|_| bytes.get(4..8) == Some(b"ftyp"));
    let is_heif = brand.is_some_and(|brand| HEIF.contains(&brand));
    let name = match image::guess_format(bytes) {
        _ if is_heif => "HEIC",
        Ok(ImageFormat::Avif) => "AVIF",
        Ok(ImageFormat::Tiff) => "TIFF",
        Ok(ImageFormat::Ico) => "ICO",
        Ok(
            ImageFormat::Png
            | ImageFormat::Jpeg
            | ImageFormat::Gif
            | ImageFormat::Bmp
            | ImageFormat::WebP,
        )
        | Err(_) => return None,
        Ok(_) => "such",
    };
    Some(format!("{name} pictures are not supported; convert it to PNG or JPEG"))
}
