//! Parses arithmetic expressions: which variables they set, and whether they can start programs.
//!
//! bash evaluates the value of a variable as an expression again, and runs `$(…)` in a subscript.
//! An expression is therefore clear only if every value in it is a number.

use super::{
    command::{Command, Word},
    state::Walk,
};
use crate::texts::UnclearReason;

impl Walk {
    /// Follows an expression: `$((…))`, `((…))`, a subscript, an offset.
    pub(super) fn arithmetic(&mut self, expression: &str) {
        self.inside(expression);
        let parts = parts(expression);
        if !is_plain(expression)
            || parts.windows(2).any(|two| two[0].is_operand && two[1].is_operand)
        {
            self.doubt(UnclearReason::Variable);
        }
        let names: Vec<_> =
            parts.iter().filter(|part| part.is_name()).map(|part| part.text).collect();
        if assigns(expression) {
            if names.is_empty() {
                self.doubt(UnclearReason::Variable);
            }
            for name in names {
                self.sets(name, None);
            }
            return;
        }
        for name in names {
            // A variable that the script has not set comes from the environment.
            let is_number = |value: &String| value.parse::<i64>().is_ok();
            if let Some(value) = self.variables.get(name)
                && !value.as_ref().is_some_and(is_number)
            {
                self.doubt(UnclearReason::Variable);
            }
        }
    }

    /// Records that a variable is set, which may change which programs run.
    pub(super) fn sets(&mut self, name: &str, value: Option<&Word>) {
        let words = [Word::sure("="), Word::sure(name)].into_iter().chain(value.cloned());
        self.push(Command { words: words.collect() });
        let plain = name.split('[').next().unwrap_or(name);
        self.variables.insert(plain.to_owned(), None);
    }
}

struct Part<'a> {
    text: &'a str,
    is_operand: bool,
}

impl Part<'_> {
    fn is_name(&self) -> bool {
        self.is_operand && !self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// Names and numbers, and everything between them except spaces.
fn parts(expression: &str) -> Vec<Part<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '@' || c == '#';
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_operand = is_word(first);
        let end = rest.find(|c: char| is_word(c) != is_operand || c.is_whitespace());
        let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(Part { text, is_operand });
        rest = after.trim_start();
    }
    parts
}

/// Numbers, names and operators, with balanced brackets.
fn is_plain(expression: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || " \t\n_+-*/%()<>=!&|^~?:,$@#".contains(c);
    let mut open = 0_i32;
    let paired = expression.chars().all(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open >= 0
    });
    let values = expression.match_indices('$').all(|(at, _)| {
        let name = expression[at + 1..].chars().next();
        name.is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '#')
    });
    paired && open == 0 && values && expression.chars().all(known)
}

/// Whether it contains `=`, `+=`, `<<=`, `++` or similar.
fn assigns(expression: &str) -> bool {
    let text: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.replace("<<=", "=").replace(">>=", "=");
    let compares = ["==", "!=", "<=", ">="];
    let rest = compares.iter().fold(text, |text, compares| text.replace(compares, " "));
    rest.contains('=') || rest.contains("++") || rest.contains("--")
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};

    fn sets(line: &str) -> Vec<String> {
        let commands = parse(line).commands;
        commands.iter().map(Command::text).filter(|text| text.starts_with("= ")).collect()
    }

    /// `$((PATH=0))` sets a variable wherever an expression is allowed.
    #[test]
    fn a_variable_that_arithmetic_sets_is_seen() {
        for line in [
            "ls $((PATH=0))",
            "case $((PATH=0)) in *) ls;; esac",
            "cat <<X\n$((PATH=0))\nX\nls",
            "ls $(( PATH += 1 ))",
            "ls $((PATH++))",
            "ls $((--PATH))",
            "ls $((PATH<<=1))",
            "ls $((1, PATH |= 2))",
            "ls $(( (PATH) = 1 ))",
            "ls \"$((PATH=0))\"",
            "ls ${x:$((PATH=0))}",
            "ls ${x:PATH=0}",
            "ls ${x:0:PATH=0}",
            "ls ${x[PATH=0]}",
            "x[PATH=0]=1; ls",
            "x=([PATH=0]=1); ls",
            "> $((PATH=0)); ls",
            "((PATH=0)); ls",
            "let PATH=0; ls",
            "let 'PATH = 0'; ls",
        ] {
            assert!(
                sets(line).iter().any(|set| set.starts_with("= PATH")),
                "{line}: {:?}",
                sets(line)
            );
        }
        for line in ["ls $((1 == 2))", "ls $((a <= 2 && b != 3))", "ls $((COLUMNS - 1))"] {
            assert_eq!(sets(line), Vec::<String>::new());
            assert_eq!(parse(line).unclear, None, "{line}");
        }
    }

    /// A value that is evaluated again may run any program.
    #[test]
    fn an_expression_of_unknown_values_is_doubtful() {
        for line in [
            "x='a[$(rm y)]'; ls $((x))",
            "read x; ls $((x + 1))",
            "for x in 'a[$(rm y)]'; do ls $((x)); done",
            "ls $(($1))",
            "ls $(($(cat y)))",
            "ls $((`cat y`))",
            "ls $((P\"AT\"H=0))",
            "ls $((rm x))",
            "ls $((${x}))",
            "ls $((a[1]))",
            "for ((PATH=0;;)); do ls; done",
            "ls ${!x}",
            "ls ${x@P}",
        ] {
            assert!(parse(line).unclear.is_some(), "{line}");
        }
        assert_eq!(parse("x=3; ls $((x * 2))").unclear, None);
    }
}
