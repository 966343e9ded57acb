//! Scans a skill for findings to review before installation. It detects careless or crude contents;
//! the sandbox, the guard and taint contain what is well hidden.

use regex::Regex;
use std::{borrow::Cow, sync::LazyLock};

use super::package::{Package, Packed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// It is not installed, unless the operator insists.
    pub grave: bool,
    pub file: String,
    pub what: String,
}

struct Sign {
    grave: bool,
    /// Searched in every text, or in scripts only.
    anywhere: bool,
    what: &'static str,
    pattern: Regex,
}

static SIGNS: LazyLock<Vec<Sign>> = LazyLock::new(|| {
    let sign = |(grave, anywhere, what, pattern): (bool, bool, &'static str, &str)| {
        let pattern = Regex::new(&format!("(?i){pattern}")).expect("a literal");
        Sign { grave, anywhere, what, pattern }
    };
    [
        (true, true, "tells the model to ignore earlier instructions", r"(ignore|disregard|forget)\b.{0,20}\b(previous|prior|above|earlier)\b.{0,20}\b(instruction|rule|prompt|message)s?"),
        (true, true, "tells the model to hide something from people", r"(do not|don't|never)\s+(tell|inform|mention|reveal|show)\b.{0,30}\b(user|person|people|human|operator)"),
        (true, true, "mentions bypassing approvals", r"(bypass|circumvent|without)\b.{0,20}\b(approval|guard|permission|confirmation)s?\b"),
        (true, true, "pipes a download into a shell", r"(curl|wget)\b[^\n|]*\|\s*(sudo\s+)?(ba|z|da)?sh\b"),
        (true, true, "runs decoded code", r"base64\s+(-d|--decode|-D)\b[^\n]*\|\s*(ba|z|da)?sh\b|(exec|eval)\s*\(\s*[^)\n]*(b64decode|atob|fromhex|decompress)"),
        (true, false, "deletes folders outside of its own", r"rm\s+-[a-z]*[rf][a-z]*\s+[^\n]*(\s|^)?(/|~|\$HOME)(\s|/|\*|$)"),
        (true, false, "opens a remote shell", r"/dev/(tcp|udp)/|\bnc\b[^\n]*\s-[a-z]*e\b|\bsocat\b[^\n]*exec"),
        (true, false, "searches for keys and credentials", r"\.ssh/|\.aws/credentials|\.netrc|id_(rsa|ed25519)|/etc/shadow|\.config/gcloud|\.kube/config"),
        (false, false, "needs network access, which the sandbox does not have", r"\b(requests|urllib|httpx|aiohttp|socket)\b|\b(curl|wget|fetch)\b"),
        (false, false, "installs packages, for which the sandbox has no network access", r"\b(pip3?|npm|apt-get|cargo|gem)\s+(install|i|add)\b"),
        (false, false, "contains long encoded text", r"[a-z0-9+/=]{1000,}"),
    ]
    .map(sign)
    .into()
});

/// All findings, by file.
pub fn scan(package: &Package) -> Vec<Finding> {
    package.files.iter().flat_map(|(path, file)| of_file(path, file)).collect()
}

fn of_file(path: &str, file: &Packed) -> Vec<Finding> {
    let finding =
        |grave: bool, what: &str| Finding { grave, file: path.to_owned(), what: what.to_owned() };
    let programs: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    if programs.iter().any(|start| file.bytes.starts_with(start)) {
        return vec![finding(true, "is a compiled program, which cannot be reviewed")];
    }
    let mut found = Vec::new();
    let text = match String::from_utf8_lossy(&file.bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        // It may still run: an invalid byte in a comment does not stop a shell.
        text if file.executable || path.starts_with("scripts/") => {
            found.push(finding(true, "is a script that is not UTF-8 text"));
            text
        }
        Cow::Owned(_) => return Vec::new(),
    };
    if let Some(hidden) = hidden(&text) {
        let what = format!("contains invisible text: U+{:04X}", hidden as u32);
        found.push(finding(true, &what));
    }
    let is_text = [".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".xml"];
    let is_script = !is_text.iter().any(|ending| path.to_lowercase().ends_with(ending));
    let signs = SIGNS.iter().filter(|sign| is_script || sign.anywhere);
    found.extend(signs.filter(|s| s.pattern.is_match(&text)).map(|s| finding(s.grave, s.what)));
    found
}

/// Invisible and direction-changing characters, except for joiners within emoji and scripts that
/// need them.
fn hidden(text: &str) -> Option<char> {
    text.trim_start_matches('\u{feff}').chars().find(|c| {
        matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
    })
}
