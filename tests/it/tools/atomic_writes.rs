//! A write into a workspace that is interrupted, as by a power failure.

use countersign::testing::tools::workspace::Workspace;
use std::{env, fs, path::Path, process::Command};
use tokio_util::sync::CancellationToken;

/// The folder in which the process that dies writes.
const FOLDER: &str = "COUNTERSIGN_TEST_WORKSPACE";
const NEW: &[u8] = &[b'n'; 100_000];

fn write(folder: &Path) -> bool {
    let workspace = Workspace::open(folder).unwrap();
    workspace.replace("a.txt", NEW, &CancellationToken::new()).is_ok()
}

/// The process dies after writing the new content and before the rename: the file is unchanged and
/// can be written again.
/// Proves FO-29.
#[test]
fn a_write_that_dies_before_its_end_leaves_the_old_file() {
    if let Ok(folder) = env::var(FOLDER) {
        write(Path::new(&folder));
        unreachable!("it dies before");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    fs::write(&file, "old").unwrap();
    let died = Command::new(env::current_exe().unwrap())
        .arg("--exact")
        .arg("tools::atomic_writes::a_write_that_dies_before_its_end_leaves_the_old_file")
        .env(FOLDER, folder.path())
        .env("COUNTERSIGN_CRASH_AT", "file/before rename#1")
        .output()
        .unwrap();
    assert!(!died.status.success(), "it was to die");
    let said = [died.stdout, died.stderr].concat();
    assert!(!String::from_utf8_lossy(&said).contains("unreachable"), "it died elsewhere");
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half of it lies beside it");
    assert!(write(folder.path()));
    assert_eq!(fs::read(&file).unwrap(), NEW);
}
