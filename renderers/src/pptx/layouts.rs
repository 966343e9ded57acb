//! The slide master and its layouts.

use super::geometry::{Area, Geometry, emu};
use super::heights::{BEFORE, FIGURE, INDENT, SIZES};
use super::markup::{Holder, NAMESPACES, TREE, close_shape, fill, open_shape};
use crate::package::look::Look;
use crate::package::xml::Xml;

/// Placeholders for blocks below each other in [`Layout::Mixed`].
pub const BLOCKS: usize = 8;
/// The font size of text below a large title.
const BELOW_TITLE: f64 = 24.0;

/// The layouts, in the order of their parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Title,
    Content,
    Section,
    Two,
    Mixed,
    Code,
    Quote,
    Comparison,
    TitleOnly,
    Blank,
    /// A number that stands out.
    Figure,
}

pub const LAYOUTS: [Layout; 11] = [
    Layout::Title,
    Layout::Content,
    Layout::Section,
    Layout::Two,
    Layout::Mixed,
    Layout::Code,
    Layout::Quote,
    Layout::Comparison,
    Layout::TitleOnly,
    Layout::Blank,
    Layout::Figure,
];

impl Layout {
    pub fn title(self) -> Holder {
        match self {
            Self::Title => Holder { kind: Some("ctrTitle"), index: None },
            _ => Holder::TITLE,
        }
    }

    /// The placeholder for a slide's item number `at`.
    pub fn holder(self, at: usize) -> Holder {
        let (kind, index) = match (self, at) {
            (Self::Title, _) => (Some("subTitle"), 1),
            (Self::Content, _) => (None, 1),
            (Self::Two, at) => (None, at + 1),
            (_, 0) => (Some("body"), 1),
            (_, at) => (Some("body"), 12 + at),
        };
        Holder { kind, index: Some(index) }
    }

    pub fn title_area(self, geometry: &Geometry) -> Area {
        match self {
            Self::Title => geometry.front[0],
            Self::Section => geometry.section[0],
            Self::Figure => geometry.figure()[0],
            _ => geometry.title,
        }
    }

    pub fn title_size(self) -> f64 {
        match self {
            Self::Title => 40.0,
            Self::Section => 36.0,
            Self::Figure => FIGURE,
            _ => 30.0,
        }
    }

    /// The font size of the first level of text.
    pub fn text_size(self) -> f64 {
        match self {
            Self::Title | Self::Section | Self::Figure => BELOW_TITLE,
            _ => SIZES[0],
        }
    }

    /// The area of the first item.
    pub fn body(self, geometry: &Geometry) -> Area {
        match self {
            Self::Title => geometry.front[1],
            Self::Section => geometry.section[1],
            Self::Figure => geometry.figure()[1],
            Self::Quote => geometry.quote(),
            Self::Two | Self::Comparison => geometry.halves()[0],
            _ => geometry.body,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Title => "Title Slide",
            Self::Content => "Title and Content",
            Self::Section => "Section Header",
            Self::Two => "Two Content",
            Self::Mixed => "Title and Blocks",
            Self::Code => "Title and Code",
            Self::Quote => "Quote",
            Self::Comparison => "Comparison",
            Self::TitleOnly => "Title Only",
            Self::Blank => "Blank",
            Self::Figure => "Big Number",
        }
    }

    /// The schema's name of the layout type, if it has one.
    fn kind(self) -> Option<&'static str> {
        match self {
            Self::Title => Some("title"),
            Self::Content => Some("obj"),
            Self::Section => Some("secHead"),
            Self::Two => Some("twoObj"),
            Self::Comparison => Some("twoTxTwoObj"),
            Self::TitleOnly => Some("titleOnly"),
            Self::Blank => Some("blank"),
            Self::Mixed | Self::Code | Self::Quote | Self::Figure => None,
        }
    }

    /// All item areas, in their order.
    pub fn places(self, geometry: &Geometry) -> Vec<(Holder, Area)> {
        let [left, right] = geometry.halves();
        match self {
            Self::TitleOnly | Self::Blank => Vec::new(),
            Self::Two => vec![(self.holder(0), left), (self.holder(1), right)],
            Self::Comparison => {
                let object = |index| Holder { kind: None, index: Some(index) };
                let text = |index| Holder { kind: Some("body"), index: Some(index) };
                let (head, rest) = (36.0, left.height - 44.0);
                vec![
                    (text(1), left.band(0.0, head)),
                    (object(2), left.band(44.0, rest)),
                    (text(3), right.band(0.0, head)),
                    (object(4), right.band(44.0, rest)),
                ]
            }
            Self::Mixed => {
                let high = geometry.body.height / BLOCKS as f64;
                let band = |at: usize| geometry.body.band(high * at as f64, high - 4.0);
                (0..BLOCKS).map(|at| (self.holder(at), band(at))).collect()
            }
            _ => vec![(self.holder(0), self.body(geometry))],
        }
    }

    /// `ppt/slideLayouts/slideLayoutN.xml`.
    pub fn write(self, geometry: &Geometry, look: &Look) -> Xml {
        let mut xml = Xml::new();
        let kind = self.kind().map(|kind| ("type", kind));
        let own = [("preserve", "1"), ("userDrawn", "1")];
        let attributes: Vec<_> = NAMESPACES.into_iter().chain(kind).chain(own).collect();
        xml.open("p:sldLayout", &attributes);
        xml.open("p:cSld", &[("name", self.name())]);
        if self == Self::Section {
            background(&mut xml, "accent1");
        }
        xml.open("p:spTree", &[]);
        xml.raw(TREE);
        let mut id = 2;
        if self != Self::Blank {
            let style = self.title_style(look);
            let (holder, area) = (self.title(), self.title_area(geometry));
            let title = Prompt { name: "Title", text: "Title", holder, area, style: &style };
            title.write(&mut xml, id);
        }
        for (holder, area) in self.places(geometry) {
            id += 1;
            let style = self.body_style(look);
            let content = Prompt { name: "Content", text: "Text", holder, area, style: &style };
            content.write(&mut xml, id);
        }
        edges(&mut xml, id + 1, geometry);
        if matches!(self, Self::Title | Self::Section) {
            let (body, width) = (geometry.body, 96.0);
            let x = if geometry.rtl { body.x + body.width - width } else { body.x };
            let line = Area { x, y: self.title_area(geometry).y + 122.0, width, height: 4.0 };
            let color = if self == Self::Section { look.accent.contrasting() } else { look.accent };
            bar(&mut xml, id + 3, line, &color);
        }
        xml.close();
        xml.close();
        xml.raw("<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>");
        xml.close();
        xml
    }

    fn title_style(self, look: &Look) -> String {
        let size = (self.title_size() * 100.0) as i64;
        let is_low = matches!(self, Self::Title | Self::Section | Self::Figure);
        let anchor = if is_low { "b" } else { "ctr" };
        let color = if self == Self::Section {
            let ink = look.accent.contrasting();
            format!("<a:solidFill><a:srgbClr val=\"{ink}\"/></a:solidFill>")
        } else {
            String::new()
        };
        format!(
            "<a:bodyPr anchor=\"{anchor}\"><a:normAutofit/></a:bodyPr><a:lstStyle><a:lvl1pPr>\
             <a:defRPr sz=\"{size}\">{color}</a:defRPr></a:lvl1pPr></a:lstStyle>"
        )
    }

    fn body_style(self, look: &Look) -> String {
        let level = |run: &str| {
            format!(
                "<a:bodyPr><a:normAutofit/></a:bodyPr><a:lstStyle><a:lvl1pPr marL=\"0\" \
                 indent=\"0\"><a:buNone/><a:defRPr {run}</a:defRPr></a:lvl1pPr></a:lstStyle>"
            )
        };
        let below_title = (BELOW_TITLE * 100.0) as i64;
        match self {
            Self::Title | Self::Figure => level(&format!(
                "sz=\"{below_title}\"><a:solidFill><a:srgbClr val=\"{}\"/></a:solidFill>",
                look.quiet
            )),
            Self::Section => level(&format!(
                "sz=\"{below_title}\"><a:solidFill><a:srgbClr val=\"{}\"/></a:solidFill>",
                look.accent.contrasting()
            )),
            Self::Quote => level("sz=\"2000\" i=\"1\">"),
            Self::Code => level(&format!("sz=\"1600\"><a:latin typeface=\"{}\"/>", look.code)),
            _ => "<a:bodyPr><a:normAutofit/></a:bodyPr><a:lstStyle/>".to_owned(),
        }
    }
}

/// The background of a layout, a colour of the theme.
fn background(xml: &mut Xml, name: &str) {
    xml.open("p:bg", &[]);
    xml.open("p:bgPr", &[]);
    xml.open("a:solidFill", &[]);
    xml.empty("a:schemeClr", &[("val", name)]);
    xml.close();
    xml.empty("a:effectLst", &[]);
    xml.close();
    xml.close();
}

/// A placeholder of a master or layout, with its prompt text.
struct Prompt<'a> {
    name: &'static str,
    text: &'static str,
    holder: Holder,
    area: Area,
    /// The properties of its text, as XML.
    style: &'a str,
}

impl Prompt<'_> {
    fn write(self, xml: &mut Xml, id: usize) {
        let name = format!("{} {id}", self.name);
        let named = [("id", id.to_string()), ("name", name)];
        let named = named.each_ref().map(|(key, value)| (*key, value.as_str()));
        open_shape(xml, &named, self.holder, Some(self.area));
        xml.raw(self.style);
        xml.open("a:p", &[]);
        xml.open("a:r", &[]);
        xml.raw("<a:rPr lang=\"en-US\"/>");
        xml.leaf("a:t", &[], self.text);
        xml.close();
        xml.close();
        close_shape(xml);
    }
}

/// Footer and slide number.
pub fn edges(xml: &mut Xml, id: usize, geometry: &Geometry) {
    let style = "<a:bodyPr/><a:lstStyle/>";
    let (holder, area) = (Holder::FOOTER, geometry.footer);
    Prompt { name: "Footer", text: "", holder, area, style }.write(xml, id);
    open_shape(
        xml,
        &[("id", &(id + 1).to_string()), ("name", "Slide Number")],
        Holder::NUMBER,
        Some(geometry.number),
    );
    xml.raw(
        "<a:bodyPr/><a:lstStyle/><a:p><a:fld id=\"{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}\" \
         type=\"slidenum\"><a:rPr lang=\"en-US\"/><a:t>‹#›</a:t></a:fld></a:p>",
    );
    close_shape(xml);
}

/// A coloured bar without text.
fn bar(xml: &mut Xml, id: usize, area: Area, color: &str) {
    let [x, y, width, height] = area.emu();
    xml.open("p:sp", &[]);
    xml.raw(&format!(
        "<p:nvSpPr><p:cNvPr id=\"{id}\" name=\"Bar\"/><p:cNvSpPr/><p:nvPr userDrawn=\"1\"/></p:nvSpPr>\
         <p:spPr><a:xfrm><a:off x=\"{x}\" y=\"{y}\"/><a:ext cx=\"{width}\" cy=\"{height}\"/></a:xfrm>\
         <a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom>"
    ));
    fill(xml, color);
    xml.raw("<a:ln><a:noFill/></a:ln></p:spPr>");
    xml.close();
}

/// `ppt/slideMasters/slideMaster1.xml`.
///
/// `sign` draws the content that all slides share.
pub fn master(geometry: &Geometry, look: &Look, sign: impl FnOnce(&mut Xml, &Geometry)) -> Xml {
    let mut xml = Xml::new();
    xml.open("p:sldMaster", &NAMESPACES);
    xml.open("p:cSld", &[]);
    xml.raw("<p:bg><p:bgPr><a:solidFill><a:schemeClr val=\"bg1\"/></a:solidFill><a:effectLst/></p:bgPr></p:bg>");
    xml.open("p:spTree", &[]);
    xml.raw(TREE);
    let flush = "lIns=\"0\" tIns=\"0\" rIns=\"0\" bIns=\"0\"";
    let title =
        format!("<a:bodyPr {flush} anchor=\"ctr\"><a:normAutofit/></a:bodyPr><a:lstStyle/>");
    let (holder, area) = (Holder::TITLE, geometry.title);
    Prompt { name: "Title", text: "Title", holder, area, style: &title }.write(&mut xml, 2);
    let body = format!("<a:bodyPr {flush}><a:normAutofit/></a:bodyPr><a:lstStyle/>");
    let (holder, area) = (Holder { kind: Some("body"), index: Some(1) }, geometry.body);
    Prompt { name: "Text", text: "Text", holder, area, style: &body }.write(&mut xml, 3);
    let small = |align: &str| {
        format!(
            "<a:bodyPr {flush} anchor=\"ctr\"/><a:lstStyle><a:lvl1pPr algn=\"{align}\"><a:defRPr \
             sz=\"1100\"><a:solidFill><a:srgbClr val=\"{}\"/></a:solidFill><a:latin typeface=\"+mn-lt\"/><a:ea typeface=\"+mn-ea\"/><a:cs typeface=\"+mn-cs\"/></a:defRPr></a:lvl1pPr></a:lstStyle>",
            look.quiet
        )
    };
    let (holder, area) = (Holder { index: Some(3), ..Holder::FOOTER }, geometry.footer);
    Prompt { name: "Footer", text: "", holder, area, style: &small("l") }.write(&mut xml, 4);
    let (holder, area) = (Holder { index: Some(4), ..Holder::NUMBER }, geometry.number);
    let number = Prompt { name: "Slide Number", text: "‹#›", holder, area, style: &small("r") };
    number.write(&mut xml, 5);
    sign(&mut xml, geometry);
    xml.close();
    xml.close();
    xml.raw(COLORS);
    xml.open("p:sldLayoutIdLst", &[]);
    for at in 0..LAYOUTS.len() {
        let id = (2_147_483_649 + at).to_string();
        xml.empty("p:sldLayoutId", &[("id", &id), ("r:id", &format!("rId{}", at + 1))]);
    }
    xml.close();
    text_styles(&mut xml);
    xml.close();
    xml
}

/// The colour map: which theme colour is used for which role.
pub const COLORS: &str = "<p:clrMap bg1=\"lt1\" tx1=\"dk1\" bg2=\"lt2\" tx2=\"dk2\" accent1=\"accent1\" \
    accent2=\"accent2\" accent3=\"accent3\" accent4=\"accent4\" accent5=\"accent5\" \
    accent6=\"accent6\" hlink=\"hlink\" folHlink=\"folHlink\"/>";

fn text_styles(xml: &mut Xml) {
    let faces = |kind: &str| {
        format!(
            "<a:latin typeface=\"+{kind}-lt\"/><a:ea typeface=\"+{kind}-ea\"/><a:cs typeface=\"+{kind}-cs\"/>"
        )
    };
    xml.open("p:txStyles", &[]);
    xml.raw(&format!(
        "<p:titleStyle><a:lvl1pPr algn=\"l\"><a:lnSpc><a:spcPct val=\"95000\"/></a:lnSpc><a:buNone/>\
         <a:defRPr sz=\"3000\" b=\"1\"><a:solidFill><a:schemeClr val=\"accent1\"/></a:solidFill>{}\
         </a:defRPr></a:lvl1pPr></p:titleStyle>",
        faces("mj")
    ));
    xml.raw("<p:bodyStyle>");
    for (at, size) in SIZES.iter().enumerate() {
        let (left, hanging) = (emu(INDENT * (at as f64 + 1.0)), emu(-INDENT));
        let (before, size) = ((BEFORE * 100.0) as i64, (size * 100.0) as i64);
        let bullet = ["•", "–", "▪"][at % 3];
        let level = at + 1;
        xml.raw(&format!(
            "<a:lvl{level}pPr marL=\"{left}\" indent=\"{hanging}\" algn=\"l\"><a:spcBef><a:spcPts \
             val=\"{before}\"/></a:spcBef><a:buFont typeface=\"Arial\"/><a:buChar char=\"{bullet}\"/>\
             <a:defRPr sz=\"{size}\"><a:solidFill><a:schemeClr val=\"tx1\"/></a:solidFill>{}</a:defRPr>\
             </a:lvl{level}pPr>",
            faces("mn")
        ));
    }
    xml.raw("</p:bodyStyle><p:otherStyle><a:lvl1pPr><a:defRPr sz=\"1800\"><a:solidFill><a:schemeClr val=\"tx1\"/></a:solidFill>");
    xml.raw(&faces("mn"));
    xml.raw("</a:defRPr></a:lvl1pPr></p:otherStyle>");
    xml.close();
}
