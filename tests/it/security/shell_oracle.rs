//! The guard's analysis of generated command lines, compared with the behaviour of dash and bash in
//! a sandbox of stub programs: no program may start, and no file may be written, that the guard has
//! not named, unless it marked the line as doubtful.

use countersign::testing::agent::shell::{self, Command, Script};
use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    process,
};

/// The number of generated lines in a usual run, and in a full one.
const LINES: usize = 1_000;
const MANY_LINES: usize = 20_000;
/// Lines of one sandbox.
const BATCH: usize = 1_000;
/// Rounds of shrinking a failing line.
const ROUNDS: usize = 8;
/// The default seed; `COUNTERSIGN_TEST_SEED` sets another.
const SEED: u64 = 20_261_123;

const SHELLS: [&str; 2] = ["dash", "bash"];

/// Names of stubs; each logs the path by which it was started.
const STUBS: &[&str] = &[
    "a", "b", "c", "d", "rm", "ls", "cat", "x", "env", "xargs", "timeout", "nice", "find", "sh",
    "bash", "setarch", "stdbuf", "sort", "sed", "awk", "tar", "git", "flock", "nohup", "script",
];

const STUB: &str = r#"#!/bin/dash
printf 'RUN %s\n' "$0" >&9
case ${0##*/} in
    env | xargs | timeout | nice | find | setarch | stdbuf | nohup | flock | awk)
        exec "/usr/bin/${0##*/}" "$@" ;;
    sh) exec /bin/dash "$@" ;;
    bash) exec /bin/bash "$@" ;;
    a) echo c ;;
    b) echo 'c x' ;;
    c) exit 1 ;;
    cat) [ $# -gt 0 ] || exec /bin/cat ;;
    *) ;;
esac
"#;

/// Runs every line in every shell, each in its own folder and with its own log (descriptor 9), so
/// that background processes are not attributed to another line.
const DRIVER: &str = r#"
for path in /tmp/range/lines/*; do
    line=$(<"$path")
    for shell in dash bash; do
        cd "/tmp/range/folders/${path##*/}.$shell" || exit 1
        HOME=$PWD /usr/bin/timeout -s KILL 5 "/bin/$shell" -c "$line" \
            < /dev/null > /dev/null 2>&1 9> "/tmp/range/logs/${path##*/}.$shell"
    done
done
exit 0
"#;

/// Splitmix64: the same lines for the same seed, everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A grammar of command lines, as functions that write a random sentence.
struct Grammar {
    random: Random,
    depth: usize,
}

impl Grammar {
    fn line(&mut self) -> String {
        self.depth += 1;
        let deep = self.depth > 3;
        let line = match self.random.below(if deep { 4 } else { 22 }) {
            0..=6 => self.simple(),
            7..=9 => {
                let by = self.random.one(&["; ", " && ", " || ", " | ", "\n", " & "]);
                format!("{}{by}{}", self.line(), self.line())
            }
            10 => format!("({})", self.line()),
            11 => format!("{{ {}; }}", self.line()),
            12 => format!("if {}; then {}; fi", self.line(), self.line()),
            13 => {
                let name = self.name_of_variable();
                format!("for {name} in {} 0; do {}; done", self.word(), self.line())
            }
            14 => format!(
                "case {} in {}) {};; *) {};; esac",
                self.word(),
                self.word(),
                self.line(),
                self.line()
            ),
            15 => format!("f() {{ {}; }}; f", self.line()),
            16 => format!("while {}; do {}; break; done", self.line(), self.line()),
            17 => format!(
                "{} -c {}",
                self.random.one(&["sh", "bash", "sh -e", "bash -o errexit"]),
                quoted(&self.line())
            ),
            18 => format!("eval {}", quoted(&self.line())),
            19 => format!("{} <<X\n{}\n{}\nX", self.simple(), self.word(), self.word()),
            20 => format!("{} <<'X'\n{}\nX\n{}", self.simple(), self.word(), self.simple()),
            _ => format!("! {}", self.line()),
        };
        self.depth -= 1;
        line
    }

    fn simple(&mut self) -> String {
        let mut line = String::new();
        while self.random.below(5) == 0 {
            let _ = write!(line, "{} ", self.assignment());
        }
        if self.random.below(4) == 0 {
            line += self.random.one(&[
                "env ",
                "timeout 5 ",
                "nice -n 1 ",
                "nice -5 ",
                "command ",
                "exec ",
                "env -i PATH=\"$PATH\" ",
                "env PATH=0 ",
                "setarch -R ",
                "stdbuf -oL ",
                "nohup ",
                "flock f ",
                "time ",
                "time -- ",
                "env - ",
                "command -- ",
                "env '-Sa b' ",
                "env -S 'b c' ",
                "timeout -s 9 5 ",
                "export PATH=0; ",
                "read PATH <<< 0; ",
                "unset V; ",
                "xargs ",
                "builtin eval ",
                "export V=1; ",
                "printf -v PATH 0; ",
            ]);
        }
        let names = [
            "a", "b", "c", "d", "ls", "cat", "rm", "'a'", "\"b\"", "\\c", "a\"\"", "r''m", "x",
            "echo", "sh",
        ];
        line += self.random.one(&names);
        for _ in 0..self.random.below(4) {
            let _ = write!(line, " {}", self.word());
        }
        if self.random.below(4) == 0 {
            let _ = write!(line, " {}", self.redirect());
        }
        line
    }

    fn name_of_variable(&mut self) -> &'static str {
        self.random.one(&["V", "W", "PATH", "i"])
    }

    fn assignment(&mut self) -> String {
        let name = self.name_of_variable();
        match self.random.below(4) {
            0 => format!("{name}[{}]={}", self.arithmetic(), self.word()),
            1 => format!("{name}+={}", self.word()),
            _ => format!("{name}={}", self.word()),
        }
    }

    fn redirect(&mut self) -> String {
        let by = self.random.one(&[
            "> ", ">", ">> ", "2> ", ">| ", "&> ", ">& ", "<> ", "< ", "<<< ", "3> ", "{V}> ",
        ]);
        match self.random.below(4) {
            0 => format!("{by}{}", self.word()),
            _ => format!(
                "{by}{}",
                self.random.one(&["o", "p.x", "/dev/null", "'o p'", "~/o", "o$V"])
            ),
        }
    }

    fn arithmetic(&mut self) -> String {
        match self.random.below(9) {
            0 => "1 + 1".to_owned(),
            1 => "PATH=0".to_owned(),
            2 => format!("{}++", self.name_of_variable()),
            3 => format!("1+$({})", self.inner()),
            4 => format!("{}[$({})]", self.name_of_variable(), self.inner()),
            5 => format!(
                "{} {} 0",
                self.name_of_variable(),
                self.random.one(&["=", "==", "+=", "<", "<<="])
            ),
            6 => "$V".to_owned(),
            7 => format!("(1, {})", self.name_of_variable()),
            _ => self.name_of_variable().to_owned(),
        }
    }

    fn inner(&mut self) -> String {
        if self.depth > 3 { "x".to_owned() } else { self.line() }
    }

    fn word(&mut self) -> String {
        match self.random.below(26) {
            0 => format!("$({})", self.inner()),
            1 => format!("\"$({})\"", self.inner()),
            2 => format!(
                "`{}`",
                self.random.one(&["x", "b c", "a \\`x\\`", "echo x", "echo '$(x)'"])
            ),
            3 => format!("~$({})", self.inner()),
            4 => format!("~{}", self.random.one(&["", "+", "/o", "\"x\"", "`x`", "root", "{a,b}"])),
            5 => format!("$(({}))", self.arithmetic()),
            6 => self.expansion(),
            7 => format!("${{{}[{}]}}", self.name_of_variable(), self.arithmetic()),
            8 => format!("{{{},{}}}", self.part(), self.part()),
            9 => format!("<({})", self.inner()),
            10 => format!("'{}'", self.random.one(&["$(x)", "`x`", "a b", "\"", "", "x;x"])),
            11 => format!("\"{}\"", self.within_quotes()),
            12 => format!("{}{}", self.part(), self.part()),
            13 => format!("$'{}'", self.random.one(&["\\x62", "a\\'", "x"])),
            _ => self.part(),
        }
    }

    fn expansion(&mut self) -> String {
        let operators = [":-", "-", ":=", "=", ":+", "+", "#", "%%", "/", ":", "@", "^", ":?"];
        let operator = self.random.one(&operators);
        let word = match self.random.below(4) {
            0 => self.within_quotes(),
            1 => format!("'{}'", self.within_quotes().replace('\'', "")),
            2 if self.depth < 3 => {
                self.depth += 1;
                let word = self.word();
                self.depth -= 1;
                word
            }
            _ => self.part(),
        };
        format!("${{{}{operator}{word}}}", self.random.one(&["V", "W", "U", "PATH"]))
    }

    /// Text allowed within double quotes.
    fn within_quotes(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.random.below(3) {
            let piece = match self.random.below(8) {
                0 => format!("$({})", self.inner()),
                1 => {
                    let operator = self.random.one(&[":-", "-", "+", ":=", "#", "%"]);
                    let word = self.random.one(&["'$(x)'", "$(x)", "'`x`'", "\"$(x)\"", "a", "'"]);
                    format!("${{V{operator}{word}}}")
                }
                2 => format!("$(({}))", self.arithmetic()),
                _ => {
                    let parts = [
                        "'", "x", "$V", "`x`", "\\$(x)", "\\\\", "~$(x)", " ", "#", "'$(x)'",
                        "\\`x\\`",
                    ];
                    self.random.one(&parts).to_owned()
                }
            };
            text.push_str(&piece);
        }
        text
    }

    fn part(&mut self) -> String {
        let parts = [
            "x", "-c", "--", "a", "o", "$V", "${V}", "*.x", "\\$", "\\x", "2", "#x", "x#", "é",
            "-", "$1", "$#", "$?", "{a,b}", "=", "a=b", "[x]", "\\(x\\)", "$", "!", "-exec", "{}",
            "+", "'a b'", "0/a", "\\\n",
        ];
        self.random.one(&parts).to_owned()
    }

    /// A line as an attacker might write it: a sentence, changed in a few places.
    fn changed(&mut self, line: &str) -> String {
        let mut characters: Vec<char> = line.chars().collect();
        for _ in 0..=self.random.below(3) {
            let place = self.random.below(characters.len() + 1);
            match self.random.below(4) {
                0 if place < characters.len() => drop(characters.remove(place)),
                1 if place < characters.len() => {
                    let end = (place + 1 + self.random.below(6)).min(characters.len());
                    let copied: Vec<_> = characters[place..end].to_vec();
                    let to = self.random.below(characters.len());
                    characters.splice(to..to, copied);
                }
                _ => {
                    let signs = [
                        "$", "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "'", "\"", "`",
                        "\\", "#", "~", "=", "!", " ", "\n", "$(", "<<X\n", "\nX\n", "\\\n", "((",
                        "${", "\t",
                    ];
                    let sign: Vec<_> = self.random.one(&signs).chars().collect();
                    characters.splice(place..place, sign);
                }
            }
        }
        characters.into_iter().collect()
    }
}

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

/// The effects of one line in one shell.
struct Effects {
    started: Vec<String>,
    written: Vec<String>,
}

/// Runs the lines in one sandbox; their effects in each shell, in the same order.
fn run(lines: &[String]) -> Vec<[Effects; 2]> {
    let folder = tempfile::tempdir().unwrap();
    let range = folder.path();
    for name in ["bin", "folders", "lines", "logs", "zero"] {
        fs::create_dir(range.join(name)).unwrap();
    }
    fs::write(range.join("stub"), STUB).unwrap();
    fs::set_permissions(range.join("stub"), fs::Permissions::from_mode(0o755)).unwrap();
    for name in STUBS {
        symlink("../stub", range.join("bin").join(name)).unwrap();
        // Files of an attacker in the folders of a changed PATH.
        symlink("../stub", range.join("zero").join(name)).unwrap();
    }
    fs::write(range.join("driver"), DRIVER).unwrap();
    for (number, line) in lines.iter().enumerate() {
        fs::write(range.join(format!("lines/{number:05}")), line).unwrap();
        for shell in SHELLS {
            let folder = range.join(format!("folders/{number:05}.{shell}"));
            fs::create_dir(&folder).unwrap();
            symlink("../../zero", folder.join("0")).unwrap();
        }
    }
    let ended = process::Command::new("bwrap")
        .args(["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"])
        .args(["--proc", "/proc", "--tmpfs", "/tmp", "--bind"])
        .arg(range)
        .args(["/tmp/range", "--clearenv", "--setenv", "PATH", "/tmp/range/bin"])
        .args(["/bin/bash", "/tmp/range/driver"])
        .stdin(process::Stdio::null())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let effects = |number: usize, shell: &str| {
        let name = format!("{number:05}.{shell}");
        let log = fs::read(range.join("logs").join(&name)).unwrap();
        let log = String::from_utf8_lossy(&log);
        let started = log.lines().filter_map(|entry| entry.strip_prefix("RUN "));
        let files = fs::read_dir(range.join("folders").join(name)).unwrap();
        let files = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
        Effects {
            started: started.map(str::to_owned).collect(),
            written: files.filter(|name| name != "0").collect(),
        }
    };
    (0..lines.len()).map(|number| SHELLS.map(|shell| effects(number, shell))).collect()
}

/// Effects that the guard has not named.
fn unnamed(script: &Script, effects: &Effects) -> Option<String> {
    let started = effects.started.iter().find(|path| !names_program(script, path));
    let written = effects.written.iter().find(|file| !names_file(script, file));
    started.or(written).cloned()
}

/// Whether the program is named; one from another folder only if `PATH` or that path is, too.
fn names_program(script: &Script, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_named = |command: &Command| {
        command.likely_name() == Some(name) || command.likely_name() == Some("|")
    };
    let leads_there = |command: &Command| {
        let second = command.words.get(1).map(|word| word.text.as_str());
        command.likely_name() == Some("=") && second.is_some_and(|name| name.starts_with("PATH"))
            || command.words.iter().any(|word| !word.sure || word.text.ends_with(path))
    };
    let mut commands = script.commands.iter();
    if folder == "/tmp/range/bin" { commands.any(is_named) } else { commands.any(leads_there) }
}

fn names_file(script: &Script, file: &str) -> bool {
    let is_target = |command: &Command| {
        let target = command.words.get(1).filter(|_| command.likely_name() == Some(">"));
        target.is_some_and(|word| !word.sure || word.text.trim_start_matches("~/") == file)
    };
    let is_lock = |command: &Command| {
        command.likely_name() == Some("flock") && command.words.iter().any(|word| word.text == file)
    };
    script.commands.iter().any(|command| is_target(command) || is_lock(command))
}

/// The failing lines among these, each with the effects that the guard missed.
fn failing(lines: &[String]) -> Vec<(String, String)> {
    let clear = |line: &&String| shell::parse(line).unclear.is_none();
    let lines: Vec<_> = lines.iter().filter(clear).cloned().collect();
    let mut found = Vec::new();
    for batch in lines.chunks(BATCH) {
        for (line, effects) in batch.iter().zip(run(batch)) {
            let script = shell::parse(line);
            let missed = effects.iter().find_map(|effects| unnamed(&script, effects));
            found.extend(missed.map(|missed| (line.clone(), missed)));
        }
    }
    found
}

/// The shortest line that fails in the same way.
fn shrunk(line: String) -> String {
    let mut line = line;
    for _ in 0..ROUNDS {
        let characters: Vec<_> = line.chars().collect();
        let without = |start: usize, length: usize| {
            let end = (start + length).min(characters.len());
            characters[..start].iter().chain(&characters[end..]).collect::<String>()
        };
        let sizes = [characters.len() / 2, characters.len() / 4, 8, 4, 3, 2, 1];
        let sizes = sizes.into_iter().filter(|size| *size > 0);
        let candidates: Vec<_> = sizes
            .flat_map(|size| (0..characters.len()).map(move |start| (start, size)))
            .map(|(start, size)| without(start, size).trim_end_matches('\n').to_owned())
            .collect();
        let shorter = failing(&candidates).into_iter().map(|(line, _)| line);
        match shorter.min_by_key(String::len).filter(|shorter| shorter.len() < line.len()) {
            Some(shorter) => line = shorter,
            None => break,
        }
    }
    line
}

/// Every program started or file written was named by the guard, or the line is doubtful.
/// Proves S3, S7, MC-24.
#[test]
fn the_guard_names_every_program_and_written_file() {
    let seed = std::env::var("COUNTERSIGN_TEST_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    let is_full = std::env::var_os("COUNTERSIGN_TEST_FULL").is_some();
    let count = if is_full { MANY_LINES } else { LINES };
    eprintln!("COUNTERSIGN_TEST_SEED={seed}");
    let mut grammar = Grammar { random: Random(seed), depth: 0 };
    let lines: Vec<_> = (0..count)
        .map(|number| {
            let line = grammar.line();
            let line = if number % 3 == 0 { grammar.changed(&line) } else { line };
            // The driver drops the end of the last line.
            line.trim_end_matches('\n').to_owned()
        })
        .collect();
    let clear = lines.iter().filter(|line| shell::parse(line).unclear.is_none()).count();
    assert!(clear > count / 5, "only {clear} of {count} lines are clear");
    let found = failing(&lines);
    for (line, missed) in &found {
        eprintln!("{line:?}: {missed}");
    }
    let shown = found.iter().take(2).map(|(line, missed)| {
        let short = shrunk(line.clone());
        let commands = shell::parse(&short).commands;
        let named: Vec<_> = commands.iter().map(Command::text).collect();
        format!("{line:?}: {missed}\n  shrunk: {short:?}, read as {named:?}")
    });
    let shown: Vec<_> = shown.collect();
    assert!(
        found.is_empty(),
        "{} of {clear} lines (seed {seed}):\n{}",
        found.len(),
        shown.join("\n")
    );
}

/// An omission is detected by this comparison, in either shell.
#[test]
fn the_comparison_detects_an_omission() {
    let lines = ["a; rm x > o", "PATH=0; ls", "ls ~$(rm x)"].map(str::to_owned);
    let effects = run(&lines);
    let [first, changed, tilde] = effects.as_slice() else { panic!("three lines were run") };
    for number in 0..SHELLS.len() {
        assert_eq!(unnamed(&shell::parse(&lines[0]), &first[number]), None);
        for overlooked in ["a > o", "rm x > o", "a; rm x"] {
            let missed = unnamed(&shell::parse(overlooked), &first[number]);
            assert!(missed.is_some(), "{overlooked} in {}", SHELLS[number]);
        }
        assert_eq!(unnamed(&shell::parse(&lines[1]), &changed[number]), None);
        assert_eq!(unnamed(&shell::parse("ls"), &changed[number]).as_deref(), Some("0/ls"));
        assert!(unnamed(&shell::parse("ls"), &tilde[number]).is_some());
    }
}
