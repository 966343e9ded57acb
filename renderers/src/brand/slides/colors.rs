//! The colours of a master's text and background.

use crate::color::Color;
use crate::edit::tree::TreeElement;

/// The colours of a master.
#[derive(Debug, Clone, Copy)]
pub struct MasterColors {
    pub ink: Color,
    pub background: Color,
}

/// Reads the colours of a master, by its map of colours and its theme.
pub fn read(master: &TreeElement, theme: Option<&TreeElement>) -> MasterColors {
    let map = master.child("clrMap");
    let mapped = |role: &str| map.and_then(|map| map.attribute(role)).unwrap_or(role.to_owned());
    let named = |role: &str| theme.and_then(|theme| of_theme(theme, &mapped(role)));
    let fixed = |digits: &str| Color::read(digits).expect("the colour is valid");
    let background = master.child("cSld").and_then(|slide| slide.child("bg"));
    let fill = background.and_then(|background| {
        let fill = background.child("bgPr").and_then(|look| look.child("solidFill"));
        let fill = fill.or_else(|| background.child("bgRef"))?;
        let own = fill.child("srgbClr").and_then(|color| color.attribute("val"));
        let scheme = fill.child("schemeClr").and_then(|color| color.attribute("val"));
        own.and_then(|own| Color::read(&own)).or_else(|| named(&scheme?))
    });
    let background = fill.or_else(|| named("bg1")).unwrap_or(fixed("FFFFFF"));
    let ink = named("tx1").unwrap_or(background.contrasting());
    MasterColors { ink, background }
}

/// A colour of a theme.
fn of_theme(theme: &TreeElement, name: &str) -> Option<Color> {
    let color = theme.child("themeElements")?.child("clrScheme")?.child(name)?;
    let color = color.elements().next()?;
    let value = color.attribute("lastClr").or_else(|| color.attribute("val"))?;
    Color::read(&value)
}
