//! The masters and layouts of a presentation template. They are copied as they are, except for what
//! refers to something outside them: links, embedded objects, sounds, animations and extensions.
//!
//! - [`package`]: the parts and their relationships, under new names
//! - [`strip`]: removes elements that refer to other parts
//! - [`layouts`]: the places of the placeholders; [`colors`]: the colours of text and background

mod colors;
mod layouts;
mod package;
mod strip;
#[cfg(test)]
mod tests;

use package::Collector;

use crate::document::{SlideLayout, SlideTemplate};
use crate::edit::{EditError, tree};
use crate::read::{ReadError, archive::Archive};

/// English Metric Units per point.
const EMU: f64 = 12_700.0;
/// The accepted widths and heights of slides, in points.
const SIZES: std::ops::RangeInclusive<f64> = 200.0..=4_000.0;
const PRESENTATION: &str = "ppt/presentation.xml";

/// What was read of a presentation.
pub struct FoundTemplate {
    pub template: Option<SlideTemplate>,
    pub warnings: Vec<String>,
}

/// Reads the masters and layouts. There is no template if no layout has a title and a text.
pub fn read(archive: &mut Archive) -> Result<FoundTemplate, ReadError> {
    let mut found = FoundTemplate { template: None, warnings: Vec::new() };
    let Some(xml) = archive.part(PRESENTATION)? else { return Ok(found) };
    let mut nodes = tree::parse(PRESENTATION, &xml).map_err(damaged)?;
    let root = tree::root(PRESENTATION, &mut nodes).map_err(damaged)?;
    let number =
        |element: &tree::TreeElement, name: &str| Some(f64::from(element.number(name)?) / EMU);
    let size = root.child("sldSz");
    let size = size.and_then(|size| Some((number(size, "cx")?, number(size, "cy")?)));
    let Some((width, height)) = size else { return Ok(found) };
    if !SIZES.contains(&width) || !SIZES.contains(&height) {
        return Ok(found);
    }
    let mut collector = Collector::new(archive);
    let relations = collector.relations(PRESENTATION)?;
    for master in root.child("sldMasterIdLst").into_iter().flat_map(tree::TreeElement::elements) {
        let id = master.number("id").filter(|id| *id >= 1 << 31);
        let target = master.attribute("r:id").and_then(|id| relations.target(&id));
        let (Some(id), Some(target)) = (id, target) else { return Ok(found) };
        collector.master(id, &target)?;
    }
    if collector.has_objects {
        let lost = "Tables and other objects in the layouts of the template were omitted.";
        found.warnings.push(lost.to_owned());
    }
    let Some(mut template) = collector.finish() else { return Ok(found) };
    if !template.layouts.iter().any(is_usable) {
        let why = "The template has no layout with a title and a text, so only its colours and \
                   fonts are used.";
        found.warnings.push(why.to_owned());
        return Ok(found);
    }
    (template.width, template.height) = (width, height);
    found.template = Some(template);
    Ok(found)
}

fn is_usable(layout: &SlideLayout) -> bool {
    let has = |kinds: &[Option<&str>]| layout.holders.iter().any(|h| kinds.contains(&h.kind));
    has(&[Some("title"), Some("ctrTitle")]) && has(&[None, Some("body")])
}

fn damaged(error: EditError) -> ReadError {
    match error {
        EditError::TooLarge(why) => ReadError::TooLarge(why),
        EditError::Invalid(why) => ReadError::Damaged(why),
    }
}
