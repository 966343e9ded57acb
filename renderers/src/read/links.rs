//! The relationships between the parts of a package.

use std::collections::HashMap;

use super::{
    archive::Archive,
    limits,
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
            && target.len() <= limits::URL_BYTES
        {
            links.insert(id.to_owned(), target.to_owned());
        }
        Ok(())
    })?;
    Ok(links)
}

/// A target as Markdown writes it: without spaces and parentheses.
pub fn escaped(target: &str) -> String {
    let mut escaped = String::with_capacity(target.len());
    for c in target.chars() {
        match c {
            ' ' => escaped.push_str("%20"),
            '(' => escaped.push_str("%28"),
            ')' => escaped.push_str("%29"),
            c => escaped.push(c),
        }
    }
    escaped
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_no_spaces_and_parentheses() {
        assert_eq!(escaped("https://a.b/c d_(e)?f=%20"), "https://a.b/c%20d_%28e%29?f=%20");
    }
}
