//! Files that programs write to without an option that says so.

use super::{command::Word, languages::operands, options::Options, state::Walk};

/// Follows the outputs of a program that other modules do not know.
pub(super) fn follow(walk: &mut Walk, name: &str, words: &[Word]) {
    match name {
        "uniq" => writes_second(walk, &operands(words, "fsw")),
        "xxd" => writes_second(walk, &xxd_operands(words)),
        "strace" => traces(walk, words),
        _ => {}
    }
}

/// The second operand is the file that is written; a hyphen is standard output.
fn writes_second(walk: &mut Walk, operands: &[&Word]) {
    if let Some(file) = operands.get(1).filter(|file| !file.sure || file.text != "-") {
        walk.writes((*file).clone());
    }
}

/// `xxd` has no clusters of options.
fn xxd_operands(words: &[Word]) -> Vec<&Word> {
    let valued = [
        "-c",
        "-cols",
        "-g",
        "-group",
        "-groupsize",
        "-l",
        "-len",
        "-n",
        "-name",
        "-o",
        "-offset",
        "-s",
        "-seek",
        "-skip",
        "-R",
    ];
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let option = text.strip_prefix('-').filter(|long| long.len() > 1 && long.starts_with('-'));
        if valued.contains(&option.unwrap_or(text)) {
            rest.next();
        } else if text == "-" || !text.starts_with('-') {
            found.push(word);
        }
    }
    found
}

/// A trace goes to a file or, after a mark, to a command.
fn traces(walk: &mut Walk, words: &[Word]) {
    let targets =
        Options { short: "o", long: &["output"], valued: "abeEIOpPsSuUX", ..Options::default() };
    for target in targets.values(words).into_iter().flatten() {
        match target.text.strip_prefix(['|', '!']) {
            Some(script) => walk.runs("sh", &Word { text: script.to_owned(), sure: target.sure }),
            None => walk.writes(target),
        }
    }
}
