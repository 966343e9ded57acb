//! Your own tool, and what the model is told of it.

use countersign::tools::custom::{Tool as _, tool};
use std::io::Write as _;

/// Multiplies the whole numbers from 1 up to one.
#[tool]
fn factorial(
    /// From 0 to 20
    n: u64,
) -> Result<u64, &'static str> {
    (1..=n).try_fold(1, u64::checked_mul).ok_or("That has too many digits: 20 is the most.")
}

fn main() -> std::io::Result<()> {
    let spec = Factorial.spec();
    writeln!(std::io::stdout(), "{}: {}\n{:#}", spec.name, spec.description, spec.parameters)
}
