//! The properties of every Office file: title, author, language and date of the document.

use std::ops::RangeInclusive;

use chrono::Datelike as _;

use super::{Package, Relations, xml::Xml};
use crate::document::Meta;

/// The years of dates that Windows knows. Those after it have more digits than the schema allows.
const YEARS: RangeInclusive<i32> = 1601..=9999;

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
    if let Some(date) = meta.date.filter(|date| YEARS.contains(&date.year())) {
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

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    #[test]
    fn only_dates_that_the_schema_allows_are_written() {
        let written = |year: i32| {
            let date = NaiveDate::from_ymd_opt(year, 1, 2);
            let core = core_properties(&Meta { date, ..Meta::default() });
            String::from_utf8(core.finish()).unwrap().contains("-01-02T00:00:00Z</dcterms:created>")
        };
        assert_eq!([0, 1600, 2026, 12_026].map(written), [false, false, true, false]);
    }
}
