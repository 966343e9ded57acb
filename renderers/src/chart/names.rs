//! How native charts show the names of their categories. Office programs leave out some names if they
//! think that there is no room.

use super::{Chart, ChartKind};
use crate::package::measure::{Face, widest_word, width};

/// How the names are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameLayout {
    /// Each on one line, side by side or below each other.
    Upright,
    /// Slanted by 45 degrees.
    Slanted,
    /// As the program decides, which may break lines or leave out names.
    Automatic,
}

/// The room for the names, and the size of their letters; in the same unit.
#[derive(Debug, Clone, Copy)]
pub struct NameRoom {
    pub width: f64,
    pub height: f64,
    pub letters: f64,
}

/// The share of a chart that its names do not have: the numbers at the other axis, and titles.
const OTHER: f64 = 0.15;

impl Chart {
    /// How the names of the categories are shown in this room.
    pub(crate) fn name_layout(&self, room: NameRoom) -> NameLayout {
        let NameRoom { width: wide, height, letters } = room;
        let count = self.categories.len().max(1) as f64;
        if self.is_round() || self.kind == ChartKind::Scatter {
            return NameLayout::Automatic;
        }
        if self.is_horizontal {
            let fits = height * (1.0 - OTHER) >= count * letters * 1.3;
            return if fits { NameLayout::Upright } else { NameLayout::Automatic };
        }
        let band = wide * (1.0 - OTHER) / count;
        let fits = |room: f64, measured: fn(&str, Face) -> u32| {
            let ems = |name: &String| f64::from(measured(name, Face::Text)) / 1_000.0 + 0.5;
            self.categories.iter().all(|name| ems(name) * letters <= room)
        };
        if fits(band, width) {
            NameLayout::Upright
        } else if fits(band, widest_word) && fits(band * 1.8, width) || band < letters * 1.6 {
            NameLayout::Automatic
        } else {
            NameLayout::Slanted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::read::read;

    fn layout(kind: &str, names: &[&str]) -> NameLayout {
        let rows = names.iter().map(|name| format!("{name},1\n")).collect::<Vec<_>>().concat();
        let chart = read(&format!("type: {kind}\n\nk,S\n{rows}")).unwrap();
        chart.name_layout(NameRoom { width: 600.0, height: 300.0, letters: 12.0 })
    }

    #[test]
    fn names_that_do_not_fit_beside_each_other_are_slanted() {
        assert_eq!(layout("bar", &["Q1", "Q2", "Q3"]), NameLayout::Upright);
        assert_eq!(layout("line", &["United Kingdom"; 12]), NameLayout::Slanted);
        assert_eq!(layout("bar", &["United Kingdom"; 7]), NameLayout::Automatic, "two lines");
        assert_eq!(layout("bar", &["x"; 90]), NameLayout::Automatic);
    }

    #[test]
    fn names_below_each_other_need_only_the_height_of_a_line() {
        assert_eq!(layout("horizontal bar", &["United Kingdom"; 12]), NameLayout::Upright);
        assert_eq!(layout("horizontal bar", &["x"; 40]), NameLayout::Automatic);
        assert_eq!(layout("pie", &["x", "y"]), NameLayout::Automatic);
    }
}
