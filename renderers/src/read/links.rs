//! The relationships between the parts of a package.

use std::collections::HashMap;

use super::{
    archive::Archive,
    reading::ReadError,
    xml::{XmlNode, walk},
};

/// The targets of a part's relationships.
pub fn links(archive: &mut Archive, part: &str) -> Result<HashMap<String, String>, ReadError> {
    let mut links = HashMap::new();
    let Some(xml) = archive.part(part)? else { return Ok(links) };
    walk(&xml, |node| {
        if let XmlNode::Open(element) = node
            && let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target"))
        {
            links.insert(id.to_owned(), target.to_owned());
        }
        Ok(())
    })?;
    Ok(links)
}

/// Resolves a target relative to the folder of the part that references it.
pub fn within(folder: &str, target: &str) -> String {
    match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => match target.strip_prefix("../") {
            Some(up) => within(folder.rsplit_once('/').map_or("", |(up, _)| up), up),
            None if folder.is_empty() => target.to_owned(),
            None => format!("{folder}/{target}"),
        },
    }
}
