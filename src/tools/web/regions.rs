//! The regions of DuckDuckGo, by language.

/// By language, or by language and country.
#[rustfmt::skip]
const REGIONS: [(&str, &str); 44] = [
    ("ar", "xa-ar"), ("bg", "bg-bg"), ("ca", "ct-ca"), ("cs", "cz-cs"), ("da", "dk-da"),
    ("de", "de-de"), ("de-at", "at-de"), ("de-ch", "ch-de"), ("el", "gr-el"), ("en", "us-en"),
    ("en-gb", "uk-en"), ("es", "es-es"), ("es-mx", "mx-es"), ("et", "ee-et"), ("fi", "fi-fi"),
    ("fr", "fr-fr"), ("fr-ca", "ca-fr"), ("he", "il-he"), ("hr", "hr-hr"), ("hu", "hu-hu"),
    ("id", "id-id"), ("it", "it-it"), ("ja", "jp-jp"), ("ko", "kr-kr"), ("lt", "lt-lt"),
    ("lv", "lv-lv"), ("nb", "no-no"), ("nl", "nl-nl"), ("no", "no-no"), ("pl", "pl-pl"),
    ("pt", "pt-pt"), ("pt-br", "br-pt"), ("ro", "ro-ro"), ("ru", "ru-ru"), ("sk", "sk-sk"),
    ("sl", "sl-sl"), ("sv", "se-sv"), ("th", "th-th"), ("tr", "tr-tr"), ("uk", "ua-uk"),
    ("vi", "vn-vi"), ("zh", "cn-zh"), ("zh-hk", "hk-tzh"), ("zh-tw", "tw-tzh"),
];

/// The region for a language.
pub fn region(language: &str) -> Option<&'static str> {
    let whole = language.to_ascii_lowercase().replace('_', "-");
    let alone = whole.split('-').next().unwrap_or_default();
    let of = |wanted: &str| REGIONS.iter().find(|(name, _)| *name == wanted);
    of(&whole).or_else(|| of(alone)).map(|(_, region)| *region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_one_that_there_is() {
        for (language, expected) in [
            ("en", Some("us-en")),
            ("en_GB", Some("uk-en")),
            ("en-ZA", Some("us-en")),
            ("de", Some("de-de")),
            ("ja", Some("jp-jp")),
            ("zh", Some("cn-zh")),
            ("zh-TW", Some("tw-tzh")),
            ("xx", None),
        ] {
            assert_eq!(region(language), expected, "{language}");
        }
    }
}
