//! The fonts and colours of a theme part, and the settings of a presentation's master.

use super::parts::{embedded, face};
use crate::document::{Brand, Color};
use crate::read::{
    ReadError,
    archive::Archive,
    xml::{XmlElement, XmlNode, walk},
};

/// A background with a lower brightness (of 255) would make the text unreadable, because text
/// colours are chosen for white paper.
const LIGHT: u32 = 150;

/// Reads the first theme, and the first slide master if there is one.
pub fn read(archive: &mut Archive, brand: &mut Brand) -> Result<(), ReadError> {
    let mut themes: Vec<String> =
        archive.names().into_iter().filter(|name| name.contains("/theme/theme")).collect();
    themes.sort();
    let mut paper = Paper::default();
    if let Some(xml) = themes.first().map(|name| archive.part(name)).transpose()?.flatten() {
        let mut theme = ThemeReader::default();
        walk(&xml, |node| {
            theme.step(&node, brand, &mut paper);
            Ok(())
        })?;
    }
    master(archive, brand, &paper)
}

/// The light and dark colours that a background may reference.
#[derive(Default)]
struct Paper {
    colors: Vec<(String, Color)>,
}

#[derive(Default)]
struct ThemeReader {
    /// The colour or font role that is being read.
    about: Option<String>,
}

impl ThemeReader {
    fn step(&mut self, node: &XmlNode<'_>, brand: &mut Brand, paper: &mut Paper) {
        let XmlNode::Open(element) = node else { return };
        match element.name.as_str() {
            name @ ("dk1" | "lt1" | "dk2" | "lt2" | "hlink" | "folHlink" | "majorFont"
            | "minorFont") => self.about = Some(name.to_owned()),
            name if name.starts_with("accent") => self.about = Some(name.to_owned()),
            "srgbClr" | "sysClr" => {
                let value = element.attribute("lastClr").or_else(|| element.attribute("val"));
                if let (Some(about), Some(color)) = (self.about.take(), value.and_then(Color::read))
                {
                    take(&about, color, brand);
                    paper.colors.push((about, color));
                }
            }
            "latin" | "ea" | "cs" => self.faces(element, brand),
            // The elements that follow describe shape fills.
            "fmtScheme" => self.about = None,
            _ => {}
        }
    }

    fn faces(&self, element: &XmlElement, brand: &mut Brand) {
        let named = element.attribute("typeface").and_then(face);
        let place = match (self.about.as_deref(), element.name.as_str()) {
            (Some("majorFont"), "latin") => &mut brand.headings,
            (Some("minorFont"), "latin") => &mut brand.body,
            (Some("minorFont"), "ea") => &mut brand.east_asian,
            (Some("minorFont"), "cs") => &mut brand.complex,
            _ => return,
        };
        *place = place.take().or(named);
    }
}

fn take(about: &str, color: Color, brand: &mut Brand) {
    match about {
        "dk1" => brand.ink = Some(color),
        "hlink" => brand.link = Some(color),
        _ => {
            let at = about.strip_prefix("accent").and_then(|at| at.parse::<usize>().ok());
            if let Some(place) = at.and_then(|at| brand.accents.get_mut(at.wrapping_sub(1))) {
                *place = Some(color);
            }
        }
    }
}

/// The background and logo of a presentation.
fn master(archive: &mut Archive, brand: &mut Brand, paper: &Paper) -> Result<(), ReadError> {
    let part = "ppt/slideMasters/slideMaster1.xml";
    let Some(xml) = archive.part(part)? else { return Ok(()) };
    let (mut in_background, mut in_picture) = (false, false);
    let (mut background, mut sign) = (None, None);
    walk(&xml, |node| {
        match node {
            XmlNode::Open(element) => match element.name.as_str() {
                "bg" => in_background = true,
                "pic" => in_picture = true,
                "srgbClr" if in_background => {
                    background = background.or(element.attribute("val").and_then(Color::read));
                }
                "schemeClr" if in_background => {
                    let named = element.attribute("val").map(mapped);
                    let known = paper.colors.iter().find(|(name, _)| Some(name.as_str()) == named);
                    background = background.or(known.map(|(_, color)| *color));
                }
                "blip" if in_picture && sign.is_none() => {
                    sign = element.exactly("r:embed").map(str::to_owned);
                }
                _ => {}
            },
            XmlNode::Close("bg") => in_background = false,
            XmlNode::Close("pic") => in_picture = false,
            _ => {}
        }
        Ok(())
    })?;
    match background {
        Some(color) if color.brightness() >= LIGHT => brand.background = Some(color),
        // Slides have the template's background, and pages are white.
        Some(_) if brand.slides.is_some() => {}
        Some(_) => {
            brand.warnings.push("The template's dark background was ignored.".to_owned());
        }
        None => {}
    }
    if let Some(id) = sign {
        embedded(archive, part, &id, brand)?;
    }
    Ok(())
}

/// The theme colour behind a name of the default colour map.
fn mapped(name: &str) -> &str {
    match name {
        "bg1" => "lt1",
        "bg2" => "lt2",
        "tx1" => "dk1",
        "tx2" => "dk2",
        name => name,
    }
}
