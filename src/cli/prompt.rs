//! Questions in the terminal, or answers from a pipe, one line each.

use anyhow::{Context as _, Result, bail};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// How often an invalid answer may be corrected.
const TRIES: usize = 5;

/// Asks for a line. An empty answer means the default.
pub(super) fn line(label: &str, default: &str) -> Result<String> {
    let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
    ask(&format!("{label}{shown}: "))?;
    let answer = read()?;
    Ok(if answer.is_empty() { default.to_owned() } else { answer })
}

/// Asks for a value that is not shown while it is typed.
pub(super) fn secret(label: &str) -> Result<String> {
    let label = format!("{label} (not shown): ");
    let typed = if io::stdin().is_terminal() {
        rpassword::prompt_password(label).context("reading from the terminal")?
    } else {
        ask(&label)?;
        read()?
    };
    Ok(typed.trim().to_owned())
}

/// Asks for one of the options by its number. An empty answer means the first. Returns the index.
pub(super) fn choice(label: &str, options: &[&str]) -> Result<usize> {
    let list = options.iter().zip(1..).map(|(option, number)| format!("  {number}  {option}\n"));
    ask(&format!("\n{label}\n{}", list.collect::<String>()))?;
    for _ in 0..TRIES {
        let number = line("Choose", "1")?;
        match number.parse::<usize>() {
            Ok(number) if (1..=options.len()).contains(&number) => return Ok(number - 1),
            _ => ask(&format!("Enter a number from 1 to {}.\n", options.len()))?,
        }
    }
    bail!("no valid answer after {TRIES} tries")
}

fn ask(text: &str) -> Result<()> {
    let mut output = io::stdout();
    write!(output, "{text}").and_then(|()| output.flush()).context("writing to the terminal")
}

fn read() -> Result<String> {
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line).context("reading the answer")?;
    anyhow::ensure!(length > 0, "the input ended before all questions were answered");
    Ok(line.trim().to_owned())
}
