//! The program under test, and its sandbox.

use sandbox::Sandbox;
use std::path::Path;

/// The path of the program.
pub const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// The sandbox of this machine. Its absence is a failure, not a reason to skip.
pub async fn sandbox() -> Sandbox {
    let sandbox = Sandbox::probe(Path::new(BINARY)).await;
    assert_eq!(sandbox.missing(), None, "tests/run installs bubblewrap");
    sandbox
}
