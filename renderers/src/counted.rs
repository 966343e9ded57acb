//! Numbers with their nouns, for warnings.

/// “1 cell”, “2 cells”: the number before the words for one or for several.
pub fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The first names in quotation marks, and the number of the others.
pub fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    /// The number of names that are listed.
    const LISTED: usize = 5;
    let more = names.len().saturating_sub(LISTED);
    let mut names: Vec<String> = names.take(LISTED).map(|name| format!("“{name}”")).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_long_lists_are_cut() {
        assert_eq!(counted(1, "cell is", "cells are"), "1 cell is");
        assert_eq!(counted(0, "cell is", "cells are"), "0 cells are");
        assert_eq!(listed(["a"].into_iter()), "“a”");
        assert_eq!(listed(["a", "b", "c"].into_iter()), "“a”, “b” and “c”");
        let many = listed(["a", "b", "c", "d", "e", "f", "g"].into_iter());
        assert_eq!(many, "“a”, “b”, “c”, “d”, “e” and 2 more");
    }
}
