//! Searches tools by words: BM25 over names, descriptions and parameters.
//!
//! Existing crates bring a stemmer and stop words for each language, and support one field where
//! this needs three; the code that remains is short.

use serde_json::Value;
use std::collections::BTreeMap;

use super::spec::ToolSpec;

/// The weight of a word by field.
const NAME: f64 = 3.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETERS: f64 = 0.5;

/// BM25 parameters: how quickly repetitions of a word stop counting, and how strongly long texts
/// are penalised.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Words of a query that say nothing about a tool, even if few tools contain them.
const STOP_WORDS: [&str; 24] = [
    "a", "an", "and", "are", "at", "by", "can", "do", "for", "from", "how", "i", "in", "is", "it",
    "of", "on", "that", "the", "to", "tool", "what", "who", "with",
];

/// The words of all tools, with their frequency by field.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Word → (document, weight).
    postings: BTreeMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
}

impl Index {
    pub fn of<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Self {
        let mut index = Self::default();
        for (document, spec) in specs.enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let parameters = described(&spec.parameters);
            for (text, weight) in [
                (spec.name.as_str(), NAME),
                (spec.description.as_str(), DESCRIPTION),
                (parameters.as_str(), PARAMETERS),
            ] {
                for word in words(text) {
                    *counts.entry(word).or_default() += weight;
                }
            }
            index.lengths.push(counts.values().sum());
            for (word, weight) in counts {
                index.postings.entry(word).or_default().push((document, weight));
            }
        }
        index
    }

    /// The positions of documents that contain any of these words, best match first.
    pub fn find(&self, query: &str) -> Vec<usize> {
        let count = self.lengths.len() as f64;
        let usual = (self.lengths.iter().sum::<f64>() / count.max(1.0)).max(1.0);
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let mut asked = words(query);
        asked.retain(|word| !STOP_WORDS.contains(&word.as_str()));
        asked.sort();
        asked.dedup();
        for postings in asked.iter().filter_map(|word| self.postings.get(word)) {
            let having = postings.len() as f64;
            let rarity = ((count - having + 0.5) / (having + 0.5)).ln_1p();
            for (document, weight) in postings {
                let held_back = K1 * (1.0 - B + B * self.lengths[*document] / usual);
                *scores.entry(*document).or_default() +=
                    rarity * weight * (K1 + 1.0) / (weight + held_back);
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(document, _)| document).collect()
    }
}

/// The names and descriptions of the parameters.
fn described(schema: &Value) -> String {
    let mut text = String::new();
    for (name, about) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        text.push_str(name);
        text.push(' ');
        text.push_str(about.get("description").and_then(Value::as_str).unwrap_or_default());
        text.push(' ');
    }
    text
}

/// Splits a text into normalised words: `createIssues`, `create_issue` and "creating an issue" give
/// the same words. In scripts without spaces between words (Chinese, Japanese and, in effect,
/// Korean), each pair of neighbouring characters is a word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut run): (String, Vec<char>) = (String::new(), Vec::new());
    let mut before = ' ';
    for c in text.chars().chain([' ']) {
        let splits = c.is_uppercase() && before.is_lowercase();
        if splits || is_unspaced(c) || !c.is_alphanumeric() {
            words.extend(Some(stem(&std::mem::take(&mut word))).filter(|w| !w.is_empty()));
        }
        if is_unspaced(c) {
            run.push(c);
        } else {
            words.append(&mut pairs(&std::mem::take(&mut run)));
            if c.is_alphanumeric() {
                word.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    words
}

fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn pairs(run: &[char]) -> Vec<String> {
    match run {
        [] => vec![],
        [alone] => vec![alone.to_string()],
        _ => run.windows(2).map(|pair| pair.iter().collect()).collect(),
    }
}

/// Removes English endings, so that "issues" finds "issue". Applied to both sides.
fn stem(word: &str) -> String {
    if word.len() <= 3 || word.ends_with("ss") || !word.is_ascii() {
        return word.to_owned();
    }
    let bare = ["ing", "ies", "ed", "es", "s", "e", "y"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3));
    bare.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn index() -> Index {
        let spec = |name: &str, description: &str, parameter: &str| {
            let parameters = json!({ "type": "object", "properties": { parameter: {} } });
            ToolSpec::read_only(name, description, parameters)
        };
        let specs = [
            spec("github_create_issue", "Opens an issue in a repository", "labels"),
            spec("github_list_issues", "Lists the issues of a repository", "state"),
            spec("calendar_create_event", "Puts an event into a calendar", "attendees"),
            spec("weather_forecast", "天气预报：查询某个城市的天气", "city"),
            spec("mail_send", "Sends a mail", "recipient"),
        ];
        Index::of(specs.iter())
    }

    #[test]
    fn words_find_tools_in_any_form_and_the_best_comes_first() {
        let index = index();
        for (query, first) in [
            ("create an issue", 0),
            ("creating issues", 0),
            ("listIssues", 1),
            ("Kalender: calendar events", 2),
            ("who are the attendees", 2),
            ("天气", 3),
            ("北京的天气怎么样", 3),
            ("recipients", 4),
        ] {
            assert_eq!(index.find(query).first(), Some(&first), "{query}");
        }
        assert!(index.find("").is_empty());
        assert!(index.find("股票").is_empty());
        assert!(Index::default().find("issue").is_empty());
    }

    #[test]
    fn scripts_are_parted_into_words() {
        assert_eq!(words("createIssues_now"), ["creat", "issu", "now"]);
        assert_eq!(words("用PDF输出报告"), ["用", "pdf", "输出", "出报", "报告"]);
        assert_eq!(words("日程"), ["日程"]);
        assert_eq!(words("Größe"), ["größe"]);
    }
}
