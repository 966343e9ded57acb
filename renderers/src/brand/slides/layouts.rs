//! The places of the placeholders of a layout, which may be those of its master.

use super::EMU;
use crate::document::{LayoutHolder, SlideLayout};
use crate::edit::tree::TreeElement;

/// The placeholders of a layout. `master` is the root of its master.
pub fn read(layout: &TreeElement, master: &TreeElement, number: usize) -> SlideLayout {
    let kind = layout.attribute("type").unwrap_or_default();
    let holders = shapes(layout).filter_map(|shape| holder(shape, master)).collect();
    SlideLayout { number, kind, holders }
}

/// The shapes of a slide, without those in groups.
fn shapes(root: &TreeElement) -> impl Iterator<Item = &TreeElement> {
    let tree = root.child("cSld").and_then(|slide| slide.child("spTree"));
    tree.into_iter().flat_map(TreeElement::elements).filter(|shape| shape.local() == "sp")
}

fn placeholder(shape: &TreeElement) -> Option<&TreeElement> {
    shape.child("nvSpPr")?.child("nvPr")?.child("ph")
}

fn holder(shape: &TreeElement, master: &TreeElement) -> Option<LayoutHolder> {
    let placeholder = placeholder(shape)?;
    let kind = match placeholder.attribute("type").as_deref() {
        None | Some("obj") => None,
        Some("title") => Some("title"),
        Some("ctrTitle") => Some("ctrTitle"),
        Some("subTitle") => Some("subTitle"),
        Some("body") => Some("body"),
        Some("ftr") => Some("ftr"),
        Some("sldNum") => Some("sldNum"),
        Some(_) => return None,
    };
    let of_master = match kind {
        Some("title" | "ctrTitle") => "title",
        Some("ftr") => "ftr",
        Some("sldNum") => "sldNum",
        _ => "body",
    };
    let is_same = |shape: &&TreeElement| {
        let own = self::placeholder(shape).and_then(|holder| holder.attribute("type"));
        own.as_deref() == Some(of_master)
    };
    let above = shapes(master).find(is_same);
    let area = area(shape).or_else(|| area(above?))?;
    let style = if of_master == "title" { "titleStyle" } else { "bodyStyle" };
    let points = points(shape.child("txBody").and_then(|body| body.child("lstStyle")))
        .or_else(|| points(above?.child("txBody")?.child("lstStyle")))
        .or_else(|| points(master.child("txStyles")?.child(style)));
    let index = placeholder.number("idx").map(|index| index as usize);
    Some(LayoutHolder { kind, index, area, points })
}

/// Left, top, width and height in points.
fn area(shape: &TreeElement) -> Option<[f64; 4]> {
    let frame = shape.child("spPr")?.child("xfrm")?;
    let (offset, extent) = (frame.child("off")?, frame.child("ext")?);
    let number = |element: &TreeElement, name: &str| {
        let units: f64 = element.attribute(name)?.parse().ok()?;
        Some(units / EMU)
    };
    let area =
        [number(offset, "x")?, number(offset, "y")?, number(extent, "cx")?, number(extent, "cy")?];
    let is_large = area[2] >= 20.0 && area[3] >= 5.0;
    (is_large && area.iter().all(|points| points.abs() <= 10_000.0)).then_some(area)
}

/// The font size of the first level of a list style.
fn points(style: Option<&TreeElement>) -> Option<f64> {
    let size = style?.child("lvl1pPr")?.child("defRPr")?.number("sz")?;
    Some(f64::from(size) / 100.0).filter(|points| (4.0..=200.0).contains(points))
}
