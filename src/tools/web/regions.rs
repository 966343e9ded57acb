//! The regions of DuckDuckGo, by language.

/// The regions by language, or by language and country.
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

/// Tavily's names for the countries of the regions.
#[rustfmt::skip]
const COUNTRIES: [(&str, &str); 41] = [
    ("at", "austria"), ("bg", "bulgaria"), ("br", "brazil"), ("ca", "canada"), ("ch", "switzerland"),
    ("cn", "china"), ("cz", "czech republic"), ("de", "germany"), ("dk", "denmark"),
    ("ee", "estonia"), ("es", "spain"), ("fi", "finland"), ("fr", "france"), ("gr", "greece"),
    ("hk", "hong kong"), ("hr", "croatia"), ("hu", "hungary"), ("id", "indonesia"),
    ("il", "israel"), ("it", "italy"), ("jp", "japan"), ("kr", "south korea"), ("lt", "lithuania"),
    ("lv", "latvia"), ("mx", "mexico"), ("nl", "netherlands"), ("no", "norway"), ("pl", "poland"),
    ("pt", "portugal"), ("ro", "romania"), ("ru", "russia"), ("se", "sweden"), ("sk", "slovakia"),
    ("sl", "slovenia"), ("th", "thailand"), ("tr", "turkey"), ("tw", "taiwan"), ("ua", "ukraine"),
    ("uk", "united kingdom"), ("us", "united states"), ("vn", "vietnam"),
];

/// The country whose pages rank first for a search in this language. `None` for plain English.
pub fn country(language: &str) -> Option<&'static str> {
    let is_plain_english = language.eq_ignore_ascii_case("en");
    let region = region(language).filter(|_| !is_plain_english)?;
    let code = region.split('-').next()?;
    COUNTRIES.iter().find(|(known, _)| *known == code).map(|(_, country)| *country)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves MC-22.
    #[test]
    fn a_language_names_a_country() {
        for (language, expected) in [
            ("de", Some("germany")),
            ("de-AT", Some("austria")),
            ("en", None),
            ("en-GB", Some("united kingdom")),
            ("pt_BR", Some("brazil")),
            ("ar", None),
            ("xx", None),
        ] {
            assert_eq!(country(language), expected, "{language}");
        }
    }

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
