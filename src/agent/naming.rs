//! Tool names: sanitising, de-duplication, and fuzzy lookup of misspelt names.

use std::collections::BTreeSet;

/// The maximum length that all providers accept.
pub const NAME_CHARS: usize = 64;

/// Names with a higher similarity are treated as misspellings of one name.
const ALIKE: f64 = 0.85;

/// Names of our tools in other programs.
const ELSEWHERE: [(&str, &str); 7] = [
    ("file_read", "read_file"),
    ("file_write", "write_file"),
    ("http", "http_request"),
    ("http_get", "http_request"),
    ("memory_read", "memory_recall"),
    ("memory_write", "memory_store"),
    ("time", "get_current_datetime"),
];

/// Converts `readFile` to `read_file`. Only ASCII letters, digits and single `_` remain.
pub fn sanitise(name: &str) -> String {
    let mut clean = String::new();
    let mut before = ' ';
    for letter in name.chars().filter(|c| !matches!(c, '"' | '\'' | '`')) {
        let splits =
            letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        let letter_or_line = if letter.is_ascii_alphanumeric() { letter } else { '_' };
        if (splits || letter_or_line == '_') && !clean.ends_with('_') {
            clean.push('_');
        }
        if letter_or_line != '_' {
            clean.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    clean.trim_matches('_').to_owned()
}

/// The truncated name, with a number appended if it is taken.
pub fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let cut = |chars: usize| name.chars().take(chars).collect::<String>();
    let mut free = cut(NAME_CHARS).trim_matches('_').to_owned();
    let mut number = 2;
    while free.is_empty() || !taken.insert(free.clone()) {
        let suffix = format!("_{number}");
        free = format!("{}{suffix}", cut(NAME_CHARS - suffix.len()));
        number += 1;
    }
    free
}

/// The name of a server's tool: both names combined and truncated. Not necessarily unique.
pub fn of_server(server: &str, tool: &str) -> String {
    let name = format!("{}_{}", sanitise(server), sanitise(tool));
    name.chars().take(NAME_CHARS).collect::<String>().trim_matches('_').to_owned()
}

/// Resolves a name: an exact match, a match in another notation, or the one name that is clearly
/// the most similar. `None` if two names are equally similar.
pub fn meant<'a>(wanted: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let clean: String = sanitise(wanted).chars().take(NAME_CHARS).collect();
    let exact = |name: &str| name == wanted || name == clean;
    // Of `DocxRenderTool.renderDocx`, only the last part counts.
    let last = sanitise(wanted.rsplit('.').next().unwrap_or_default());
    let named = names.clone().find(|name| exact(name));
    if let Some(name) = named.or_else(|| names.clone().find(|name| *name == last)) {
        return Some(name);
    }
    if let Some((_, ours)) = ELSEWHERE.into_iter().find(|(theirs, _)| *theirs == clean)
        && let Some(name) = names.clone().find(|name| *name == ours)
    {
        return Some(name);
    }
    let mut scored: Vec<_> = names
        .map(|name| (likeness(&clean, name), name))
        .filter(|(score, _)| *score > ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    match scored[..] {
        [(first, _), (second, _), ..] if first <= second => None,
        _ => scored.first().map(|(_, name)| *name),
    }
}

/// At most three similar names, as suggestions.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<_> = names
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The similarity of two names: twice the length of their common subsequence, divided by the sum of
/// their lengths.
fn likeness(a: &str, b: &str) -> f64 {
    // An upper bound: the common subsequence is at most as long as the shorter name.
    let all = a.len() + b.len();
    let shared = 2 * a.len().min(b.len());
    if all == 0 || shared as f64 / all as f64 <= ALIKE {
        return 0.0;
    }
    let mut row = vec![0_usize; b.len() + 1];
    for left in a.bytes() {
        let mut corner = 0;
        for (place, right) in b.bytes().enumerate() {
            let above = row[place + 1];
            row[place + 1] = if left == right { corner + 1 } else { above.max(row[place]) };
            corner = above;
        }
    }
    2.0 * row[b.len()] as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves CA-18.
    #[test]
    fn a_name_is_made_plain() {
        for (written, plain) in [
            ("WebSearch", "web_search"),
            ("readFile2Text", "read_file2_text"),
            ("\"read-file\"", "read_file"),
            ("  read  file  ", "read_file"),
            ("naïve.tool", "na_ve_tool"),
            ("搜索", ""),
        ] {
            assert_eq!(sanitise(written), plain, "{written}");
        }
        let (long, limit) = ("a".repeat(70), "a".repeat(NAME_CHARS));
        assert_eq!(meant(&long, [limit.as_str()].into_iter()), Some(limit.as_str()));
    }

    #[test]
    fn a_taken_name_gets_a_number_and_none_is_too_long() {
        let mut taken = BTreeSet::new();
        let long = "x".repeat(80);
        assert_eq!(free(&long, &mut taken).len(), 64);
        let second = free(&long, &mut taken);
        assert!(second.len() == 64 && second.ends_with("x_2"), "{second}");
        assert_eq!(free("_", &mut taken), "__2");
    }

    /// An exact match of the sanitised name comes first, then similarity of strictly more than
    /// 0.85.
    /// Proves CA-17, CA-19.
    #[test]
    fn a_misspelt_name_is_understood_and_a_vague_one_is_not() {
        let names = ["web_search", "search_tools", "search_tool", "delete", "abcdefghijklmnopq"];
        let meant = |wanted| meant(wanted, names.into_iter());
        assert_eq!(meant("WebSearch"), Some("web_search"));
        assert_eq!(meant("search_tool"), Some("search_tool"), "though another is alike");
        assert_eq!(meant("web_serch"), Some("web_search"));
        assert_eq!(meant("dele"), None);
        assert_eq!(meant(""), None);
        // 2 · 17 of 40 letters is exactly 0.85, which does not exceed the threshold.
        assert_eq!(meant("abcdefghijklmnopqrstuvw"), None);
        assert_eq!(meant("abcdefghijklmnopqrstu"), Some("abcdefghijklmnopq"));
    }

    /// The notations of other programs.
    /// Proves MC-27 … MC-31.
    #[test]
    fn a_tool_is_known_by_the_names_of_the_sources() {
        let names = ["render_docx", "render_docx_from_file", "render_pdf", "render_pptx"];
        for (written, plain) in [
            ("renderDocx", "render_docx"),
            ("DocxRenderTool.renderDocx", "render_docx"),
            ("renderDocxFromFile", "render_docx_from_file"),
            ("PptxRenderTool.renderPptx", "render_pptx"),
            ("RenderPdf", "render_pdf"),
        ] {
            assert_eq!(meant(written, names.into_iter()), Some(plain), "{written}");
        }
    }

    /// The most similar name wins. A tie has no result.
    /// Proves CA-19.
    #[test]
    fn the_closest_name_is_used_and_a_tie_is_rejected() {
        let names = ["read_page_a", "read_page_b", "read_pages_of"];
        assert_eq!(meant("read_page_", names.into_iter()), None);
        assert_eq!(meant("read_pages_o", names.into_iter()), Some("read_pages_of"));
    }

    /// The memory tools' names in another program refer to ours.
    /// Proves IC-49.
    #[test]
    fn a_tool_is_known_by_what_it_is_called_elsewhere() {
        let names = ["memory_recall", "memory_store"];
        assert_eq!(meant("memory_read", names.into_iter()), Some("memory_recall"));
        assert_eq!(meant("MemoryWrite", names.into_iter()), Some("memory_store"));
        assert_eq!(meant("memory_read", ["shell"].into_iter()), None);
    }
}
