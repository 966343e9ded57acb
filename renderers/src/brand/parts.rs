//! Code shared by the three file types: font names, relationships between parts, pictures.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::document::Brand;
use crate::read::{ReadError, archive::Archive, links};

/// The accepted range of page margins, in twips.
pub const MARGINS: RangeInclusive<i64> = 360..=4_320;

/// Returns the font name if it is valid. It is written into attributes and looked up on the
/// reader's system.
pub fn face(name: &str) -> Option<String> {
    let name = name.trim();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    ((1..=64).contains(&name.len()) && name.chars().all(is_plain)).then(|| name.to_owned())
}

/// Longer lines belong in the body, not in a header.
const EDGE_CHARS: usize = 200;

/// The header or footer text, from the lines or sections of the template.
pub fn edge_text(lines: &[String]) -> Option<String> {
    let lines = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("  ·  ");
    Some(text.chars().take(EDGE_CHARS).collect()).filter(|text: &String| !text.is_empty())
}

pub fn links(archive: &mut Archive, part: &str) -> Result<HashMap<String, String>, ReadError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    links::links(archive, &format!("{folder}/_rels/{name}.rels"))
}

/// Uses the picture embedded under that relationship id as the logo. Links to files outside the
/// package are not followed.
pub fn embedded(
    archive: &mut Archive,
    part: &str,
    id: &str,
    brand: &mut Brand,
) -> Result<(), ReadError> {
    let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
    let target = links(archive, part)?.get(id).map(|target| links::within(folder, target));
    brand.logo = target.map(|target| archive.part(&target)).transpose()?.flatten();
    if brand.logo.is_none() {
        let lost = "The template's logo is not embedded in the file and was ignored.";
        brand.warnings.push(lost.to_owned());
    }
    Ok(())
}
