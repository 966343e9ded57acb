//! Options as the programs' own parsers read them: clustered (`-qc X`), attached (`-cX`,
//! `--command=X`) and abbreviated (`--comm X`).

use super::command::Word;

/// The options of one program that matter here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Options {
    pub short: &'static str,
    pub long: &'static [&'static str],
    /// Long options with one hyphen, which are not clusters: `-ex`.
    pub words: &'static [&'static str],
    /// Other short options with a value: the rest of a cluster after one is not an option.
    pub valued: &'static str,
}

impl Options {
    /// The values of these options among the arguments; `None` for one without a value.
    pub fn values(&self, arguments: &[Word]) -> Vec<Option<Word>> {
        let arguments = arguments.split(|word| word.text == "--").next().unwrap_or_default();
        let found = arguments.iter().enumerate().filter_map(|(place, word)| {
            match self.find_in(&word.text) {
                OptionMatch::Other => None,
                OptionMatch::Attached(text) => Some(Some(Word { text, sure: word.sure })),
                OptionMatch::Alone => Some(arguments.get(place + 1).cloned()),
            }
        });
        found.collect()
    }

    pub fn are_in(&self, arguments: &[Word]) -> bool {
        !self.values(arguments).is_empty()
    }

    fn find_in(&self, text: &str) -> OptionMatch {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, OptionMatch::Attached(value.to_owned())),
            None => (text, OptionMatch::Alone),
        };
        if self.words.contains(&name) {
            return value;
        }
        if let Some(name) = name.strip_prefix("--") {
            let is_known = !name.is_empty() && self.long.iter().any(|long| long.starts_with(name));
            return if is_known { value } else { OptionMatch::Other };
        }
        let cluster = text.strip_prefix('-').unwrap_or_default();
        let takes_value = |c: char| self.short.contains(c) || self.valued.contains(c);
        let Some(place) = cluster.find(takes_value) else { return OptionMatch::Other };
        let mut rest = cluster[place..].chars();
        match rest.next() {
            Some(c) if !self.short.contains(c) => OptionMatch::Other,
            _ if rest.as_str().is_empty() => OptionMatch::Alone,
            _ => OptionMatch::Attached(rest.as_str().to_owned()),
        }
    }
}

/// The role of an argument for a set of options.
enum OptionMatch {
    Other,
    /// One of them, with its value in the same argument.
    Attached(String),
    /// One of them; its value, if it takes one, is the next argument.
    Alone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_in_every_form() {
        let options = Options { short: "c", long: &["command"], words: &["-ex"], valued: "f" };
        let values = |line: &str| {
            let words: Vec<_> = line.split(' ').map(Word::sure).collect();
            let values = options.values(&words);
            values.into_iter().map(|value| value.map_or("-".into(), |w| w.text)).collect::<Vec<_>>()
        };
        for (line, expected) in [
            ("-c x", &["x"][..]),
            ("-cx", &["x"]),
            ("-qc x", &["x"]),
            ("-qcx", &["x"]),
            ("--command x", &["x"]),
            ("--command=x", &["x"]),
            ("--com=x", &["x"]),
            ("--c x", &["x"]),
            ("-ex x -ex y", &["x", "y"]),
            ("-ex=x", &["x"]),
            ("-c", &["-"]),
            ("-fc x", &[]),
            ("-f -- -c x", &[]),
            ("--comments x", &[]),
            ("c x", &[]),
        ] {
            assert_eq!(values(line), expected, "{line}");
        }
    }
}
