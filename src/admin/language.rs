//! Parses `Accept-Language`.

use axum::http::{HeaderMap, header::ACCEPT_LANGUAGE};

use crate::texts::Language;

/// The supported language that the browser prefers most.
pub fn of(headers: &HeaderMap) -> Language {
    wanted(headers).unwrap_or_default()
}

/// The same; `None` if none is supported.
pub fn wanted(headers: &HeaderMap) -> Option<Language> {
    let lines = headers.get_all(ACCEPT_LANGUAGE).into_iter().filter_map(|line| line.to_str().ok());
    let mut wanted: Vec<_> = lines.flat_map(|line| line.split(',')).filter_map(range).collect();
    // Stable: among equal preferences, the first counts.
    wanted.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    wanted.into_iter().map(|(_, language)| language).next()
}

/// Parses `de-AT;q=0.8`.
fn range(range: &str) -> Option<(f32, Language)> {
    let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
    let weight: f32 = weight.trim().strip_prefix("q=")?.trim().parse().ok()?;
    let main = tag.trim().split('-').next()?.to_ascii_lowercase();
    let language = Language::ALL.into_iter().find(|language| language.tag() == main)?;
    (weight > 0.0).then_some((weight, language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_preferred_supported_language_is_chosen() {
        for (line, language) in [
            ("de-AT,de;q=0.9,en;q=0.8", Some(Language::German)),
            ("fr-FR, fr;q=0.9, en;q=0.5, es;q=0.7", Some(Language::Spanish)),
            ("zh-Hans-CN", Some(Language::Chinese)),
            ("tlh, *;q=0.1", None),
            ("de;q=0, en", Some(Language::English)),
            ("de;level=1, ;;, q=x, es;q=nonsense", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(line));
            assert_eq!(wanted(&headers), language, "{line}");
        }
        assert_eq!(of(&HeaderMap::new()), Language::English);
    }
}
