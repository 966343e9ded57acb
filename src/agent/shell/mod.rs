//! A shell command line as the programs that it would start, so that rules judge what runs and
//! not how it is written.
//!
//! Every program counts: of pipelines, lists, subshells, functions, substitutions, here-documents,
//! and what `sh -c`, `sudo`, `xargs`, `find -exec` and their like start ([`inner`]).
//! What a program does besides is told as a command of its own, so that no leave for the program
//! covers it: `> FILE` writes, `< /dev/tcp/…` connects, `= NAME` sets a variable, `| NAME` is an
//! interpreter that runs what comes from elsewhere, `function NAME --calls-itself` never ends.
//!
//! What is not known before it runs is guessed, and marked: a guess can forbid, never allow.

mod command;
mod inner;
mod walk;
mod words;

pub use command::{Command, Script, Word};
use walk::Walk;

/// What the command line would do.
pub fn parse(text: &str) -> Script {
    let mut walk = Walk::default();
    walk.script(text);
    walk.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Vec<String> {
        parse(text).commands.iter().map(Command::text).collect()
    }

    /// MC-24: every program that would start is seen, however it is written.
    #[test]
    fn programs_are_found_wherever_they_stand() {
        for (line, expected) in [
            ("ls -la", &["ls -la"][..]),
            ("ls; rm -rf x", &["ls", "rm -rf x"]),
            ("a && b || c & d | e\nf", &["a", "b", "c", "d", "e", "f"]),
            ("(a; { b; })", &["a", "b"]),
            ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
            ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
            ("for f in x $(a); do b $f; done", &["a", "b $f"]),
            ("case $(a) in x) b;; *) c;; esac", &["a", "b", "c"]),
            ("echo \"$(a `b`)\"", &["b", "a $(…)", "echo $(…)"]),
            ("echo $((1 + $(a)))", &["a", "echo 0"]),
            ("echo ${x:-$(a)}", &["a", "echo $(…)"]),
            ("a <(b) > c", &["b", "> c", "a $(…)"]),
            ("a &> c 2>&1 > /dev/null", &["> c", "a"]),
            ("X=1 Y=$(a) b", &["= X 1", "a", "= Y $(…)", "b"]),
            ("sh -c 'a; b'", &["sh -c 'a; b'", "a", "b"]),
            ("bash -lc \"a 'b c'\"", &["bash -lc 'a '\\''b c'\\'''", "a 'b c'"]),
            ("sudo -u bob -E a b", &["sudo -u bob -E a b", "a b"]),
            (
                "env -i X=1 timeout -k 5 9 a",
                &["env -i X=1 timeout -k 5 9 a", "timeout -k 5 9 a", "a"],
            ),
            (
                "find . -name x -exec a {} \\; -exec b {} +",
                &["find . -name x -exec a {} ';' -exec b {} +", "a {}", "b {}"],
            ),
            ("ls | xargs -n 1 -I{} a {}", &["ls", "xargs -n 1 -I{} a {}", "a $(…) $(…)"]),
            ("eval \"a; b\"", &["eval 'a; b'", "a", "b"]),
            ("cat <<X\n$(a)\nX", &["a", "cat"]),
            ("sh <<'X'\na\nX", &["sh", "| sh", "a"]),
            ("sh <<< a", &["sh", "| sh", "a"]),
            ("f() { a; }; f", &["a", "f"]),
            ("r''m \"-r\"f \\x", &["rm -rf x"]),
            ("{rm,-rf,/}", &["rm -rf /"]),
            ("X=rm; $X -rf /", &["= X rm", "rm -rf /"]),
            ("rm${IFS}-rf${IFS}/", &["rm -rf /"]),
            ("# a\nb # c\n", &["b"]),
            ("a \\\n b", &["a b"]),
        ] {
            assert_eq!(runs(line), expected, "{line}");
        }
    }

    /// What stands encoded is decoded, where that needs no program to be run.
    #[test]
    fn what_is_simply_encoded_is_decoded() {
        for line in [
            "$(echo rm) -rf /",
            "`printf 'rm -rf /'`",
            "echo cm0gLXJmIC8= | base64 -d | sh",
            "eval \"$(echo cm0gLXJmIC8= | base64 --decode)\"",
            "bash -c \"$(echo cm0gLXJmIC8= | base64 -d)\"",
            "sh <<< $(printf '\\x72\\x6d -rf /')",
            "echo 726d202d7266202f | xxd -r -p | bash",
            "echo '/ fr- mr' | rev | sh",
            "echo / | xargs rm -rf",
            "$'\\x72\\155' -rf /",
        ] {
            let runs = runs(line);
            assert!(runs.iter().any(|run| run == "rm -rf /"), "{line}: {runs:?}");
        }
    }

    /// What is not known is said to be so; nothing makes the parser hang or break down.
    #[test]
    fn what_cannot_be_known_is_unclear() {
        let deep = |open: &str, close: &str| format!("{}a{}", open.repeat(200), close.repeat(200));
        for line in [
            "$X y",
            "\"$(a)\"",
            "sh -c \"$X\"",
            "echo 'open",
            "a | { sh; }",
            "[[ -f x && rm y ]]",
            "((rm x))",
            "echo $'\\'; rm x #'",
            "ls)",
            &"a;".repeat(600),
            &"x".repeat(20_000),
            &deep("(", ")"),
            &deep("$(", ")"),
            &deep("{ ", "; }"),
            &deep("((", "))"),
            &deep("\"${x:-", "}\""),
            &"if ".repeat(3_000),
            &"! ".repeat(5_000),
            &"`".repeat(3_001),
        ] {
            let shown: String = line.chars().take(40).collect();
            assert!(parse(line).unclear.is_some(), "{shown}");
        }
    }

    #[test]
    fn a_guess_is_marked() {
        for line in ["ls $HOME", "ls *", "ls -*", "ls `a`", "ls {a,$b}", "find . $X"] {
            let script = parse(line);
            let last = script.commands.last().unwrap();
            assert!(!last.is_sure(), "{line}");
        }
        for line in ["ls src/*.rs", "ls 'a $b'", "ls \"*\"", "ls {a,b}", "ls ~"] {
            assert!(parse(line).commands.iter().all(Command::is_sure), "{line}");
        }
    }

    #[test]
    fn a_program_from_elsewhere_has_another_name() {
        let own = |line: &str| parse(line).commands[0].own_name().map(str::to_owned);
        assert_eq!(own("/bin/ls -l").as_deref(), Some("ls"));
        assert_eq!(own("./ls -l"), None);
        assert_eq!(parse("/tmp/x/rm a").commands[0].name(), Some("rm"));
    }
}
