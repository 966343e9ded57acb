//! Command lines and the programs that are found in them.

use super::*;

fn runs(text: &str) -> Vec<String> {
    parse(text).commands.iter().map(Command::text).collect()
}

/// Every program that would start is found, in any notation.
/// Proves MC-24.
#[test]
fn programs_are_found_wherever_they_stand() {
    for (line, expected) in [
        ("ls -la", &["ls -la"][..]),
        ("ls; rm -rf x", &["ls", "rm -rf x"]),
        ("a && b || c & d | e\nf", &["a", "b", "c", "d", "e", "f"]),
        ("(a; { b; })", &["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
        ("for f in x $(a); do b $f; done", &["a", "= f", "b $f"]),
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
            &["env -i X=1 timeout -k 5 9 a", "= X 1", "timeout -k 5 9 a", "a"],
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

/// Encoded text is decoded if that needs no program to run.
#[test]
fn simple_encodings_are_decoded() {
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

/// Unknown syntax is reported as unclear, and no input makes the parser hang or crash.
#[test]
fn dynamic_values_are_unclear() {
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
        "a <($(b<<X\nX))",
        "a <(b <<X\nX\n)",
        "a $(b >(c `d <<X\nX`))",
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

/// Lines that start `rm -rf x`.
const STARTED: &[&str] = &[
    "env '-Srm -rf x'",
    "env -S 'rm -rf' x",
    "env -iS 'rm -rf x'",
    "env --split-string='rm -rf x'",
    "env --split 'rm -rf x'",
    "env -u PATH rm -rf x",
    "env - rm -rf x",
    "env - X=1 rm -rf x",
    "time -- rm -rf x",
    "time -p -- rm -rf x",
    "setarch -R rm -rf x",
    "setarch x86_64 rm -rf x",
    "linux64 rm -rf x",
    "prlimit rm -rf x",
    "prlimit --nofile=5 rm -rf x",
    "runcon x rm -rf x",
    "runcon -t x rm -rf x",
    "chronic rm -rf x",
    "script -qc 'rm -rf x' f",
    "strace -o '|rm -rf x' ls",
    "strace -fo '!rm -rf x' ls",
    "strace --output='|rm -rf x' ls",
    "script --comm='rm -rf x' f",
    "nice -5 rm -rf x",
    "nice --adj 5 rm -rf x",
    "timeout --sig 9 5 rm -rf x",
    "timeout -k5 5 rm -rf x",
    "stdbuf -oL rm -rf x",
    "taskset 1 rm -rf x",
    "setpriv --reuid=0 -- rm -rf x",
    "setpriv --reuid 0 rm -rf x",
    "sudo --unknown 0 rm -rf x",
    "unshare -r rm -rf x",
    "nsenter -t 1 rm -rf x",
    "chroot / rm -rf x",
    "flock f rm -rf x",
    "flock f -c 'rm -rf x'",
    "sudo -u bob rm -rf x",
    "sudo --user bob rm -rf x",
    "doas rm -rf x",
    "su -c 'rm -rf x'",
    "su - bob --comm 'rm -rf x'",
    "runuser -u bob rm -rf x",
    "ssh host rm -rf x",
    "ssh host 'rm -rf x'",
    "watch -n 1 'rm -rf x'",
    "parallel ::: 'rm -rf x'",
    "xargs -a f rm -rf x",
    "xargs --arg f rm -rf x",
    "find . -exec rm -rf x \\;",
    "ip netns exec n rm -rf x",
    "sg staff -c 'rm -rf x'",
    "sg - staff 'rm -rf x'",
    "ssh-agent -t 5 rm -rf x",
    "systemd-inhibit --what=idle rm -rf x",
    "choom -n 5 -- rm -rf x",
    "poetry run rm -rf x",
    "uv run --with y rm -rf x",
    "uv run --no-sync -- rm -rf x",
    "bundle exec sh -c 'rm -rf x'",
    "poetry run -- rm -rf x",
    "uv run rm -rf x --",
    "direnv exec . rm -rf x",
    "aws-vault exec a -- rm -rf x",
    "rustup run stable rm -rf x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf x",
    "busybox rm -rf x",
    "bash -co pipefail 'rm -rf x'",
    "bash -c -o pipefail 'rm -rf x'",
    "bash -o pipefail -ec 'rm -rf x'",
    "tar -I 'rm -rf x' -cf a b",
    "tar --use-comp='rm -rf x' -cf a b",
    "tar --to-comman='rm -rf x' -xf a",
    "tar -cf a --checkpoint-act=exec='rm -rf x' b",
    "tar -F 'rm -rf x' -cf a b",
    "zip -T -TT 'rm -rf x' a b",
    "sort --compress-prog='rm -rf x' a",
    "split --filter='rm -rf x' a",
    "man -P 'rm -rf x' ls",
    "man --pager='rm -rf x' ls",
    "rg --pre 'rm -rf x' a",
    "rsync -e 'rm -rf x' a b:c",
    "git rebase -x 'rm -rf x'",
    "git rebase --ex='rm -rf x'",
    "git bisect run rm -rf x",
    "git submodule foreach 'rm -rf x'",
    "git submodule foreach rm -rf x",
    "git difftool -x 'rm -rf x'",
    "git grep -O'rm -rf x' a",
    "git grep --open='rm -rf x' a",
    "sed '1e rm -rf x' f",
    "sed -e p -e '1e rm -rf x' f",
    "awk 'BEGIN { system(\"rm -rf x\") }'",
    "awk 'BEGIN { print | \"rm -rf x\" }'",
    "vim -c '!rm -rf x' f",
    "vim '+!rm -rf x' f",
    "ed f <<< '!rm -rf x'",
    "echo '!rm -rf x' | ed f",
    "gdb -ex 'shell rm -rf x'",
    "gdb --eval-comm='shell rm -rf x'",
    "sqlite3 f '.shell rm -rf x'",
    "sqlite3 f '.system rm -rf x'",
    "less '+!rm -rf x' f",
    "psql -c '\\! rm -rf x'",
    "trap -- 'rm -rf x' EXIT",
    "mapfile -C 'rm -rf x' y",
    "coproc rm -rf x",
];

/// Programs that other programs start by options or by their own languages.
#[test]
fn programs_started_by_programs_are_found() {
    for line in STARTED {
        let script = parse(line);
        let runs: Vec<_> = script.commands.iter().map(Command::text).collect();
        let is_known = |run: &String| {
            run == "rm -rf x" || run == "/bin/rm -rf x" || run.starts_with("rm -rf x ")
        };
        assert!(runs.iter().any(is_known), "{line}: {runs:?} {:?}", script.unclear);
    }
}

/// Lines that may start any program.
const MAY_START: &[&str] = &[
    "git -C evil status",
    "git --git-dir=evil status",
    "git --git-dir evil status",
    "git --work-tree=evil status",
    "git -c core.fsmonitor=./x status",
    "git -ccore.fsmonitor=./x status",
    "git --exec-path=. status",
    "git --no-pager -C evil status",
    "git frobnicate",
    "git config alias.x '!rm'",
    "git mergetool",
    "git difftool",
    "git log --ext-diff",
    "git clone ext::x y",
    "git clone --upload-pack=./x y z",
    "sed s/x/y/e f",
    "sed 's/x/y/ge;p' f",
    "sed -n '/x/e' f",
    "sed ':a e ls' f",
    "sed 'b a e ls' f",
    "sed 't\te ls' f",
    "sed '/x/{bx w g\n}' f",
    "sed 's/a/b/w f' g",
    "sed -f x f",
    "awk -f x f",
    "awk '{ \"date\" | getline x }' f",
    "awk '{ print > \"f\" }' f",
    "awk '{ print \"}\" > \"f\" }'",
    "awk '{ print \"a;\\\"\" > \"f\" }'",
    "awk '{ print \"a\",\n\"b\" > \"f\" }'",
    "awk '{ print \"a\" \\\n > \"f\" }'",
    "awk '{ print /;/ > \"f\" }'",
    "awk '{ print $1 ~ /[;]/ > \"f\" }'",
    "awk '{ print $1 ~ /[/;]/ > \"f\" }'",
    "awk '{ if ($1) /\"/; print \"}\" > \"f\" }'",
    "gawk -d./f '{ print $1 }' g",
    "gawk --pretty-print=f '{ print $1 }' g",
    "gawk -l ./x f",
    "gawk '@load \"x\"' f",
    "tar cIf 'sh' a b",
    "tar -I",
    "vim f",
    "ex f",
    "ed f",
    "emacs --batch --eval x",
    "gdb ./x",
    "m4 f",
    "sqlite3 f .read\\ x",
    "sqlite3 -init x f",
    "sqlite3 f 'select load_extension(1)'",
    "sqlite3 f <<< .shell",
    "ls > {a,b}",
    "ls > {a,}",
    "ls >& '\\b'",
    "ls >& \\\\b",
    "W[ 1 ]=2 rm x",
    "W[=rm x",
    "su - bob rm x",
    "git init --template=x",
    "ld.so ./x",
    "bash --rcfile x -i",
    "gcc -wrapper x f.c",
    "gcc -B. f.c",
    "pdflatex --shell-escape x",
    "pandoc -F ./x f",
    "curl -K f",
    "curl -sK f https://x",
    "wget -e use_askpass=./x https://x",
    "wget --exec=use_askpass=./x https://x",
    "aria2c --on-download-complete=./x https://x",
    "fd -x ls",
    "fd -Hx ls",
    "ssh -o ProxyCommand=x host ls",
    "socat - exec:x",
    "openssl speed -engine ./x.so",
    "less +v f",
    "less -k f g",
    "env -S '\"rm\" x'",
    "make",
    "hg --config x=y log",
    "x -c 'y' | { sh; }",
];

/// Programs that may start others in an unknown way.
#[test]
fn programs_that_can_start_any_program_are_unclear() {
    for line in MAY_START {
        let script = parse(line);
        let makes = *line == "make";
        assert_eq!(script.unclear.is_none(), makes, "{line}: {script:?}");
    }
}

/// Letters of any length may stand where a command of `sed` should end.
#[test]
fn a_sed_script_with_other_letters_is_unclear() {
    for line in ["sed 'pé' f", "sed -n 's/a/b/中' f", "sed 'y/a/b/ß' f", "sed 'd😀' f"] {
        assert!(parse(line).unclear.is_some(), "{line}");
    }
    assert_eq!(parse("sed 's/é/e/;p' 中").unclear, None);
}

/// Files that options name count as written.
#[test]
fn files_that_options_name_are_written() {
    for line in [
        "sort -o f g",
        "sort -of g",
        "sort -uo f g",
        "sort --output=f g",
        "sort --out f g",
        "shuf -o f g",
        "uniq g f",
        "uniq -c -f 2 g f",
        "uniq - f",
        "xxd g f",
        "xxd -r -ps g f",
        "xxd --len 8 g f",
        "tree -o f",
        "iconv -f latin1 -t utf-8 -o f g",
        "sdiff -so f g h",
        "pandoc g -o f",
        "gpg --output f -d g",
        "openssl enc -in g -out f",
        "strace -o f ls",
        "strace -f -of ls",
        "curl -sSo f https://x",
        "curl -c f https://x",
        "curl --dump-header f https://x",
        "wget -qO f https://x",
        "wget --save-cookies=f https://x",
        "git diff --output=f",
        "git format-patch -o f",
        "find . -fprint f",
        "sed -i s/a/b/ f",
        "sed -i.bak -e s/a/b/ f",
        "sed --in-pl s/a/b/ f",
        "sed -ni p f",
    ] {
        let written = parse(line).commands.iter().any(|command| command.text() == "> f");
        assert!(written, "{line}");
    }
}

/// Files that are only read do not count as written.
#[test]
fn files_that_are_read_are_not_written() {
    for line in [
        "uniq -c f",
        "uniq -f 1 f",
        "uniq f -",
        "xxd f",
        "xxd -l8 f",
        "xxd -ps -l 8 f",
        "iconv -f x -t o f",
    ] {
        let written = parse(line).commands.iter().any(|command| command.name() == Some(">"));
        assert!(!written, "{line}");
    }
}

/// Everyday commands stay clear.
#[test]
fn ordinary_commands_are_clear() {
    for line in [
        "ls -la src | head -20",
        "grep -rn 'fn main' --include='*.rs' .",
        "sed -n '1,40p' f",
        "sed 's/a/b/g' f",
        "sed -E 's#a(b)#\\1#' f",
        "sed -e '/x/d' -e 's/[0-9]+//' f",
        "sed '$d' f",
        "sed ':a;N;$!ba;s/x/ /g' f",
        "sed -e :a -e '$!{N;ba}' -e 's/x/ /g' f",
        "sed ': a ; s/x/y/; t a ; p' f",
        "awk '{ print $1 }' f",
        "awk -F: '$3 > 5 { print $1, $2 }' f",
        "awk 'NR==1 || /x/' f",
        "awk '/[a-z]+;/ { print ($1 + $2) / 2, $3 / 4; n++ } n > 3' f",
        "awk '{ print \">\", $1 } # a > b' f",
        "awk -F/ '{ if ($1 > 2) print $NF }\nEND { print n/2 }' f",
        "git status",
        "git --no-pager log --oneline -5",
        "git diff HEAD~1 -- src",
        "git grep -n foo",
        "find . -name '*.rs' -newer f",
        "tar -czf a.tgz b",
        "tar xzf a.tgz -C b",
        "sort -k2,2n -t, f | uniq -c",
        "sqlite3 f 'select * from t'",
        "sqlite3 f .tables",
        "man ls",
        "echo $((1 + 2))",
        "cat <<X\nhello, it's me\nX",
        "cat <<'X'\n$(not) `run`\nX",
        "for i in 1 2; do echo x; done",
        "echo \"it's $HOME\" # comment's",
        "test -f x && cat x",
        "timeout 5 ls",
        "poetry run pytest -q",
        "uv pip list",
        "less f",
        "split -l 5 f",
        "curl -s --cookie a=b -H 'Accept: text/html' https://x",
        "curl -so /dev/null https://x",
        "sort f | uniq -c -f 1 - -",
        "xxd f",
        "tree -L 2",
        "echo '$(x)'",
    ] {
        assert_eq!(parse(line).unclear, None, "{line}");
    }
}
