//! Replaces a file, so that it is never incomplete and no other user can read it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Writes the whole file and replaces the previous one. The new file is beside it until then; its
/// name ends with `.new-` and a random number.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension(format!("new-{}", uuid::Uuid::new_v4().simple()));
    let written = write_through(&new, bytes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // Best effort: the first error is returned.
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_through(new: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(new)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_is_replaced_and_private_and_a_failed_write_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.json");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::create_dir(home.path().join("folder")).unwrap();
        assert!(replace(&home.path().join("folder"), b"x").is_err());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }
}
