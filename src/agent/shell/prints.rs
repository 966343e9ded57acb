//! Computes the output of simple programs, so that a script that they print can be parsed.

use base64::Engine as _;

use super::{command::Word, state::Input, words::unescaped};

/// The output of `echo`, `printf` and decoders.
pub(super) fn prints(name: &str, words: &[Word], input: &Input) -> Option<String> {
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
