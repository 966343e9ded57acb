//! The texts of the console in templates, navigation and notices, keyed by the English text. Values
//! in double braces are part of a text.
//!
//! - `sentences`: explanations and notices
//! - `lists`, `pages`, `forms`: short texts
//! - `schedules`: the form for schedules
//! - `values`: words for states and kinds

mod forms;
mod lists;
mod pages;
mod schedules;
mod sentences;
mod values;

use std::{collections::HashMap, sync::LazyLock};

use super::Language;

/// A text and its translations.
struct ConsoleText {
    en: &'static str,
    de: &'static str,
    es: &'static str,
    zh: &'static str,
}

const fn text(
    en: &'static str,
    de: &'static str,
    es: &'static str,
    zh: &'static str,
) -> ConsoleText {
    ConsoleText { en, de, es, zh }
}

static TEXTS: LazyLock<HashMap<&'static str, &'static ConsoleText>> = LazyLock::new(|| {
    let values = values::TEXTS.iter().chain(schedules::CHOICES);
    in_templates().chain(values).map(|text| (text.en, text)).collect()
});

/// All texts but those for values.
fn in_templates() -> impl Iterator<Item = &'static ConsoleText> {
    let short = lists::TEXTS.iter().chain(pages::TEXTS).chain(forms::TEXTS);
    sentences::TEXTS.iter().chain(short).chain(schedules::TEXTS)
}

/// The text in a language. A text without a translation, such as a name, stays as it is.
pub fn translated(english: &str, language: Language) -> &str {
    let Some(text) = TEXTS.get(english) else { return english };
    match language {
        Language::English => text.en,
        Language::German => text.de,
        Language::Spanish => text.es,
        Language::Chinese => text.zh,
    }
}

/// Whether there is a translation.
#[cfg(test)]
pub fn is_translated(english: &str) -> bool {
    TEXTS.contains_key(english)
}

/// The texts of templates, navigation and notices, in English.
#[cfg(test)]
pub fn texts() -> impl Iterator<Item = &'static str> {
    in_templates().map(|text| text.en)
}
