//! Places in a command line that could hide the program that starts.

use super::*;

/// The parser extends a tilde prefix over syntax that shells run.
#[test]
fn a_tilde_hides_nothing() {
    for line in [
        "ls ~$(rm -rf x)",
        "ls ~`rm -rf x`",
        "cat ~\"$(rm -rf x)\"",
        "ls ~root$(rm -rf x)",
        "ls ~+$(rm -rf x)",
        "ls ~\"x$(rm -rf x)\"",
        "ls -- ~$(sh -c \"rm -rf x\")",
        "ls ~~$(rm -rf x)",
        "ls ~$(rm -rf x)/y",
        "ls ~/$(rm -rf x)",
        "ls ~x:$(rm -rf x)",
        "X=~$(rm -rf x) ls",
        "ls > ~$(rm -rf x)",
        "ls ${X:-~$(rm -rf x)}",
        "ls {a,~$(rm -rf x)}",
        "for i in ~$(rm -rf x); do ls; done",
        "case ~$(rm -rf x) in *) ls;; esac",
        "case a in ~$(rm -rf x)) ls;; esac",
        "cat <<X\n~$(rm -rf x)\nX",
        "ls ~$(ls /; rm -rf x)",
    ] {
        let script = parse(line);
        let runs: Vec<_> = script.commands.iter().map(Command::text).collect();
        let is_known = runs.iter().any(|run| run == "rm -rf x");
        assert!(is_known || script.unclear.is_some(), "{line}: {runs:?}");
    }
    for line in ["ls ~", "ls ~/x", "ls ~root/x", "ls ~a.b_c-d/x"] {
        assert_eq!(parse(line).unclear, None, "{line}");
    }
}

/// Where a word can appear; `@` is the word.
const CONTEXTS: &[&str] = &[
    "ls @",
    "ls a@b",
    "ls \"@\"",
    "ls \"a @ b\"",
    "ls -@",
    "ls --x=@",
    "ls ~@",
    "ls ~x@y",
    "ls \"~@\"",
    "ls ''@''",
    "ls \\\\@",
    "ls a\\ @",
    "ls {a,@}",
    "ls {@,b}@",
    "ls {1..3}@",
    "ls *@?",
    "ls [@]",
    "ls #@\nls @",
    "ls a#@",
    "X=@ ls",
    "X=a:@ ls",
    "X=~@ ls",
    "X+=@; ls",
    "X[@]=1; ls",
    "X=(@); ls",
    "X=([@]=1); ls",
    "export X=@; ls",
    "ls > @",
    "ls < @",
    "ls 2>>@",
    "ls >| a@",
    "ls <> @",
    "ls >& @",
    "ls &> @",
    "ls <<< @",
    "ls <<< \"@\"",
    "cat <<X\n@\nX",
    "cat <<X\n~@\nX",
    "cat <<X\n# @\nX",
    "cat <<X\n'@'\nX",
    "cat <<X\n\"@\"\nX",
    "cat <<-X\n\t@\n\tX",
    "cat <<'X' <<Y\na\nX\n@\nY",
    "ls ${X:-@}",
    "ls ${X-a@}",
    "ls ${X:=@}",
    "ls ${X:+@}",
    "ls ${X:?@}",
    "ls ${X#@}",
    "ls ${X##@}",
    "ls ${X%@}",
    "ls ${X/@/b}",
    "ls ${X/a/@}",
    "ls ${X//@}",
    "ls ${X^@}",
    "ls ${X,,@}",
    "ls ${X:@}",
    "ls ${X:1:@}",
    "ls ${X[@]}",
    "ls \"${X:-@}\"",
    "ls \"${X:-\"@\"}\"",
    "ls ${X:-~@}",
    "ls ${X:-'a'@}",
    "ls $((@))",
    "ls $((1 + @))",
    "ls \"$((@))\"",
    "ls $[@]",
    "ls $(echo @)",
    "ls $(echo \"@\")",
    "ls \"$(echo \"@\")\"",
    "ls $(ls # x\n@)",
    "(ls @)",
    "{ ls @; }",
    "ls & ls @",
    "ls | ls @",
    "ls && ls @",
    "! ls @",
    "if ls @; then ls; fi",
    "if ls; then ls; elif ls @; then ls; fi",
    "while ls @; do break; done",
    "for i in @; do ls; done",
    "for i in a @ b\ndo ls; done",
    "case @ in a) ls;; esac",
    "case a in @) ls;; esac",
    "case a in b|@) ls;; esac",
    "case a in (a) ls @;; esac",
    "f() { ls @; }; f",
    "f() { ls; } > @; f",
    "[[ a == @ ]]",
    "[[ -f @ ]]",
    "[ a = @ ]",
    "((@))",
    "for ((i=@;;)); do ls; done",
    "time ls @",
    "coproc ls @",
    "select i in @; do ls; done",
    "ls;@",
    "@",
    "@ls",
    "eval ls @",
    "sh -c \"ls @\"",
    "env ls @",
    "ls\\\n@",
    "ls \\\n@",
];

/// Syntax that starts a program within a word, or sets a variable.
const STARTS: &[&str] = &[
    "$(zap)",
    "$( zap)",
    "$(zap;)",
    "$(ls; zap)",
    "$(ls|zap)",
    "$((zap) )",
    "$({ zap; })",
    "$(<x zap)",
    "$(zap 'a)b')",
    "$(zap \"a)b\")",
    "$(case a in a) zap;; esac)",
    "$(case a in (a) zap;; esac)",
    "$(zap # )\n)",
    "$(zap <<X\n)\nX\n)",
    "$(\nzap\n)",
    "$(zap $(ls))",
    "$(ls $(zap))",
    "\"$(zap)\"",
    "`zap`",
    "\"`zap`\"",
    "`ls \\`zap\\``",
    "`ls $(zap)`",
    "$(ls `zap`)",
    "~$(zap)",
    "~`zap`",
    "$\"$(zap)\"",
    "${Z:-$(zap)}",
    "${Z:-`zap`}",
    "\"${Z:-$(zap)}\"",
    "${Z:-${Y:-$(zap)}}",
    "${Z:-\"$(zap)\"}",
    "${Z:-'a'$(zap)}",
    "\"${Z:-'$(zap)'}\"",
    "\"${Z:-'a' '`zap`'}\"",
    "\"a ${Z:='$(zap)'}\"",
    "\"${Z:+'${Y:-$(zap)}'}\"",
    "\"${Z#'$(zap)'}\"",
    "${Z/a/$(zap)}",
    "${Z[$(zap)]}",
    "$((1+$(zap)))",
    "$((1+`zap`))",
    "$(($(zap)))",
    "$((a[$(zap)]))",
    "$[$(zap)]",
    "<(zap)",
    ">(zap)",
    "a<(zap)",
    "${Z:=$(zap)}",
    "$((zap=1))",
    "$((zap++))",
    "$((--zap))",
    "$((1,zap+=1))",
    "$((a?zap=1:2))",
    "${zap:=1}",
    "${zap=1}",
    "\"${zap:=1}\"",
    "\"$((zap=1))\"",
    "${Z:$((zap=1))}",
    "${Z:zap=1}",
    "${Z[zap=1]}",
    "$[zap=1]",
];

/// A program that starts, or a variable that is set, outside single quotes is found in every
/// context, or the line is unclear.
#[test]
fn no_place_hides_what_starts_there() {
    for context in CONTEXTS {
        for start in STARTS {
            // Within quotes, some syntax is not special, and quotes end the quoted text.
            let quotes = ["\"@", "\"a @", "\"~@", "<<X", "<<-X", "<<Y"];
            let is_substitution = start.contains("(zap)") && start.contains(['<', '>']);
            let is_text = is_substitution && quotes.iter().any(|quote| context.contains(quote));
            let swaps = start.starts_with('"') && start.contains('\'') && context.contains('"');
            if is_text || swaps {
                continue;
            }
            let line = context.replace('@', start);
            let script = parse(&line);
            let names = |command: &Command| {
                command.words.first().is_some_and(|word| word.text == "zap")
                    || command.text().starts_with("= zap")
            };
            assert!(script.unclear.is_some() || script.commands.iter().any(names), "{line}");
        }
    }
}
