//! Finds the files of the workspace that a shell command line reads, as far as its text shows. A
//! decision is bound to their contents.
//!
//! If the files cannot be determined, the decision is bound to the whole workspace.

use std::collections::BTreeSet;

use super::{
    paths::normalise,
    shell::{self, Command, Word},
};

/// The files that a command line reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// Paths in the workspace. The files need not exist.
    pub paths: BTreeSet<String>,
    /// Those of the paths that run as shell scripts. The files that the scripts read must be added.
    pub scripts: BTreeSet<String>,
    /// The folders that the command may be in when it reads them. The empty path is the workspace
    /// itself.
    pub folders: BTreeSet<String>,
    /// Whether it may read files that it does not name.
    pub everything: bool,
}

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", ".", "source"];

/// Programs that run files they find in a folder, or load files that a script names.
const RUN_FOLDERS: &[&str] = &[
    "ansible-playbook",
    "ant",
    "bazel",
    "bmake",
    "bun",
    "bundle",
    "busybox",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "deno",
    "docker",
    "docker-compose",
    "dotnet",
    "expect",
    "fish",
    "gem",
    "gmake",
    "go",
    "gradle",
    "gradlew",
    "hatch",
    "java",
    "javac",
    "jest",
    "julia",
    "just",
    "lua",
    "make",
    "meson",
    "mvn",
    "mvnw",
    "mysql",
    "ninja",
    "node",
    "nodejs",
    "nox",
    "npm",
    "npx",
    "parallel",
    "perl",
    "php",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "pre-commit",
    "psql",
    "pwsh",
    "pytest",
    "python",
    "python2",
    "python3",
    "rake",
    "Rscript",
    "ruby",
    "run-parts",
    "rustc",
    "scons",
    "sqlite3",
    "task",
    "tclsh",
    "terraform",
    "tox",
    "ts-node",
    "tsc",
    "uv",
    "vagrant",
    "vite",
    "xargs",
    "yarn",
];

/// Variables that determine where a shell or a program looks for programs.
const LOOKUP_VARIABLES: &[&str] =
    &["BASH_ENV", "CDPATH", "ENV", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONPATH"];

/// Programs whose operands name no file to read.
const READ_NOTHING: &[&str] = &[
    "=", "[", "echo", "exit", "export", "false", "kill", "mkdir", "printf", "return", "sleep",
    "test", "true", "unset",
];

/// Keywords that repeat commands or run them later. Combined with `cd`, the commands may run in
/// folders that the text does not name.
const REPEATS: &[&str] = &["for", "while", "until", "select", "function", "trap"];

impl NamedFiles {
    /// The files that a command line reads if it starts in one of these folders.
    pub fn of(text: &str, folders: &BTreeSet<String>) -> Self {
        let script = shell::parse(text);
        let mut named = Self { folders: folders.clone(), ..Self::default() };
        named.everything = script.unclear.is_some();
        named.enter(text, &script.commands);
        for command in &script.commands {
            named.command(command);
        }
        named
    }

    /// The files that a command line reads if it starts in the workspace itself.
    pub fn of_line(text: &str) -> Self {
        Self::of(text, &BTreeSet::from([String::new()]))
    }

    /// Adds the files of a script that starts in the same folder.
    pub fn add(&mut self, script: &str) {
        let more = Self::of(script, &self.folders);
        // A sourced script changes the folder of its caller.
        self.everything |= more.everything || more.folders != self.folders;
        self.paths.extend(more.paths);
        self.scripts.extend(more.scripts);
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.everything
    }

    /// Follows a single `cd` with a plain operand. In more complex cases, any file may be read.
    fn enter(&mut self, text: &str, commands: &[Command]) {
        let enters = |command: &&Command| {
            matches!(command.likely_name(), Some("cd" | "chdir" | "pushd" | "popd"))
        };
        let entering: Vec<_> = commands.iter().filter(enters).collect();
        let target = match &entering[..] {
            [] => return,
            [command] => command.words.iter().skip(1).find(|word| word.text != "--"),
            _ => None,
        };
        let plain = target.filter(|word| {
            word.sure && !word.text.starts_with(['-', '~']) && !is_pattern(&word.text)
        });
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let repeats = text.contains("()") || words.any(|word| REPEATS.contains(&word));
        let folder = plain.filter(|_| !repeats).and_then(|word| normalise(&word.text).ok());
        match folder {
            Some(folder) => {
                let into = |before: &String| join(before, &folder);
                self.folders.extend(self.folders.clone().iter().map(into));
            }
            // Files outside the workspace do not matter.
            None if plain.is_some_and(|word| is_elsewhere(&word.text)) && !repeats => {}
            None => self.everything = true,
        }
    }

    fn command(&mut self, command: &Command) {
        let Some(name) = command.likely_name() else { return };
        self.everything |= !command.words[0].sure || runs_a_folder(name, command);
        for word in &command.words {
            self.word(word, !READ_NOTHING.contains(&name));
        }
        if name == "git" {
            for path in [".git/config", ".git/hooks/*"] {
                self.path(path);
            }
        }
        if SHELLS.contains(&name) {
            self.shell(command);
        } else if command.words[0].text.contains('/') {
            self.script(&command.words[0]);
        }
    }

    /// The script that a shell runs: its first operand.
    fn shell(&mut self, command: &Command) {
        let mut words = command.words.iter().skip(1);
        while let Some(word) = words.next() {
            if !word.sure {
                self.everything = true;
                return;
            }
            let text = word.text.as_str();
            let is_option = text.len() > 1 && text.starts_with(['-', '+']) && text != "--";
            match text {
                // The argument was parsed as commands.
                _ if is_option && !text.starts_with("--") && text.contains('c') => return,
                _ if is_option && text.ends_with(['o', 'O']) => {
                    words.next();
                }
                "-s" | "-" | "--rcfile" | "--init-file" => self.everything = true,
                "--" => {}
                _ if is_option => {}
                _ => return self.script(word),
            }
        }
    }

    fn script(&mut self, word: &Word) {
        if !word.sure || is_pattern(&word.text) || word.text.contains("..") {
            self.everything = true;
            return;
        }
        if let Ok(path) = normalise(&word.text) {
            let within = self.within(&word.text, &path);
            self.scripts.extend(within);
        }
    }

    /// Any word may be a path, and so may the value of an option.
    fn word(&mut self, word: &Word, reads: bool) {
        let value = word.text.split_once('=').map(|(_, value)| value);
        for part in [Some(word.text.as_str()), value].into_iter().flatten() {
            let elsewhere = part.split('/').any(|part| part == "..") && self.folders.len() > 1;
            let unknown = !word.sure && part.contains(['$', '…']);
            self.everything |= reads && (elsewhere || unknown);
            self.path(part);
        }
    }

    fn path(&mut self, text: &str) {
        if let Ok(path) = normalise(text) {
            let within = self.within(text, &path);
            self.paths.extend(within);
        }
    }

    /// The path in each of the folders. An absolute path is the same in all of them.
    fn within(&self, written: &str, path: &str) -> Vec<String> {
        if written.starts_with('/') {
            return vec![path.to_owned()];
        }
        self.folders.iter().map(|folder| join(folder, path)).collect()
    }
}

fn runs_a_folder(name: &str, command: &Command) -> bool {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    match name {
        "find" => words().any(|word| word.starts_with("-exec") || word.starts_with("-ok")),
        "env" | "sudo" => words().any(|word| word.starts_with("-C") || word.starts_with("--chdir")),
        "=" => words().next().is_some_and(|name| LOOKUP_VARIABLES.contains(&name)),
        // An interpreter runs the output of another program.
        "|" => true,
        _ => RUN_FOLDERS.contains(&name) || name.starts_with("python3."),
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn is_elsewhere(path: &str) -> bool {
    path.starts_with('/') && normalise(path).is_err() && !path.contains("..")
}

fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, ".") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(line: &str) -> Vec<String> {
        NamedFiles::of_line(line).scripts.into_iter().collect()
    }

    #[test]
    fn scripts_are_found_where_the_line_enters() {
        for (line, expected) in [
            ("sh deploy.sh", &["deploy.sh"][..]),
            ("cd scripts && sh deploy.sh", &["deploy.sh", "scripts/deploy.sh"]),
            (
                "cd /workspace/scripts; bash -ex ./deploy.sh a b",
                &["deploy.sh", "scripts/deploy.sh"],
            ),
            ("cd /tmp && sh /workspace/x.sh", &["x.sh"]),
            ("bash -o pipefail x.sh", &["x.sh"]),
            (". env.sh", &["env.sh"]),
            ("source lib/env.sh", &["lib/env.sh"]),
            ("./run.sh", &["run.sh"]),
            ("sudo -u bob bin/run", &["bin/run"]),
            ("sh -c 'cd a; sh b.sh'", &["a/b.sh", "b.sh"]),
            ("sh -c 'echo x' y.sh", &[]),
            ("cat a.sh", &[]),
        ] {
            assert_eq!(scripts(line), expected, "{line}");
            assert!(!NamedFiles::of_line(line).everything, "{line}");
        }
    }

    #[test]
    fn an_unresolvable_path_binds_all_files() {
        for line in [
            "cd a; cd b; sh x.sh",
            "cd $X && sh x.sh",
            "cd - && sh x.sh",
            "cd ~ && sh x.sh",
            "cd && sh x.sh",
            "cd a* && sh x.sh",
            "cd a && sh ../x.sh",
            "cd a && cat ../x",
            "pushd a; popd; sh x.sh",
            "for i in 1 2; do cd a; done; sh x.sh",
            "f() { cd a; }; f; f; sh x.sh",
            "make",
            "make -C scripts",
            "cd scripts && make deploy",
            "find . -name '*.sh' -exec sh {} \\;",
            "find scripts -execdir ./x {} +",
            "ls | xargs sh",
            "cat x.sh | sh",
            "sh < x.sh",
            "sh *.sh",
            "sh \"$F\"",
            "cat $F",
            "python3 x.py",
            "npm test",
            "PATH=.:$PATH ls",
            "BASH_ENV=x bash -c true",
            "env -C scripts sh deploy.sh",
            "sh -s",
            "bash --rcfile x -i",
            "cat < $F",
            "echo 'open",
        ] {
            assert!(NamedFiles::of_line(line).everything, "{line}");
        }
    }

    #[test]
    fn a_plain_line_binds_what_it_names() {
        let named = NamedFiles::of_line("cat a.txt b/c.txt --file=d < e.txt; echo \"$HOME\" *.md");
        assert!(!named.everything);
        for path in ["a.txt", "b/c.txt", "d", "e.txt", "*.md"] {
            assert!(named.paths.contains(path), "{path}");
        }
        let named = NamedFiles::of_line("git commit -m x");
        assert!(named.paths.contains(".git/hooks/*") && !named.everything);
    }

    #[test]
    fn a_script_that_moves_its_caller_binds_everything() {
        let mut named = NamedFiles::of_line(". env.sh; sh x.sh");
        named.add("export A=1\n. more.sh");
        assert!(named.scripts.contains("more.sh") && !named.everything);
        named.add("cd sub");
        assert!(named.everything);
    }
}
