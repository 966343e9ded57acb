//! Splitting and escaping of realistic text: emoji families and flags, three scripts, nested code,
//! tables.

use channels::{
    Unit,
    text::{Style, discord, escape, format, split},
};
use proptest::prelude::*;

/// Grapheme clusters that must never be split.
const WHOLE: [&str; 5] = ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "🏳️‍🌈", "각"];

fn words() -> impl Strategy<Value = String> {
    let emoji = prop::sample::select(WHOLE.to_vec()).prop_map(|whole| format!("{whole} "));
    let word = prop_oneof![
        "[a-z]{1,9} ".boxed(),
        "[漢字仮名。]{1,9}".boxed(),
        "[א-ת]{1,6} ".boxed(),
        "[ا-ي]{1,6} ".boxed(),
        "\\*\\*[a-z漢]{1,9}\\*\\* ".boxed(),
        "`[a-z]{1,6}` ".boxed(),
        emoji.boxed(),
    ];
    prop::collection::vec(word, 1..20).prop_map(|words| words.concat())
}

/// A fence of four backticks that contains one of three, and other code.
fn code() -> impl Strategy<Value = String> {
    prop_oneof![
        "````md\n([a-z漢]{1,20}\n){1,4}```rs\n([a-z(){};]{1,20}\n){1,9}```\n[a-z]{1,9}\n````",
        "~~~\n([a-z`א]{1,20}\n){1,9}~~~",
        "```[a-z]{0,3}\n([a-z👍]{1,20}\n){1,9}```",
    ]
}

fn block() -> impl Strategy<Value = String> {
    let quoted = words().prop_map(|words| format!("> {words}\n>\n> - {words}"));
    let nested = words().prop_map(|words| format!("1. {words}\n   - {words}\n     - {words}"));
    let table = prop::collection::vec((words(), "[a-z]{1,5}"), 1..9).prop_map(|rows| {
        let rows = rows.into_iter().map(|(one, two)| format!("| {one} | {two} |\n"));
        format!("| a | b |\n|---|--:|\n{}", rows.collect::<String>())
    });
    prop_oneof![words(), code(), quoted, nested, table]
}

/// With words in between, so that two lists stay separate.
fn blocks() -> impl Strategy<Value = String> {
    prop::collection::vec(block(), 1..5).prop_map(|blocks| blocks.join("\n\nthen\n\n"))
}

fn solid(text: &str) -> Vec<char> {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Without table borders: each part is as wide as its own rows.
fn undrawn(text: &str) -> Vec<char> {
    let drawn = |c: &char| matches!(c, '-' | '|' | '+');
    solid(text).into_iter().filter(|c| !drawn(c)).collect()
}

/// Whether `all` contains `wanted` in order, with only additions in between.
fn holds(all: &[char], wanted: &[char]) -> bool {
    let mut all = all.iter();
    wanted.iter().all(|c| all.any(|other| other == c))
}

/// All code, in order.
fn shown_as_code(markdown: &str) -> String {
    let formatted = format(markdown);
    let units: Vec<u16> = formatted.text.encode_utf16().collect();
    let code = formatted.spans.iter().filter(|span| matches!(span.style, Style::Pre { .. }));
    code.map(|span| {
        String::from_utf16(&units[span.offset..span.offset + span.length]).expect("no half")
    })
    .collect()
}

/// The text that a Discord Markdown renderer would show.
fn read(shown: &str) -> String {
    let mut text = String::new();
    let mut chars = shown.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            '\u{200b}' => {}
            c => text.push(c),
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All parts fit by the platform's own count, and together show the whole text in order.
    /// Proves M5.
    #[test]
    fn parts_fit_the_limit_and_lose_no_text(text in blocks(), limit in 100_usize..400) {
        for unit in [Unit::Utf16, Unit::Chars, Unit::Discord] {
            let parts = split(&text, limit, unit);
            for part in &parts {
                prop_assert!(unit.of(part) <= limit, "{unit:?}: {part:?}");
            }
            let shown: String = parts.iter().map(|part| format(part).text).collect();
            prop_assert!(
                holds(&undrawn(&shown), &undrawn(&format(&text).text)),
                "{unit:?}: {parts:#?}"
            );
            for whole in WHOLE {
                let count = |text: &str| text.matches(whole).count();
                prop_assert!(count(&shown) >= count(&format(&text).text), "{whole}: {parts:#?}");
            }
        }
    }

    /// A split inside code closes the fence and opens it again, also if the code contains fences.
    /// Proves M5.
    #[test]
    fn code_stays_code_after_a_split(before in words(), code in code(), limit in 60_usize..200) {
        let text = format!("{before}\n\n{code}\n\nend");
        for unit in [Unit::Utf16, Unit::Discord] {
            let parts = split(&text, limit, unit);
            let shown: String = parts.iter().map(|part| shown_as_code(part)).collect();
            prop_assert_eq!(solid(&shown), solid(&shown_as_code(&text)), "{:#?}", parts);
            for part in parts {
                let fences = discord(&part).lines().filter(|l| l.starts_with("```")).count();
                prop_assert!(fences % 2 == 0, "{part:?}");
            }
        }
    }

    /// Every span lies within its part, splits no character, and nests correctly.
    /// Proves M5.
    #[test]
    fn the_entities_of_every_part_are_balanced(text in blocks(), limit in 60_usize..200) {
        for part in split(&text, limit, Unit::Utf16) {
            let formatted = format(&part);
            let units: Vec<u16> = formatted.text.encode_utf16().collect();
            for (index, span) in formatted.spans.iter().enumerate() {
                let end = span.offset + span.length;
                prop_assert!(span.length > 0 && end <= units.len());
                prop_assert!(String::from_utf16(&units[span.offset..end]).is_ok());
                for other in &formatted.spans[index + 1..] {
                    prop_assert!(other.offset >= end || other.offset + other.length <= end);
                }
            }
        }
    }

    /// Escaped text is shown literally and formats nothing, on either platform.
    /// Proves S18.
    #[test]
    fn escaped_text_is_literal_in_every_script(text in blocks()) {
        let formatted = format(&escape(&text));
        prop_assert_eq!(solid(&formatted.text), solid(&text));
        prop_assert!(formatted.spans.is_empty());
        prop_assert_eq!(solid(&read(&discord(&escape(&text)))), solid(&text));
    }
}
