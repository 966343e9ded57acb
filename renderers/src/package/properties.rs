//! The properties of every Office file: title, author, language and date of the document.

use super::{Package, Relations, xml::Xml};
use crate::document::Meta;

/// Adds `docProps/core.xml` and `docProps/app.xml` and relates them to the package.
///
/// The date is the document's, if it has one, and never the current time.
pub fn add(package: &mut Package, root: &mut Relations, meta: &Meta) {
    let kind =
        "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties";
    root.part(kind, "docProps/core.xml");
    root.part("extended-properties", "docProps/app.xml");
    let core = "application/vnd.openxmlformats-package.core-properties+xml";
    package.add("docProps/core.xml", core, core_properties(meta));
    let app = "application/vnd.openxmlformats-officedocument.extended-properties+xml";
    package.add("docProps/app.xml", app, app_properties());
}

fn core_properties(meta: &Meta) -> Xml {
    let mut xml = Xml::new();
    xml.open(
        "cp:coreProperties",
        &[
            ("xmlns:cp", "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"),
            ("xmlns:dc", "http://purl.org/dc/elements/1.1/"),
            ("xmlns:dcterms", "http://purl.org/dc/terms/"),
            ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
        ],
    );
    let texts = [
        ("dc:title", &meta.title),
        ("dc:subject", &meta.subtitle),
        ("dc:creator", &meta.author),
        ("cp:lastModifiedBy", &meta.author),
        ("dc:language", &meta.language),
    ];
    for (name, value) in texts {
        if let Some(text) = value {
            xml.leaf(name, &[], text);
        }
    }
    if !meta.keywords.is_empty() {
        xml.leaf("cp:keywords", &[], &meta.keywords.join(", "));
    }
    if let Some(date) = meta.date {
        let instant = format!("{}T00:00:00Z", date.format("%Y-%m-%d"));
        for name in ["dcterms:created", "dcterms:modified"] {
            xml.leaf(name, &[("xsi:type", "dcterms:W3CDTF")], &instant);
        }
    }
    xml.close();
    xml
}

fn app_properties() -> Xml {
    let mut xml = Xml::new();
    let ns = "http://schemas.openxmlformats.org/officeDocument/2006/extended-properties";
    xml.open("Properties", &[("xmlns", ns)]);
    xml.leaf("Application", &[], "Countersign");
    xml.close();
    xml
}
