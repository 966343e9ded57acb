//! SVG: safety checks, size, and rasterization for programs that do not support vector pictures.

use std::io::Cursor;
use std::sync::Arc;

use quick_xml::events::Event;
use resvg::usvg::{ImageHrefResolver, Options, Transform, Tree, fontdb};
use resvg::{render, tiny_skia::Pixmap};

use crate::pdf::fontset::Fonts;

/// Rendered at twice the screen resolution, up to this many pixels per side.
const SHARPNESS: f32 = 2.0;
pub const MAX_PIXELS: u16 = 2_400;

/// A rasterized vector picture.
pub struct Raster {
    pub png: Vec<u8>,
    /// The intended size, at 96 pixels per inch.
    pub width: u32,
    pub height: u32,
}

/// Rasterizes an SVG to PNG, with `fonts` for its text.
pub fn raster(svg: &[u8], fonts: &Fonts) -> Result<Raster, String> {
    check(svg)?;
    let options = Options {
        fontdb: Arc::new(database(fonts)),
        font_family: "Noto Sans".to_owned(),
        // Only embedded images are resolved.
        image_href_resolver: ImageHrefResolver {
            resolve_string: Box::new(|_, _| None),
            ..ImageHrefResolver::default()
        },
        ..Options::default()
    };
    let tree = Tree::from_data(svg, &options).map_err(|_| "it is damaged".to_owned())?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = SHARPNESS.min(f32::from(MAX_PIXELS) / width.max(height));
    let size = |length: f32| (length * scale).ceil().max(1.0) as u32;
    let mut pixels =
        Pixmap::new(size(width), size(height)).ok_or_else(|| "it has no size".to_owned())?;
    render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let png = png(pixels)?;
    Ok(Raster { png, width: width.ceil().max(1.0) as u32, height: height.ceil().max(1.0) as u32 })
}

fn png(pixels: Pixmap) -> Result<Vec<u8>, String> {
    let (width, height) = (pixels.width(), pixels.height());
    let straight = pixels.take_demultiplied();
    let image = image::RgbaImage::from_raw(width, height, straight);
    let image = image.ok_or_else(|| "it is too large".to_owned())?;
    let mut png = Cursor::new(Vec::new());
    image.write_to(&mut png, image::ImageFormat::Png).map_err(|error| error.to_string())?;
    Ok(png.into_inner())
}

fn database(fonts: &Fonts) -> fontdb::Database {
    let mut database = fontdb::Database::new();
    for file in fonts.files() {
        database.load_font_source(fontdb::Source::Binary(Arc::new(file)));
    }
    let has = |name: &&str| database.faces().any(|face| face.families.iter().any(|f| f.0 == *name));
    let sans = ["Noto Sans", "Liberation Sans", "DejaVu Sans"].into_iter().find(has);
    let sans = sans.unwrap_or("Libertinus Serif").to_owned();
    database.set_sans_serif_family(&sans);
    database.set_serif_family("Libertinus Serif");
    database.set_monospace_family("DejaVu Sans Mono");
    database
}

/// Whether the bytes look like SVG.
pub fn is_svg(bytes: &[u8]) -> bool {
    infer::text::is_xml(bytes) || bytes.trim_ascii_start().starts_with(b"<svg")
}

/// The text in an SVG; empty if it is not an SVG.
pub fn text(bytes: &[u8]) -> String {
    let mut words = String::new();
    let Some(svg) = std::str::from_utf8(bytes).ok().filter(|_| is_svg(bytes)) else {
        return words;
    };
    let mut reader = quick_xml::Reader::from_str(svg);
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Text(text) => words.push_str(&text.decode().unwrap_or_default()),
            Event::Eof => break,
            _ => {}
        }
    }
    words
}

/// Rejects entities, which can expand without limit, and external images, which would have to be
/// fetched.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the kind is not known".to_owned())?;
    if !text.contains("<svg") && !text.contains(":svg") {
        return Err("the kind is not known".to_owned());
    }
    let mut reader = quick_xml::Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Event::DocType(kind)) if kind.windows(8).any(|w| w == b"<!ENTITY") => {
                return Err("it declares entities".to_owned());
            }
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                let name = tag.local_name();
                if matches!(name.as_ref(), b"script" | b"foreignObject") {
                    return Err("it contains scripts or HTML".to_owned());
                }
                let draws = matches!(name.as_ref(), b"image" | b"feImage");
                if draws && tag.attributes().flatten().any(|attribute| leads_out(&attribute)) {
                    return Err("it references other files".to_owned());
                }
            }
            Ok(Event::Eof) => return Ok(()),
            Err(_) => return Err("the file is damaged".to_owned()),
            Ok(_) => {}
        }
    }
}

fn leads_out(attribute: &quick_xml::events::attributes::Attribute) -> bool {
    attribute.key.local_name().as_ref() == b"href"
        && !attribute.value.starts_with(b"data:")
        && !attribute.value.starts_with(b"#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_becomes_pixels_twice_as_sharp() {
        let svg = include_bytes!("../../tests/corpus/img/diagram.svg");
        let raster = raster(svg, &Fonts::default()).unwrap();
        let image = image::load_from_memory(&raster.png).unwrap();
        assert_eq!((image.width(), image.height()), (raster.width * 2, raster.height * 2));
        assert!(image.to_rgba8().pixels().any(|pixel| pixel.0[3] > 0), "something is drawn");
    }

    /// Proves S9.
    #[test]
    fn external_references_are_not_loaded() {
        let outside = b"<svg xmlns='http://www.w3.org/2000/svg'><image href='a.png'/></svg>";
        assert_eq!(check(outside).unwrap_err(), "it references other files");
        let script = b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>";
        assert_eq!(check(script).unwrap_err(), "it contains scripts or HTML");
    }
}
