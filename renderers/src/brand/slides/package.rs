//! The parts of a template under new names, with their relationships.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::colors::{self, MasterColors};
use super::{damaged, layouts, strip};
use crate::document::{SlideLayout, SlideTemplate, TemplatePart};
use crate::edit::tree::{self, Node, TreeElement};
use crate::package::{Relations, reference};
use crate::read::{
    ReadError,
    archive::Archive,
    links::within,
    xml::{XmlNode as Event, walk},
};

const MASTER: &str = "application/vnd.openxmlformats-officedocument.presentationml.slideMaster+xml";
const LAYOUT: &str = "application/vnd.openxmlformats-officedocument.presentationml.slideLayout+xml";
const THEME: &str = "application/vnd.openxmlformats-officedocument.theme+xml";
/// The namespace of references to relationships. All programs give it the prefix `r`.
const REFERENCES: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
/// The namespaces of strict files (ISO/IEC 29500), which cannot be mixed with others.
const STRICT: &str = "http://purl.oclc.org/ooxml/";
/// The maximum number of masters and layouts.
const PARTS: usize = 200;

/// A relationship to a part of the package.
struct Related {
    /// The last segment of its type.
    kind: String,
    /// The name of the part.
    part: String,
}

/// The relationships of a part, without those to anything outside the package.
#[derive(Default)]
pub struct RelatedParts(BTreeMap<String, Related>);

impl RelatedParts {
    pub fn target(&self, id: &str) -> Option<String> {
        self.0.get(id).map(|related| related.part.clone())
    }
}

/// The relationships of a part that are copied, and their ids.
#[derive(Default)]
struct Kept {
    relations: Relations,
    ids: BTreeSet<String>,
}

impl Kept {
    fn add(&mut self, id: &str, kind: &str, target: &str) {
        self.relations.named(id, kind, target);
        self.ids.insert(id.to_owned());
    }
}

/// Copies the parts of a template.
pub struct Collector<'a, 'b> {
    archive: &'a mut Archive<'b>,
    parts: Vec<TemplatePart>,
    masters: Vec<u32>,
    /// The new names of pictures, by their names in the template.
    copied: HashMap<String, String>,
    themes: usize,
    /// The number of layouts of all masters.
    layouts: usize,
    first: Vec<SlideLayout>,
    colors: Option<MasterColors>,
    pub has_objects: bool,
    /// Whether a part is written in a way that is not supported.
    is_unusual: bool,
}

impl<'a, 'b> Collector<'a, 'b> {
    pub fn new(archive: &'a mut Archive<'b>) -> Self {
        Self {
            archive,
            parts: Vec::new(),
            masters: Vec::new(),
            copied: HashMap::new(),
            themes: 0,
            layouts: 0,
            first: Vec::new(),
            colors: None,
            has_objects: false,
            is_unusual: false,
        }
    }

    /// The relationships of a part within the package.
    pub fn relations(&mut self, part: &str) -> Result<RelatedParts, ReadError> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let mut found = RelatedParts::default();
        let rels = self.archive.part(&format!("{folder}/_rels/{name}.rels"))?;
        walk(&rels.unwrap_or_default(), |node| {
            if let Event::Open(element) = node
                && let (Some(id), Some(kind), Some(target)) = (
                    element.attribute("Id"),
                    element.attribute("Type"),
                    element.attribute("Target"),
                )
                && element.attribute("TargetMode") != Some("External")
            {
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                found.0.insert(id.to_owned(), Related { kind, part: within(folder, target) });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Copies a master with its layouts and its theme.
    pub fn master(&mut self, id: u32, part: &str) -> Result<(), ReadError> {
        let Some(mut nodes) = self.parsed(part)? else { return Ok(()) };
        let related = self.relations(part)?;
        let number = self.masters.len() + 1;
        self.masters.push(id);
        let name = format!("ppt/slideMasters/slideMaster{number}.xml");
        let root = tree::root(part, &mut nodes).map_err(damaged)?;
        let theme = related.0.values().find(|related| related.kind == "theme");
        let theme = theme.map(|theme| theme.part.clone());
        if self.colors.is_none() {
            self.colors = Some(self.pair(root, theme.as_deref())?);
        }
        let mut kept = Kept::default();
        let own = root.child("sldLayoutIdLst").into_iter().flat_map(TreeElement::elements);
        let own: Vec<String> = own.filter_map(|layout| layout.attribute("r:id")).collect();
        for id in own {
            let Some(target) = related.target(&id) else { continue };
            if let Some(layout) = self.layout(&target, &name, root)? {
                kept.add(&id, "slideLayout", &reference(&name, &layout));
            }
        }
        for (id, related) in related.0.iter().filter(|(_, related)| related.kind == "theme") {
            if let Some(theme) = self.theme(&related.part)? {
                kept.add(id, "theme", &reference(&name, &theme));
            }
        }
        self.pictures(&name, &related, &mut kept)?;
        self.has_objects |= strip::strip(root, &kept.ids);
        if let Some(list) = root.child_mut("sldLayoutIdLst") {
            list.children.retain(|child| child.as_element().is_some_and(has_id));
        }
        self.place(&name, MASTER, tree::write(&nodes).into_bytes(), kept);
        Ok(())
    }

    /// Copies a layout and returns its new name.
    fn layout(
        &mut self,
        part: &str,
        master: &str,
        master_root: &TreeElement,
    ) -> Result<Option<String>, ReadError> {
        let Some(mut nodes) = self.parsed(part)? else { return Ok(None) };
        self.layouts += 1;
        if self.layouts > PARTS {
            return Err(ReadError::Unknown(format!("It has more than {PARTS} layouts.")));
        }
        let name = format!("ppt/slideLayouts/slideLayout{}.xml", self.layouts);
        let related = self.relations(part)?;
        let mut kept = Kept::default();
        for (id, _) in related.0.iter().filter(|(_, related)| related.kind == "slideMaster") {
            kept.add(id, "slideMaster", &reference(&name, master));
        }
        self.pictures(&name, &related, &mut kept)?;
        let root = tree::root(part, &mut nodes).map_err(damaged)?;
        self.has_objects |= strip::strip(root, &kept.ids);
        if self.masters.len() == 1 {
            self.first.push(layouts::read(root, master_root, self.layouts));
        }
        self.place(&name, LAYOUT, tree::write(&nodes).into_bytes(), kept);
        Ok(Some(name))
    }

    /// Copies the pictures of a part.
    fn pictures(
        &mut self,
        name: &str,
        related: &RelatedParts,
        kept: &mut Kept,
    ) -> Result<(), ReadError> {
        for (id, related) in related.0.iter().filter(|(_, related)| related.kind == "image") {
            if let Some(copied) = self.picture(&related.part)? {
                kept.add(id, "image", &reference(name, &copied));
            }
        }
        Ok(())
    }

    /// Copies the theme of a master.
    fn theme(&mut self, part: &str) -> Result<Option<String>, ReadError> {
        let Some(mut nodes) = self.parsed(part)? else { return Ok(None) };
        self.themes += 1;
        let name = format!("ppt/theme/theme{}.xml", self.themes);
        let related = self.relations(part)?;
        let mut kept = Kept::default();
        self.pictures(&name, &related, &mut kept)?;
        let root = tree::root(part, &mut nodes).map_err(damaged)?;
        strip::strip(root, &kept.ids);
        self.place(&name, THEME, tree::write(&nodes).into_bytes(), kept);
        Ok(Some(name))
    }

    fn picture(&mut self, part: &str) -> Result<Option<String>, ReadError> {
        if let Some(name) = self.copied.get(part) {
            return Ok(Some(name.clone()));
        }
        let extension = part.rsplit('.').next().unwrap_or_default().to_lowercase();
        let Some(content_type) = content_type(&extension) else { return Ok(None) };
        let Some(bytes) = self.archive.part(part)? else { return Ok(None) };
        let name = format!("ppt/media/template{}.{extension}", self.copied.len() + 1);
        self.copied.insert(part.to_owned(), name.clone());
        let content_type = Some(content_type);
        self.parts.push(TemplatePart { name: name.clone(), content_type, bytes });
        Ok(Some(name))
    }

    /// The colours of a master that is not stripped yet.
    fn pair(
        &mut self,
        master: &TreeElement,
        theme: Option<&str>,
    ) -> Result<MasterColors, ReadError> {
        let theme = theme.map(|theme| self.parsed(theme)).transpose()?.flatten();
        let theme = theme.as_ref().and_then(|nodes| nodes.iter().find_map(Node::as_element));
        Ok(colors::read(master, theme))
    }

    fn parsed(&mut self, part: &str) -> Result<Option<Vec<Node>>, ReadError> {
        let Some(xml) = self.archive.part(part)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&xml);
        let count = |before: &str| {
            let quoted =
                |quote: char| text.matches(&format!("{before}{quote}{REFERENCES}{quote}")).count();
            quoted('"') + quoted('\'')
        };
        self.is_unusual |= text.contains(STRICT) || count("=") != count("xmlns:r=");
        tree::parse(part, &xml).map(Some).map_err(damaged)
    }

    fn place(&mut self, name: &str, content_type: &'static str, bytes: Vec<u8>, kept: Kept) {
        let content_type = Some(content_type);
        self.parts.push(TemplatePart { name: name.to_owned(), content_type, bytes });
        let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
        if !kept.ids.is_empty() {
            let name = format!("{folder}/_rels/{file}.rels");
            let bytes = kept.relations.write().finish();
            self.parts.push(TemplatePart { name, content_type: None, bytes });
        }
    }

    /// The template, unless it has nothing to use or is written in a way that is not supported.
    pub fn finish(self) -> Option<SlideTemplate> {
        let colors = self.colors?;
        (!self.is_unusual && !self.first.is_empty()).then_some(SlideTemplate {
            parts: self.parts,
            masters: self.masters,
            themes: self.themes,
            layouts: self.first,
            width: 0.0,
            height: 0.0,
            ink: colors.ink,
            background: colors.background,
        })
    }
}

fn has_id(element: &TreeElement) -> bool {
    element.attribute("r:id").is_some()
}

/// The picture formats that Office draws. SVG is excluded, because it may contain scripts.
fn content_type(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "bmp" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        "emf" => "image/x-emf",
        "wmf" => "image/x-wmf",
        _ => return None,
    })
}
