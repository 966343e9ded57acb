//! Redacts secrets in texts: those of the configuration in any encoding, and everything that looks
//! like a common kind of key.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use regex::{Captures, Regex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    ops::RangeInclusive,
    sync::{Arc, LazyLock},
};

/// Shorter secrets would redact ordinary words.
const SHORTEST: usize = 6;

/// The replacement for a secret of the configuration.
const OWN: &str = "…";

/// The line in which a reload of the configuration reports that a secret has changed. It matches
/// the pattern of a secret, so it is exempt from redaction.
pub const SECRETS_CHANGED: &str = "secrets: changed";

/// Redacts the secrets of the configuration.
#[derive(Clone, Default)]
pub struct Redactor {
    own: Option<Regex>,
    /// Patterns for the same secrets spelled out: letter by letter, backwards, in a different case.
    spelled: Arc<[Regex]>,
    results: Results,
}

/// What is redacted in tool results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Results {
    /// Everything that looks like a secret.
    #[default]
    All,
    /// Only the secrets of the configuration.
    Own,
}

/// Omits the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// A kind of secret: its name and pattern. `keep` is text before the secret that is kept, `tail`
/// text after it.
struct Shape {
    name: &'static str,
    looks: Regex,
}

/// The names of secrets in texts.
macro_rules! secret_names {
    () => {
        r"passw(or)?d|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key
        |(access|api|auth|bot|deploy|gh|github|gitlab|hf|npm|refresh|session)[_-]?token"
    };
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    [
        (
            "private key",
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)",
        ),
        ("JWT", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        ("API key", r"\b[sr]k[-_](ant-|proj-|or-v1-|svcacct-|live_|test_)?[A-Za-z0-9_-]{20,}"),
        ("Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("AWS key", r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("GitHub token", r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
        ("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("Slack token", r"\bx(ox[abeprs]|app)-[A-Za-z0-9-]{10,}"),
        ("Telegram token", r"\d{6,12}:[A-Za-z0-9_-]{35}"),
        ("Discord token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
        (
            "password",
            r#"(?i)(?<keep>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@"]+(@[^\s/@"'<>,;]+)*(?<tail>@)"#,
        ),
        // Between quotation marks, a secret may contain what otherwise ends one.
        (
            "secret",
            concat!(
                r#"(?ix)(?<keep> ("#,
                secret_names!(),
                r#") [a-z0-9_]* ["']? \s* [=:] \s* ["'] )
                   [^\s"'<>{}$(\[*…][^\s"']{5,} (?<tail> ["'] )"#,
            ),
        ),
        (
            "secret",
            concat!(
                r#"(?ix)(?<keep> ( [a-z0-9_.-]* ("#,
                secret_names!(),
                r#") [a-z0-9_]*
                   | [?&](token|key|sig|signature|pass|pwd) ) ["']? \s* [=:] \s* ["']? )
                   [^\s"'&,;<>{}$(\[*…][^\s"'&,;<>{}(\[]{5,} (?<tail> ["'\s&,;}>\])] | \z )"#,
            ),
        ),
        ("bearer token", r"(?i)(?<keep>\b(bearer|basic) )[A-Za-z0-9+/=_.~-]{16,}"),
    ]
    .map(|(name, looks)| Shape { name, looks: Regex::new(looks).expect("tested") })
    .into()
});

/// Names of fields whose value is always a secret.
static SECRET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let names = r"(?i)^.*(password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|(access|api|auth|bot|deploy|gh|github|gitlab|hf|npm|refresh|session)[_-]?token)$|^(token|authorization|pwd)$";
    Regex::new(names).expect("tested")
});

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let secrets: BTreeSet<&str> = secrets.into_iter().collect();
        let spelled = secrets.iter().filter_map(|secret| spelled(secret)).collect();
        let written: BTreeSet<String> =
            secrets.into_iter().filter(|s| s.len() >= SHORTEST).flat_map(ways).collect();
        // Longest first, because one may be part of another.
        let mut written: Vec<_> = written.into_iter().collect();
        written.sort_by_key(|way| std::cmp::Reverse(way.len()));
        let own = (!written.is_empty()).then(|| {
            Regex::new(&written.join("|")).expect("escaped literals, far below the size limit")
        });
        Self { own, spelled, results: Results::default() }
    }

    #[must_use]
    pub fn for_results(self, results: Results) -> Self {
        Self { results, ..self }
    }

    /// Redacts a tool's result.
    pub fn result(&self, text: String) -> String {
        let clean = match self.results {
            Results::All => self.text(&text),
            Results::Own => self.own(&text),
        };
        match clean {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    /// Redacts the secrets of the configuration.
    pub fn own<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.own {
            Some(own) => own.replace_all(text, OWN),
            None => Cow::Borrowed(text),
        }
    }

    /// Redacts the secrets of the configuration in a model's text, including those spelled with
    /// spaces between the letters, backwards or in a different case.
    pub fn reply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.spelled.iter().fold(self.own(text), |text, spelled| {
            match spelled.replace_all(&text, OWN) {
                Cow::Borrowed(_) => text,
                Cow::Owned(changed) => Cow::Owned(changed),
            }
        })
    }

    /// Redacts the secrets of the configuration and everything that looks like a secret.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        SHAPES.iter().fold(self.own(text), |text, shape| match shape.without(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(changed) => Cow::Owned(changed),
        })
    }

    /// Redacts all texts in the value, and every field whose name says that it is a secret.
    pub fn value(&self, value: &Value) -> Value {
        mapped(value, &|name, text| match name {
            Some(name) if SECRET_NAME.is_match(name) => "[redacted: secret]".to_owned(),
            _ => self.text(text).into_owned(),
        })
    }

    /// Redacts only the secrets of the configuration.
    pub fn own_value(&self, value: &Value) -> Value {
        match self.own {
            Some(_) => mapped(value, &|_, text| self.own(text).into_owned()),
            None => value.clone(),
        }
    }

    /// Redacts the secrets of the configuration for an approval, showing the length of each.
    pub fn marked(&self, text: &str) -> String {
        let Some(own) = &self.own else { return text.to_owned() };
        let mark =
            |found: &Captures<'_>| format!("‹own secret: {} characters›", found[0].chars().count());
        own.replace_all(text, mark).into_owned()
    }

    /// Redacts all texts in the value like [`Self::marked`].
    pub fn marked_value(&self, value: &Value) -> Value {
        mapped(value, &|_, text| self.marked(text))
    }

    pub fn holds_own(&self, value: &Value) -> bool {
        self.own.is_some() && self.own_value(value) != *value
    }
}

impl Shape {
    fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.looks.replace_all(text, |found: &Captures<'_>| {
            let part = |name| found.name(name).map_or("", |part| part.as_str());
            if found[0].strip_suffix(part("tail")) == Some(SECRETS_CHANGED) {
                return found[0].to_owned();
            }
            format!("{}[redacted: {}]{}", part("keep"), self.name, part("tail"))
        })
    }
}

/// Replaces all texts in the value, including field names. `change` receives the field's name and
/// the text.
pub fn mapped(value: &Value, change: &dyn Fn(Option<&str>, &str) -> String) -> Value {
    fn walk(
        value: &Value,
        name: Option<&str>,
        change: &dyn Fn(Option<&str>, &str) -> String,
    ) -> Value {
        match value {
            Value::String(text) => Value::String(change(name, text)),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| walk(item, name, change)).collect())
            }
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, value)| (change(None, name), walk(value, Some(name), change)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }
    walk(value, None, change)
}

/// The lengths of secrets that are searched for when spelled out. Shorter ones would match ordinary
/// words; longer ones would need a huge pattern.
const SPELLED_CHARS: RangeInclusive<usize> = 8..=256;

/// A pattern for a secret with any invisible characters between its letters, forwards or backwards.
fn spelled(secret: &str) -> Option<Regex> {
    let letters: Vec<char> = secret.chars().filter(|c| !c.is_whitespace()).collect();
    if !SPELLED_CHARS.contains(&letters.len()) {
        return None;
    }
    let (there, back) = (spaced(letters.iter()), spaced(letters.iter().rev()));
    Some(Regex::new(&format!("(?i:{there}|{back})")).expect("escaped letters, few of them"))
}

fn spaced<'l>(letters: impl Iterator<Item = &'l char>) -> String {
    letters.map(|c| regex::escape(&c.to_string())).collect::<Vec<_>>().join(BLANKS)
}

const BLANKS: &str = r"[ \t\r\n\u{a0}\u{ad}\u{200b}-\u{200d}\u{2060}\u{feff}]*";

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The encodings of a secret, as patterns.
fn ways(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let json = Value::from(secret).to_string();
    let mut ways = vec![regex::escape(secret), regex::escape(json.trim_matches('"'))];
    ways.push(format!("(?i:{})", hex::encode(bytes)));
    for set in [RESERVED, NON_ALPHANUMERIC] {
        let encoded = utf8_percent_encode(secret, set).to_string();
        ways.push(format!("(?i:{})", regex::escape(&encoded)));
    }
    for shift in 0..3 {
        ways.push(regex::escape(&within_base64(&STANDARD_NO_PAD, bytes, shift)));
        ways.push(regex::escape(&within_base64(&URL_SAFE_NO_PAD, bytes, shift)));
    }
    ways
}

/// The base64 characters that these bytes fully determine if `shift` bytes of the group of three
/// precede them.
fn within_base64(engine: &impl Engine, bytes: &[u8], shift: usize) -> String {
    let whole = engine.encode([&vec![0; shift], bytes].concat());
    let first = (shift * 8).div_ceil(6);
    let last = (shift + bytes.len()) * 8 / 6;
    whole[first..last].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CANARY: &str = "c4nary/Secret+\"1\"=";

    /// The line about changed secrets is not redacted, but a password in that form is.
    #[test]
    fn the_report_of_changed_secrets_can_be_read() {
        let redactor = Redactor::default();
        let line = "changes=\"secrets: changed; limits.messages_per_minute: 30 → 60\"";
        assert_eq!(redactor.text(line), line);
        assert_eq!(redactor.text("secrets: hunter22"), "secrets: [redacted: secret]");
    }

    /// Plain, in base64 at any offset, in hex, in URLs, in JSON.
    /// Proves S11.
    #[test]
    fn an_own_secret_is_found_however_it_is_written() {
        let redactor = Redactor::new([CANARY]);
        let mut written = vec![
            CANARY.to_owned(),
            hex::encode(CANARY),
            hex::encode_upper(CANARY),
            utf8_percent_encode(CANARY, RESERVED).to_string(),
            utf8_percent_encode(CANARY, NON_ALPHANUMERIC).to_string().to_lowercase(),
            json!({ "x": CANARY }).to_string(),
        ];
        for before in ["", "a", "ab", "abc", "abcd"] {
            for after in ["", "z", "zz"] {
                let text = format!("{before}{CANARY}{after}");
                written.push(STANDARD_NO_PAD.encode(&text));
                written.push(URL_SAFE_NO_PAD.encode(&text));
            }
        }
        for text in written {
            let shown = format!("see {text} there");
            let redacted = redactor.own(&shown);
            assert!(redacted.contains(OWN), "{shown} stays");
            assert!(redacted.len() < shown.len() - 10, "{redacted} shows too much of {shown}");
        }
        assert_eq!(redactor.own("nothing to see"), "nothing to see");
        assert!(!format!("{redactor:?}").contains("c4nary"));
    }

    #[test]
    fn the_longer_of_two_secrets_is_taken_whole_and_a_short_one_not_at_all() {
        let redactor = Redactor::new(["123456:abcdef", "123456:abcdef-longer", "abc"]);
        assert_eq!(redactor.own("bot123456:abcdef-longer/abc"), "bot…/abc");
    }

    /// Common kinds of keys. All of these are made up.
    /// Proves S11.
    #[test]
    fn likely_secrets_are_redacted() {
        let redactor = Redactor::default();
        let long = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg";
        for (secret, around) in [
            (format!("sk-ant-api03-{long}"), "key {} in use"),
            (format!("sk-proj-{long}"), "OPENAI {}"),
            (format!("AIza{}", &long[..35]), "x={}"),
            (format!("123456789:{}", &long[..35]), "https://api.telegram.org/bot{}/getMe"),
            (format!("MTIz{}.Gabcde.{}", &long[..20], &long[..30]), "Bot {}"),
            ("AKIAABCDEFGHIJKLMNOP".to_owned(), "id {}"),
            (format!("ghp_{}", &long[..36]), "git clone {}"),
            (format!("github_pat_{long}"), "{}"),
            (format!("xoxb-1234567890-{}", &long[..12]), "slack {}"),
            (format!("eyJhbGciOiJI.eyJzdWIiOiIx.{}", &long[..20]), "cookie {}"),
            ("hunter2hunter2".to_owned(), "postgres://ann:{}@host/db"),
            ("hunter2hunter2".to_owned(), "postgres://host/db?user=a&password={}&sslmode=require"),
            ("hunter2hunter2".to_owned(), "DB_PASSWORD={}"),
            ("hunter2hunter2".to_owned(), "{\"api_key\": \"{}\"}"),
            ("hunter2hunter2".to_owned(), "password: {}"),
            ("hunter2hunter2".to_owned(), "GITHUB_TOKEN={}"),
            ("hunter2hunter2".to_owned(), "api-token: {}"),
            ("hunter2hunter2".to_owned(), "{\"refresh_token\": \"{}\"}"),
            ("hunter2,(&;{2}[3]".to_owned(), "{\"password\":\"{}\", \"x\": 1}"),
            ("hunter2,(&;{2}[3]".to_owned(), "export DB_PASSWORD='{}'"),
            ("p@ssw0rd@2".to_owned(), "postgres://ann:{}@host/db"),
            (long.to_owned(), "Authorization: Bearer {}"),
            (
                format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n-----END RSA PRIVATE KEY-----"),
                "{}",
            ),
            (format!("-----BEGIN PRIVATE KEY-----\n{long}"), "cut off: {}"),
        ] {
            let text = around.replace("{}", &secret);
            let redacted = redactor.text(&text);
            assert!(!redacted.contains(&secret), "{text} → {redacted}");
            assert!(redacted.contains("[redacted: "), "{text} → {redacted}");
            assert_eq!(redactor.text(&redacted), redacted, "twice is once");
        }
        let url = redactor.text("postgres://ann:hunter2@host/db?password=hunter2&x=1");
        assert_eq!(
            url,
            "postgres://ann:[redacted: password]@host/db?password=[redacted: secret]&x=1"
        );
    }

    #[test]
    fn ordinary_words_stay() {
        let redactor = Redactor::default();
        for text in [
            "The password is asked for at the door: nobody gets in without it.",
            "let secret = read_secret(path);",
            "password = ${DB_PASSWORD}",
            "password = \"${DB_PASSWORD}\"",
            "\"password\": \"Enter your password (twice)\"",
            "max_tokens = 100000, \"next_page_token\": \"CAUQAA1234\"",
            "{\"a\":\"redis://cache:6379\",\"b\":\"ann@example.com\"}",
            "task-force-and-risk-assessment-of-the-year",
            "at 12:30:22, 2026-05-04T10:00:00Z",
            "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "https://example.com/a?page=2&keyboard=yes",
            "user@example.com wrote to mailto:x@example.com",
        ] {
            assert_eq!(redactor.text(text), text);
        }
    }

    /// Proves S11.
    #[test]
    fn a_secret_that_a_model_spells_is_found() {
        let redactor = Redactor::new([CANARY, "theend"]);
        let spaced: String = CANARY.chars().flat_map(|c| [c, ' ']).collect();
        let lines: String = CANARY.chars().flat_map(|c| [c, '\n']).collect();
        let hidden: String = CANARY.chars().flat_map(|c| [c, '\u{200b}']).collect();
        let reversed: String = CANARY.chars().rev().collect();
        let both: String = reversed.chars().flat_map(|c| [c, ' ', ' ']).collect();
        let shouted = CANARY.to_uppercase();
        for text in [CANARY, &spaced, &lines, &hidden, &reversed, &both, &shouted] {
            let shown = format!("It is {text}");
            assert!(redactor.reply(&shown).starts_with("It is …"), "{shown}");
        }
        for fine in ["At the end of c4n ary", "nothing"] {
            assert_eq!(redactor.reply(fine), fine);
        }
    }

    #[test]
    fn an_approval_request_hides_own_secrets_only_and_says_how_long_they_are() {
        let redactor = Redactor::new([CANARY]);
        let text =
            format!("-----BEGIN PRIVATE KEY-----\nrm -rf x; echo {CANARY} password=hunter22");
        let shown = redactor.marked(&text);
        let expected = "-----BEGIN PRIVATE KEY-----\nrm -rf x; echo ‹own secret: 18 characters› \
                        password=hunter22";
        assert_eq!(shown, expected);
        let value = json!({ "authorization": "anything", "a": [CANARY] });
        let shown = json!({ "authorization": "anything", "a": ["‹own secret: 18 characters›"] });
        assert_eq!(redactor.marked_value(&value), shown);
    }

    #[test]
    fn a_field_that_is_called_a_secret_is_one() {
        let redactor = Redactor::new([CANARY]);
        let value = json!({ "password": "x1", "note": "fine", "list": [{ "to": CANARY }], "n": 1 });
        let shown = json!({ "password": "[redacted: secret]", "note": "fine", "list": [{ "to": "…" }], "n": 1 });
        assert_eq!(redactor.value(&value), shown);
        assert!(redactor.holds_own(&value));
        assert!(!redactor.holds_own(&shown));
    }
}
