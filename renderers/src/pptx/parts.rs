//! The presentation part and the relationships.

use super::deck::{Deck, template};
use super::geometry::emu;
use super::layouts::{self, LAYOUTS};
use super::markup::NAMESPACES;
use super::page::SlidePage;
use super::{notes, shapes, theme};
use crate::document::{SlideSize, TemplatePart};
use crate::package::Relations;
use crate::package::picture::Picture;
use crate::package::xml::Xml;

const MAIN: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml";
const MASTER: &str = "application/vnd.openxmlformats-officedocument.presentationml.slideMaster+xml";
const LAYOUT: &str = "application/vnd.openxmlformats-officedocument.presentationml.slideLayout+xml";
const NOTES: &str = "application/vnd.openxmlformats-officedocument.presentationml.notesMaster+xml";

/// The id of our own master.
const MASTERS: [u32; 1] = [2_147_483_648];

impl Deck<'_> {
    /// Writes everything except the slides.
    pub fn constant_parts(&mut self, pages: &[SlidePage<'_>]) {
        let template = template(self.document).filter(|_| self.frames.is_template);
        let (themes, masters) = if let Some(template) = template {
            for TemplatePart { name, content_type, bytes } in &template.parts {
                self.package.place(name, *content_type, bytes);
            }
            (template.themes, template.masters.as_slice())
        } else {
            self.package.add("ppt/theme/theme1.xml", theme::KIND, theme::write(&self.look));
            self.master();
            (1, &MASTERS[..])
        };
        let noted = pages.iter().any(|page| !page.notes.is_empty());
        if noted {
            let name = "ppt/notesMasters/notesMaster1.xml";
            self.package.add(name, NOTES, notes::master());
            let theme = format!("theme{}.xml", themes + 1);
            let part = format!("ppt/theme/{theme}");
            self.package.add(&part, theme::KIND, theme::write(&self.look));
            let mut relations = Relations::default();
            relations.part("theme", &format!("../theme/{theme}"));
            self.package.relate(name, relations);
        }
        self.presentation(pages.len(), noted, masters);
    }

    fn master(&mut self) {
        let name = "ppt/slideMasters/slideMaster1.xml";
        let mut relations = Relations::default();
        for (at, layout) in LAYOUTS.iter().enumerate() {
            let file = format!("slideLayout{}.xml", at + 1);
            relations.part("slideLayout", &format!("../slideLayouts/{file}"));
            let part = format!("ppt/slideLayouts/{file}");
            self.package.add(&part, LAYOUT, layout.write(&self.geometry, &self.look));
            let mut up = Relations::default();
            up.part("slideMaster", "../slideMasters/slideMaster1.xml");
            self.package.relate(&part, up);
        }
        relations.part("theme", "../theme/theme1.xml");
        let logo = self.document.logo.as_deref().map(|bytes| Picture::read(bytes, self.fonts));
        let logo = logo.transpose().unwrap_or_else(|why| {
            self.warnings.add(format!("The logo was omitted: {why}."));
            None
        });
        let package = &mut self.package;
        let master = layouts::master(&self.geometry, &self.look, |xml, geometry| {
            if let Some(logo) = &logo {
                shapes::logo(xml, shapes::stores(package, &mut relations), logo, geometry);
            }
        });
        self.package.add(name, MASTER, master);
        self.package.relate(name, relations);
    }

    fn presentation(&mut self, slides: usize, noted: bool, masters: &[u32]) {
        let mut relations = Relations::default();
        let mut xml = Xml::new();
        xml.open("p:presentation", &NAMESPACES);
        xml.open("p:sldMasterIdLst", &[]);
        for (at, master) in masters.iter().enumerate() {
            let part = format!("slideMasters/slideMaster{}.xml", at + 1);
            let id = relations.part("slideMaster", &part);
            xml.empty("p:sldMasterId", &[("id", &master.to_string()), ("r:id", &id)]);
        }
        xml.close();
        if noted {
            let id = relations.part("notesMaster", "notesMasters/notesMaster1.xml");
            xml.open("p:notesMasterIdLst", &[]);
            xml.empty("p:notesMasterId", &[("r:id", &id)]);
            xml.close();
        }
        xml.open("p:sldIdLst", &[]);
        for number in 1..=slides {
            let id = relations.part("slide", &format!("slides/slide{number}.xml"));
            xml.empty("p:sldId", &[("id", &(255 + number).to_string()), ("r:id", &id)]);
        }
        xml.close();
        let (width, height) = (emu(self.geometry.width), emu(self.geometry.height));
        let (width, height) = (width.to_string(), height.to_string());
        let mut size = vec![("cx", width.as_str()), ("cy", height.as_str())];
        if self.geometry.size == SlideSize::Standard && !self.frames.is_template {
            size.push(("type", "screen4x3"));
        }
        xml.empty("p:sldSz", &size);
        xml.empty("p:notesSz", &[("cx", "6858000"), ("cy", "9144000")]);
        xml.close();
        relations.part("theme", "theme/theme1.xml");
        self.package.add("ppt/presentation.xml", MAIN, xml);
        self.package.relate("ppt/presentation.xml", relations);
    }
}
