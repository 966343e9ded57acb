//! Your own tool, and what the model is told of it.

use countersign::tools::custom::{Tool as _, tool};
use std::io::Write as _;

/// Returns the factorial of a number.
#[tool]
fn factorial(
    /// From 0 to 20
    n: u64,
) -> Result<u64, &'static str> {
    (1..=n).try_fold(1, u64::checked_mul).ok_or("the maximum is 20")
}

fn main() -> std::io::Result<()> {
    let spec = Factorial.spec();
    writeln!(std::io::stdout(), "{}: {}\n{:#}", spec.name, spec.description, spec.parameters)
}
