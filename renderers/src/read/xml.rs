//! XML events: elements, attributes and text. Only the five predefined entities and character
//! references are decoded; a document that declares entities is rejected.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{charset, limits, reading::ReadError};

/// An event. Element names have no namespace prefix.
pub enum XmlNode<'a> {
    Open(&'a XmlElement),
    Text(&'a str),
    Close(&'a str),
}

#[derive(Debug, Default)]
pub struct XmlElement {
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl XmlElement {
    /// An attribute by its name without prefix.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let plain = |full: &str| full.rsplit_once(':').map_or(full, |(_, plain)| plain) == name;
        self.attributes.iter().find(|(full, _)| plain(full)).map(|(_, value)| value.as_str())
    }

    /// An attribute by its name with prefix.
    pub fn exactly(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(full, _)| full == name).map(|(_, value)| value.as_str())
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.parse().ok()
    }

    /// `<b/>` is on, `<b val="0"/>` is off.
    pub fn is_on(&self) -> bool {
        !matches!(self.attribute("val"), Some("0" | "false" | "off" | "none"))
    }
}

/// Calls `each` for every event. Stops at the first error; the events before it are valid.
pub fn walk(
    xml: &[u8],
    mut each: impl FnMut(XmlNode<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let xml = charset::decode(xml);
    let mut reader = Reader::from_str(&xml);
    reader.config_mut().expand_empty_elements = true;
    let mut open: Vec<XmlElement> = Vec::new();
    loop {
        match reader.read_event().map_err(|error| damaged(&error.to_string()))? {
            Event::Start(start) => {
                limits::depth(open.len())?;
                let element = element(&start)?;
                each(XmlNode::Open(&element))?;
                open.push(element);
            }
            Event::End(_) => {
                let element =
                    open.pop().ok_or_else(|| damaged("it has an unexpected closing tag"))?;
                each(XmlNode::Close(&element.name))?;
            }
            Event::Text(text) => each(XmlNode::Text(&text.xml10_content().map_err(odd)?))?,
            Event::CData(text) => each(XmlNode::Text(&text.xml10_content().map_err(odd)?))?,
            Event::GeneralRef(entity) => {
                let name = entity.decode().map_err(odd)?;
                let known = quick_xml::escape::unescape(&format!("&{name};")).map_or_else(
                    |_| Err(damaged(&format!("it uses the entity {name:.40}"))),
                    |text| Ok(text.into_owned()),
                )?;
                each(XmlNode::Text(&known))?;
            }
            Event::DocType(_) => return Err(damaged("it declares a document type")),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn element(start: &BytesStart<'_>) -> Result<XmlElement, ReadError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = start.attributes();
    let attributes = attributes.with_checks(false).map(|attribute| {
        let attribute = attribute.map_err(|error| damaged(&error.to_string()))?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(odd)?.into_owned();
        Ok((text(attribute.key.as_ref()), value))
    });
    Ok(XmlElement {
        name: text(start.local_name().as_ref()),
        attributes: attributes.collect::<Result<_, _>>()?,
    })
}

fn odd(error: impl std::fmt::Display) -> ReadError {
    damaged(&error.to_string())
}

fn damaged(why: &str) -> ReadError {
    ReadError::Damaged(format!("The document's XML is damaged: {why}."))
}
