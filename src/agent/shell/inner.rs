//! Programs that start programs, what they start, and what the simplest of them print.

use base64::Engine as _;

use super::{
    command::{Command, Word},
    walk::{Input, Walk},
    words::unescaped,
};
use crate::texts::Doubt;

/// Stands for what another program will say.
pub(super) const FROM_A_PROGRAM: &str = "$(…)";

/// Interpreters of scripts, which may do anything.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"];
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "pwsh",
    "osascript",
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
];

/// A program that starts the one that its arguments name.
struct Wrapper {
    name: &'static str,
    /// Its short options that take a value.
    valued: &'static str,
    /// Its long options that take a value, where it is not behind a `=`.
    long: &'static [&'static str],
    /// How many arguments stand before the program.
    before: usize,
}

const fn wrapper(name: &'static str, valued: &'static str, before: usize) -> Wrapper {
    Wrapper { name, valued, long: &[], before }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "sudo",
        valued: "aCcDgghpRrTtUu",
        long: &["--user", "--group", "--chdir", "--chroot", "--host", "--prompt", "--role"],
        before: 0,
    },
    wrapper("doas", "aCu", 0),
    Wrapper { name: "env", valued: "uC", long: &["--unset", "--chdir"], before: 0 },
    Wrapper { name: "nice", valued: "n", long: &["--adjustment"], before: 0 },
    Wrapper { name: "ionice", valued: "cnpPu", long: &["--class", "--classdata"], before: 0 },
    Wrapper { name: "timeout", valued: "ks", long: &["--signal", "--kill-after"], before: 1 },
    Wrapper { name: "stdbuf", valued: "ioe", long: &["--input", "--output"], before: 0 },
    Wrapper { name: "time", valued: "fo", long: &["--format", "--output"], before: 0 },
    Wrapper {
        name: "xargs",
        valued: "adEILnPs",
        long: &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-lines"],
        before: 0,
    },
    wrapper("nohup", "", 0),
    wrapper("setsid", "", 0),
    wrapper("command", "", 0),
    wrapper("builtin", "", 0),
    wrapper("exec", "a", 0),
    wrapper("chroot", "", 1),
    wrapper("unshare", "GSwR", 0),
    wrapper("nsenter", "tSGwr", 0),
    wrapper("flock", "Ew", 1),
    wrapper("taskset", "", 1),
    wrapper("chrt", "", 1),
    wrapper("strace", "aeEIoOpPsSuX", 0),
    wrapper("ltrace", "aenoplsu", 0),
    wrapper("busybox", "", 0),
    wrapper("toybox", "", 0),
    wrapper("fakeroot", "ilsb", 0),
    wrapper("unbuffer", "", 0),
    wrapper("systemd-run", "pHMu", 0),
    wrapper("pkexec", "", 0),
];

/// Programs whose arguments, put together, are a script.
const JOINED: &[Wrapper] = &[
    wrapper("eval", "", 0),
    wrapper("watch", "n", 0),
    wrapper("parallel", "jaINLnP", 0),
    wrapper("ssh", "BbcDEeFIiJLlmOopQRSWw", 1),
];

/// Programs that take a script behind one of these options.
const SCRIPTED: &[(&str, &[&str])] = &[
    ("su", &["-c", "--command"]),
    ("runuser", &["-c", "--command"]),
    ("script", &["-c", "--command"]),
    ("flock", &["-c", "--command"]),
    ("env", &["-S", "--split-string"]),
    ("tar", &["--to-command", "--use-compress-program", "-I"]),
];

pub(super) fn is_interpreter(name: &str) -> bool {
    SHELLS.contains(&name)
        || INTERPRETERS.contains(&name)
        || ["eval", "source", ".", "xargs", "parallel"].contains(&name)
}

/// One spelling for one path of the workspace.
pub(super) fn plain_path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

/// What this program starts in turn; what it prints, where that is known.
pub(super) fn follow(walk: &mut Walk, command: &Command, input: &Input) -> Option<String> {
    let Some(name) = command.name().map(str::to_owned) else {
        walk.doubt(Doubt::Program);
        return None;
    };
    let words = command.words.get(1..).unwrap_or_default();
    notes_files(walk, &name, &command.words);
    if let Some((_, options)) = SCRIPTED.iter().find(|(known, _)| *known == name) {
        scripts_behind(walk, words, options);
    }
    if SHELLS.contains(&name.as_str()) {
        shell(walk, &name, words, input);
    } else if INTERPRETERS.contains(&name.as_str()) {
        interpreter(walk, &name, words, input);
    } else if ["source", "."].contains(&name.as_str()) {
        reads_script(walk, &name, words);
    } else if let Some(joined) = JOINED.iter().find(|joined| joined.name == name) {
        let rest = inner(joined, words);
        let script = rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        runs(walk, &name, &script, rest.iter().all(|word| word.sure));
    } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return wrapped(walk, wrapper, words, input);
    } else if name == "find" || name == "fd" {
        found(walk, words);
    } else if name == "trap"
        && let Some(script) = words.iter().find(|word| !word.text.starts_with('-'))
    {
        runs(walk, &name, &script.text.clone(), script.sure);
    }
    prints(&name, words, input)
}

/// A script as the text of an argument. What a program has said is nobody's to read before.
fn runs(walk: &mut Walk, name: &str, script: &str, sure: bool) {
    if !sure {
        walk.doubt(Doubt::Script);
    }
    if script.contains(FROM_A_PROGRAM) {
        walk.push(Command::of(&["|", name]));
    }
    walk.script(script);
}

fn scripts_behind(walk: &mut Walk, words: &[Word], options: &[&str]) {
    for (place, word) in words.iter().enumerate() {
        let attached = word.text.split_once('=').filter(|(option, _)| options.contains(option));
        let next = words.get(place + 1).filter(|_| options.contains(&word.text.as_str()));
        if let Some(script) = attached.map(|(_, script)| script).or(next.map(|w| w.text.as_str())) {
            runs(walk, "sh", script, word.sure);
        }
    }
}

/// `sh -c SCRIPT`, `sh FILE`, `… | sh`.
fn shell(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    let takes_script = |word: &Word| {
        word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c')
    };
    if let Some(place) = words.iter().position(takes_script) {
        let script = words[place + 1..].iter().find(|word| !word.text.starts_with(['-', '+']));
        return match script {
            Some(script) => runs(walk, name, &script.text.clone(), script.sure),
            None => walk.doubt(Doubt::Script),
        };
    }
    interpreter(walk, name, words, input);
    if let (true, Some(script)) = (input.piped, &input.text) {
        walk.script(script);
    }
}

/// A script in a file, or one that flows in.
fn interpreter(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    let mut operands = words.iter().filter(|word| word.text == "-" || !is_option(word));
    let inline = ["-c", "-e", "-E", "-r", "--eval", "-p", "--execute"];
    if words.iter().any(|word| inline.iter().any(|option| word.text.starts_with(option))) {
        return;
    }
    let file = operands.next();
    let from_input = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    match file {
        Some(file) if file.text.contains(FROM_A_PROGRAM) => {
            walk.push(Command::of(&["|", name]));
        }
        Some(file) if !from_input.contains(&file.text.as_str()) => {
            walk.files_run.push(plain_path(&file.text));
        }
        _ if input.piped => walk.push(Command::of(&["|", name])),
        _ => {}
    }
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with(['-', '+'])
}

fn reads_script(walk: &mut Walk, name: &str, words: &[Word]) {
    match words.first() {
        Some(file) if file.text.contains(FROM_A_PROGRAM) => {
            walk.push(Command::of(&["|", name]));
        }
        Some(file) => walk.files_run.push(plain_path(&file.text)),
        None => {}
    }
}

fn wrapped(walk: &mut Walk, wrapper: &Wrapper, words: &[Word], input: &Input) -> Option<String> {
    let mut rest = inner(wrapper, words).to_vec();
    if rest.is_empty() {
        return None;
    }
    if wrapper.name != "xargs" {
        return walk.command(rest, input);
    }
    let said = input.text.as_deref().unwrap_or(FROM_A_PROGRAM);
    let more: Vec<_> = said.split_whitespace().map(Word::guess).collect();
    for word in &mut rest {
        if word.text.contains("{}") {
            *word = Word::guess(word.text.replace("{}", said.trim()));
        }
    }
    rest.extend(more);
    walk.command(rest, &Input::default());
    None
}

/// The program and its arguments, behind the wrapper's own.
fn inner<'a>(wrapper: &Wrapper, words: &'a [Word]) -> &'a [Word] {
    let mut at = 0;
    let mut before = wrapper.before;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            at += usize::from(!long.contains('=') && wrapper.long.contains(&text));
        } else if let Some(short) = text.strip_prefix('-').filter(|short| !short.is_empty()) {
            // Only the last of a cluster can have its value in the next word.
            let valued = short.find(|c| wrapper.valued.contains(c));
            at += usize::from(valued.is_some_and(|place| place + 1 == short.len()));
        } else if is_assignment(text) && ["env", "sudo", "doas"].contains(&wrapper.name) {
        } else if before > 0 {
            before -= 1;
        } else {
            at -= 1;
            break;
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    rest.get(before.min(rest.len())..).unwrap_or_default()
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

/// `find … -exec PROGRAM … ;`
fn found(walk: &mut Walk, words: &[Word]) {
    let starts = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut rest = words;
    while let Some(place) = rest.iter().position(|word| starts.contains(&word.text.as_str())) {
        rest = &rest[place + 1..];
        let end = rest.iter().position(|word| word.text == ";" || word.text == "+");
        let (program, after) = rest.split_at(end.unwrap_or(rest.len()));
        let program: Vec<_> = program
            .iter()
            .map(
                |word| {
                    if word.text.contains("{}") { Word::guess(&word.text) } else { word.clone() }
                },
            )
            .collect();
        if !program.is_empty() {
            walk.command(program, &Input::default());
        }
        rest = after;
    }
}

/// Which files a program writes from elsewhere, and whether it is such a file itself.
fn notes_files(walk: &mut Walk, name: &str, words: &[Word]) {
    if words[0].text.contains('/') {
        walk.files_run.push(plain_path(&words[0].text));
    }
    let rest = &words[1..];
    let mut wrote = |text: &str| {
        walk.written.insert(plain_path(text));
    };
    match name {
        "curl" | "wget" | "aria2c" => {
            for pair in rest.windows(2) {
                if ["-o", "-O", "--output", "--output-document"].contains(&pair[0].text.as_str()) {
                    wrote(&pair[1].text);
                }
            }
            for word in rest {
                let attached = word.text.split_once('=').map(|(_, value)| value);
                let short = word.text.strip_prefix("-o").filter(|_| !word.text.starts_with("--"));
                attached.into_iter().chain(short).for_each(&mut wrote);
                // Without a name for it, the file is called as in the address.
                if word.text.contains("://") {
                    wrote(word.text.rsplit('/').next().unwrap_or_default());
                }
            }
        }
        "tee" | "cp" | "mv" | "ln" | "install" => rest.iter().for_each(|word| wrote(&word.text)),
        _ => {}
    }
}

/// What `echo`, `printf` and what decodes it say.
fn prints(name: &str, words: &[Word], input: &Input) -> Option<String> {
    let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
    let has = |options: &[&str]| texts.iter().any(|text| options.contains(text));
    let flowing = || input.text.clone();
    match name {
        "echo" => {
            let options = texts
                .iter()
                .take_while(|t| {
                    t.len() > 1 && t.starts_with('-') && t[1..].chars().all(|c| "neE".contains(c))
                })
                .count();
            Some(unescaped(&texts[options..].join(" ")) + "\n")
        }
        "printf" => {
            let (format, rest) = texts.split_first()?;
            let format = unescaped(format);
            if rest.is_empty() {
                return Some(format);
            }
            let mut said = format.clone();
            for text in rest {
                said = said.replacen("%s", text, 1).replacen("%b", &unescaped(text), 1);
            }
            if rest.len() > 1 && said.contains(rest[0]) && !said.contains(rest[1]) {
                said = rest.join(" ");
            }
            Some(said)
        }
        "base64" | "openssl" if has(&["-d", "-D", "--decode", "-di", "-id"]) => {
            let mut text = flowing()?;
            text.retain(|c| !c.is_whitespace() && c != '=');
            let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
            String::from_utf8(engine.decode(text).ok()?).ok()
        }
        "xxd" if has(&["-r", "-rp", "-pr"]) => {
            let mut text = flowing()?;
            text.retain(|c| c.is_ascii_hexdigit());
            String::from_utf8(hex::decode(text).ok()?).ok()
        }
        "rev" => flowing().map(|text| text.trim_end().chars().rev().collect()),
        "cat" | "tee" if texts.iter().all(|text| text.starts_with('-')) => flowing(),
        _ => None,
    }
}
