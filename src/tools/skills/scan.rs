//! Scans a skill for findings to review before installation. It detects careless or crude contents;
//! the sandbox, the guard and taint contain what is well hidden.

use regex::Regex;
use std::{borrow::Cow, ops::Range, sync::LazyLock};

use super::{
    package::{Package, Packed},
    prose::{self, Sentence},
};

/// How much of a line is shown, in characters.
const EXCERPT_CHARS: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name by which an operator accepts it.
    pub id: &'static str,
    /// It is not installed, unless the operator accepts the finding or insists.
    pub severe: bool,
    pub file: String,
    /// The number of the line, unless the finding is about the whole file.
    pub line: Option<usize>,
    pub what: String,
}

/// What a rule is about, which decides where it is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleTarget {
    /// A sentence that instructs the reader.
    Instruction,
    /// A command, in scripts and in texts that instruct the reader to run it.
    Command,
    /// Code, in scripts only.
    Code,
}

struct Rule {
    id: &'static str,
    severe: bool,
    about: RuleTarget,
    what: &'static str,
    pattern: Regex,
    /// What follows a match that is harmless.
    except: Option<Regex>,
}

const COMPILED: &str = "compiled-program";
const UNREADABLE: &str = "unreadable-script";
const INVISIBLE: &str = "invisible-text";
const ARCHIVE: &str = "archive";

/// The names of all findings.
pub fn ids() -> impl Iterator<Item = &'static str> {
    let rules = RULES.iter().map(|rule| rule.id);
    rules.chain([COMPILED, UNREADABLE, INVISIBLE, ARCHIVE])
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    use RuleTarget::{Code, Command, Instruction};
    let rule = |(id, severe, about, what, pattern, except): (
        &'static str,
        bool,
        RuleTarget,
        &'static str,
        &str,
        &str,
    )| {
        let pattern = Regex::new(&format!("(?i){pattern}")).expect("a literal");
        let except = Some(except).filter(|text| !text.is_empty());
        let except = except.map(|text| Regex::new(&format!("(?i)^(?:{text})")).expect("a literal"));
        Rule { id, severe, about, what, pattern, except }
    };
    [
        (
            "ignore-instructions",
            true,
            Instruction,
            "tells the model to ignore its instructions",
            r"\b(ignore|disregard|forget)\b.{0,20}\b(previous|prior|above|earlier|preceding|your)\b.{0,20}\b(instruction|rule|prompt|message|guideline)s?|\boverrides?\s+(your|all|any|the system)\b.{0,20}\b(instruction|rule|prompt)s?|\byou are now (an? )?(unrestricted|jailbroken|dan\b|free (of|from))|\b(pretend|act as if)\b.{0,30}\bno (rules|restrictions|limits|guidelines)|\b(take|takes) precedence over\b.{0,30}\b(system prompt|your instructions|other instructions)",
            "",
        ),
        (
            "hide-from-people",
            true,
            Instruction,
            "tells the model to hide something from people",
            r"\b(do not|don't|don’t|never|without)\s+(tell|telling|inform|informing|notify|notifying|alert|alerting)\s+(the\s+|any\s+|your\s+)?(user|person|people|human|operator|owner|anyone|anybody)s?\b|\b(do not|don't|don’t|never)\s+(mention|reveal|disclose|show)\s+(this|it|these|that|any of this|the existence)\b|\b(hide|conceal|keep)\s+(this|it|that|these)\b.{0,40}\b(from|secret)\b|\bwithout\b.{0,20}\b(user|person|human|operator|anyone)('s)?\s+(noticing|knowing|knowledge|being told)|\b(silently|secretly|quietly)\s+(send|upload|post|forward|copy|delete|install|run|add|append|exfiltrate)\b",
            r"('s|’s)|\s+(to|how|about (the|their|your) (options|choices))\b",
        ),
        (
            "bypass-approvals",
            true,
            Instruction,
            "tells the model to bypass approvals",
            r"\b(bypass|circumvent|evade|disable|skip|turn off|get around|work around)\b.{0,30}\b(approval|guard|permission|sandbox|human review)s?\b|\b(run|execute|push|deploy|delete|send|install|commit|proceed|continue|act|merge|publish|pay|transfer|apply|drop|remove|approve|go ahead)\b.{0,60}\bwithout\b.{0,25}\b(approval|permission|confirmation|confirming|asking|consent)\b|\b(auto-?approve|always approve|approve (it|them|everything) yourself)\b",
            "",
        ),
        (
            "send-secrets",
            true,
            Instruction,
            "tells the model to send secrets or conversations elsewhere",
            r"\b(send|post|upload|copy|forward|exfiltrate|append|submit|paste|e-?mail|transmit)\b.{0,30}\b(all|any|every|the user's|their|found|collected|local|stored|full|whole|entire)\b.{0,40}\b(credential|api key|token|password|secret|private key|environment variable|ssh key|conversation|chat history|transcript)s?\b.{0,80}\b(to|https?)\b",
            "",
        ),
        (
            "read-keys",
            true,
            Instruction,
            "tells the model to read keys and credentials",
            r"\b(read|cat|open|copy|collect|print|include|grab|find|load|fetch|base64)\b.{0,40}(\.ssh/|\bid_(rsa|ed25519)\b|\.aws/credentials|\.netrc|/etc/shadow|\.kube/config|\.config/gcloud|\.git-credentials)[a-z0-9_]*",
            r"\.pub\b",
        ),
        (
            "download-to-shell",
            true,
            Command,
            "pipes a download into a shell",
            r"\b(curl|wget)\b[^\n|]*\|\s*(sudo\s+)?(-\w+\s+)*(ba|z|da|k)?sh\b|\b(ba|z|da)?sh\s+(-c\s+)?[\x22']?(<\(|\$\()\s*(curl|wget)\b|\biex\b.{0,40}\b(irm|iwr|downloadstring)\b|\b(irm|iwr)\b[^\n|]*\|\s*iex\b",
            "",
        ),
        (
            "decoded-code",
            true,
            Command,
            "runs decoded code",
            r"base64\s+(-d|--decode|-D)\b[^\n]*\|\s*(ba|z|da)?sh\b|(exec|eval)\s*\(\s*[^)\n]*(b64decode|atob|fromhex|decompress)|eval\s+[\x22']?\$\([^)]*base64",
            "",
        ),
        (
            "delete-outside",
            true,
            Code,
            "deletes folders outside of its own",
            r"\brm\s+(-[a-z]+\s+)*-[a-z]*[rf][a-z]*\s+([^\n;|&]*\s)?[\x22']?(/|/\*|(~|\$\{?HOME\}?)(/[^\s;]*)?|/(etc|usr|home|root|opt|boot|bin|lib|srv)\b[^\s;]*)[\x22']?(\s|;|$)|rmtree\(\s*(os\.path\.expanduser\(|Path\.home\(\))?\s*[\x22']?(~|/[\x22'])",
            "",
        ),
        (
            "remote-shell",
            true,
            Code,
            "opens a remote shell",
            r"/dev/(tcp|udp)/|\bnc\b[^\n]*\s-[a-z]*e\b|\bsocat\b[^\n]*exec|\bpty\.spawn\(|\bos\.dup2\(\s*\w+\.fileno\(",
            "",
        ),
        (
            "credentials",
            true,
            Code,
            "searches for keys and credentials",
            r"\.ssh/|\.aws/credentials|\.netrc|\bid_(rsa|ed25519)\b|/etc/shadow|\.config/gcloud|\.kube/config|\.git-credentials|Login Data|logins\.json",
            r"[a-z0-9_]*\.pub\b",
        ),
        (
            "persistence",
            true,
            Code,
            "makes itself start again",
            r"(>>|tee\s+-a)\s*[\x22']?(~|\$\{?HOME\}?)/\.(bashrc|zshrc|profile|bash_profile)|\bcrontab\s+-|/etc/cron|authorized_keys|systemctl\s+(--user\s+)?enable|LaunchAgents",
            "",
        ),
        (
            "network",
            false,
            Code,
            "needs network access, which the sandbox does not have",
            r"\b(requests|urllib|httpx|aiohttp|socket)\b|\b(curl|wget|fetch)\b",
            "",
        ),
        (
            "installs-packages",
            false,
            Code,
            "installs packages, for which the sandbox has no network access",
            r"\b(pip3?|npm|apt-get|cargo|gem)\s+(install|i|add)\b",
            "",
        ),
        ("encoded-text", false, Code, "contains long encoded text", r"[a-z0-9+/=]{1000,}", ""),
    ]
    .map(rule)
    .into()
});

/// All findings, by file.
pub fn scan(package: &Package) -> Vec<Finding> {
    package.files.iter().flat_map(|(path, file)| of_file(path, file)).collect()
}

fn of_file(path: &str, file: &Packed) -> Vec<Finding> {
    let whole = |id, severe: bool, what: &str| Finding {
        id,
        severe,
        file: path.to_owned(),
        line: None,
        what: what.to_owned(),
    };
    match binary(path, &file.bytes) {
        Some(Binary::Program) => {
            return vec![whole(COMPILED, true, "is a compiled program, which cannot be reviewed")];
        }
        Some(Binary::Archive) => {
            return vec![whole(ARCHIVE, false, "is an archive, whose contents are not scanned")];
        }
        Some(Binary::Media) => return Vec::new(),
        None => {}
    }
    let mut found = Vec::new();
    let text = match String::from_utf8_lossy(&file.bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        // It may still run: an invalid byte in a comment does not stop a shell.
        text if file.executable || path.starts_with("scripts/") => {
            found.push(whole(UNREADABLE, true, "is a script that is not UTF-8 text"));
            text
        }
        Cow::Owned(_) => return Vec::new(),
    };
    if let Some(hidden) = hidden(&text) {
        let what = format!("contains invisible text: U+{:04X}", hidden as u32);
        found.push(whole(INVISIBLE, true, &what));
    }
    found.extend(of_text(path, &text));
    found
}

/// The first finding of each rule.
fn of_text(path: &str, text: &str) -> Vec<Finding> {
    let is_text = [".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".xml"];
    let is_script = !is_text.iter().any(|ending| path.to_lowercase().ends_with(ending));
    let sentences = if is_script { prose::lines(text) } else { prose::sentences(text) };
    let rules = RULES.iter().filter(|rule| is_script || rule.about != RuleTarget::Code);
    let first = |rule: &Rule| {
        let sentence = sentences.iter().find(|sentence| rule.is_in(sentence))?;
        Some(Finding {
            id: rule.id,
            severe: rule.severe,
            file: path.to_owned(),
            line: Some(sentence.line),
            what: format!("{}: {}", rule.what, excerpt(&sentence.text)),
        })
    };
    rules.filter_map(first).collect()
}

impl Rule {
    fn is_in(&self, sentence: &Sentence) -> bool {
        let counts = |found: Range<usize>| {
            let after = &sentence.text[found.end..];
            !self.except.as_ref().is_some_and(|except| except.is_match(after))
                && match self.about {
                    RuleTarget::Instruction => prose::instructs(sentence, found.start, found.end),
                    RuleTarget::Command => prose::commands(sentence, found.start, found.end),
                    RuleTarget::Code => true,
                }
        };
        self.pattern.find_iter(&sentence.text).any(|found| counts(found.range()))
    }
}

fn excerpt(text: &str) -> String {
    let shown = channels::text::neutralise(text);
    match shown.char_indices().nth(EXCERPT_CHARS) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

enum Binary {
    Program,
    Archive,
    Media,
}

/// The kind of a file that is not text, by its first bytes. A script in disguise is none of these.
fn binary(path: &str, bytes: &[u8]) -> Option<Binary> {
    const PROGRAMS: [&[u8]; 5] =
        [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm"];
    const ARCHIVES: [&[u8]; 6] =
        [b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd"];
    const MEDIA: [&[u8]; 5] = [b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF", b"SQLite format 3\0"];
    let starts = |kinds: &[&[u8]]| kinds.iter().any(|start| bytes.starts_with(start));
    let is_text = std::str::from_utf8(bytes).is_ok();
    if starts(&PROGRAMS) || path.to_lowercase().ends_with(".pyc") {
        Some(Binary::Program)
    } else if is_text {
        None
    } else if starts(&ARCHIVES) {
        Some(Binary::Archive)
    } else if starts(&MEDIA) {
        Some(Binary::Media)
    } else {
        None
    }
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
