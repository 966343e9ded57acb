//! The nearly constant parts: settings, font table and relationships.

use super::draw::Draw;
use super::namespaces::NAMESPACES;
use crate::package::look;
use crate::package::xml::Xml;

/// Content types of the parts below.
const STYLES: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml";
const NUMBERING: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.numbering+xml";
const SETTINGS: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.settings+xml";
const FONTS: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.fontTable+xml";

impl Draw<'_> {
    /// Writes styles, numbering, settings and fonts. They come last, when all numberings are known.
    pub fn constant_parts(&mut self) {
        let styles = super::styles::write(&self.look, &self.document.meta);
        let numbering = self.numbering.write();
        let (settings, fonts) = (self.settings(), self.fonts());
        let parts = [
            ("styles", STYLES, styles),
            ("numbering", NUMBERING, numbering),
            ("settings", SETTINGS, settings),
            ("fontTable", FONTS, fonts),
        ];
        for (name, kind, xml) in parts {
            self.package.add(&format!("word/{name}.xml"), kind, xml);
            self.relations.part(name, &format!("{name}.xml"));
        }
    }

    fn settings(&self) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:settings", &NAMESPACES);
        xml.empty("w:zoom", &[("w:percent", "100")]);
        xml.val("w:defaultTabStop", "709");
        xml.val("w:characterSpacingControl", "doNotCompress");
        xml.raw("<w:footnotePr><w:footnote w:id=\"-1\"/><w:footnote w:id=\"0\"/></w:footnotePr>");
        xml.open("w:compat", &[]);
        for (name, value) in [
            ("compatibilityMode", "15"),
            ("overrideTableStyleFontSizeAndJustification", "1"),
            ("enableOpenTypeFeatures", "1"),
            ("doNotFlipMirrorIndents", "1"),
        ] {
            let uri = "http://schemas.microsoft.com/office/word";
            xml.empty("w:compatSetting", &[("w:name", name), ("w:uri", uri), ("w:val", value)]);
        }
        xml.close();
        let language = look::language(&self.document.meta);
        let east = look::east_asian_language(&self.document.meta);
        xml.empty("w:themeFontLang", &[("w:val", language), ("w:eastAsia", east)]);
        xml.val("w:decimalSymbol", ".");
        xml.val("w:listSeparator", ",");
        xml.close();
        xml
    }

    fn fonts(&self) -> Xml {
        let look = &self.look;
        let mut names = vec![look.body, look.headings, look.code, look.east_asian, look.complex];
        names.sort_unstable();
        names.dedup();
        let mut xml = Xml::new();
        xml.open("w:fonts", &NAMESPACES);
        for name in names {
            xml.open("w:font", &[("w:name", name)]);
            xml.val("w:pitch", if name == look.code { "fixed" } else { "variable" });
            xml.close();
        }
        xml.close();
        xml
    }
}
