//! The files of one conversation: opened relative to its folder, without following links; only
//! regular files.
//!
//! Every component of a path is opened relative to the previous one and never through a symbolic
//! link. Checks apply to the descriptor that is then used, so concurrent renames or links cannot
//! lead outside.
//!
//! - [`confined_reader`]: reads documents in the sandbox
//! - [`file_binding`]: the files that an approval is bound to
//! - [`file_names`]: names and media types of files for people

pub mod confined_reader;
pub mod file_binding;
pub mod file_names;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, MetadataExt as _, OpenOptions, Permissions},
};
use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

use super::{Context, ToolError, contract::blocking};
use crate::{agent::paths::normalise, crash};

/// The folder of a conversation.
pub struct Workspace {
    root: Dir,
}

/// An open regular file with no further hard links.
pub struct RegularFile {
    pub file: File,
    pub size_bytes: u64,
    pub permissions: Permissions,
}

impl Workspace {
    /// Opens the folder, which is created on first use.
    pub fn open(root: &Path) -> Result<Self, ToolError> {
        // Files that people give to the agent must not be readable by other users.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .and_then(|()| Dir::open_ambient_dir(root, ambient_authority()))
            .map(|root| Self { root })
            .map_err(|error| failed("The workspace cannot be opened", &error))
    }

    pub(super) fn root(&self) -> &Dir {
        &self.root
    }

    /// Opens a file for reading.
    pub fn file(&self, path: &str) -> Result<RegularFile, ToolError> {
        let path = normalise(path)?;
        let (folder, name) = split(&path);
        let folder = self.descend(folder, &path, open_folder)?;
        regular(&folder, name, &path)
    }

    /// The contents of a file of at most `limit_bytes`.
    pub fn bytes(&self, path: &str, limit_bytes: u64) -> Result<Vec<u8>, ToolError> {
        let open = self.file(path)?;
        let mut bytes = Vec::with_capacity(open.size_bytes.min(limit_bytes) as usize);
        // One byte more, because the file may grow while it is read.
        open.file
            .take(limit_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(&format!("{path} cannot be read"), &error))?;
        if bytes.len() as u64 > limit_bytes {
            return Err(ToolError::ExecutionFailed(format!(
                "{path} is too large: {} bytes; the limit is {limit_bytes}",
                open.size_bytes.max(limit_bytes + 1)
            )));
        }
        Ok(bytes)
    }

    /// Opens a folder for listing.
    pub fn folder(&self, path: &str) -> Result<Dir, ToolError> {
        let path = normalise(path)?;
        self.descend(&path, &path, open_folder)
    }

    /// Replaces the contents of a file atomically. Creates missing folders; an existing file keeps
    /// its mode.
    pub fn replace(
        &self,
        path: &str,
        bytes: &[u8],
        cancelled: &CancellationToken,
    ) -> Result<(), ToolError> {
        let path = normalise(path)?;
        let (folder, name) = split(&path);
        let folder = self.descend(folder, &path, open_or_make_folder)?;
        let permissions = match folder.symlink_metadata(name) {
            Ok(_) => Some(regular(&folder, name, &path)?.permissions),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&format!("{path} cannot be written"), &error)),
        };
        let temporary = format!(".{}.tmp", uuid::Uuid::new_v4().simple());
        let written = write_new(&folder, &temporary, bytes, permissions).and_then(|()| {
            if cancelled.is_cancelled() {
                return Err(io::Error::other("stopped"));
            }
            sweep(&folder, &temporary);
            crash::point("file", "before rename");
            folder.rename(&temporary, &folder, name)
        });
        if written.is_err() {
            // Best effort: the original file is unchanged.
            let _ = folder.remove_file(&temporary);
        }
        written
            .and_then(|()| folder.open(".")?.sync_all())
            .map_err(|error| failed(&format!("{path} cannot be written"), &error))
    }

    /// Opens the folders one after the other. `path` is used in error messages.
    fn descend(
        &self,
        folders: &str,
        path: &str,
        step: impl Fn(&Dir, &str, &str) -> Result<Dir, ToolError>,
    ) -> Result<Dir, ToolError> {
        let start =
            self.root.try_clone().map_err(|error| failed("The workspace is unreadable", &error))?;
        folders
            .split('/')
            .filter(|part| *part != ".")
            .try_fold(start, |folder, part| step(&folder, part, path))
    }
}

/// Runs blocking file operations. Dropping the future cancels them through the token.
pub async fn beneath<T: Send + 'static>(
    context: &Context,
    work: impl FnOnce(&Workspace, &CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let root = context.workspace.clone();
    let cancelled = context.cancelled.child_token();
    let _stop_when_dropped = cancelled.clone().drop_guard();
    blocking(move || work(&Workspace::open(&root)?, &cancelled)).await?
}

/// The folder and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

fn regular(folder: &Dir, name: &str, path: &str) -> Result<RegularFile, ToolError> {
    if name == "." {
        return Err(is_a_folder(path));
    }
    let mut options = OpenOptions::new();
    // Non-blocking, because opening a FIFO would block until somebody writes.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file =
        folder.open_with(name, &options).map_err(|error| why_not(folder, name, path, &error))?;
    let metadata =
        file.metadata().map_err(|error| failed(&format!("{path} cannot be read"), &error))?;
    if metadata.is_dir() {
        return Err(is_a_folder(path));
    }
    if !metadata.is_file() || metadata.nlink() > 1 {
        return Err(not_allowed(path));
    }
    Ok(RegularFile { file, size_bytes: metadata.len(), permissions: metadata.permissions() })
}

fn open_folder(folder: &Dir, name: &str, path: &str) -> Result<Dir, ToolError> {
    folder.open_dir_nofollow(name).map_err(|error| why_not(folder, name, path, &error))
}

fn open_or_make_folder(folder: &Dir, name: &str, path: &str) -> Result<Dir, ToolError> {
    match folder.create_dir(name) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(failed(&format!("The folder {name} of {path} cannot be made"), &error))
        }
        _ => open_folder(folder, name, path),
    }
}

fn write_new(
    folder: &Dir,
    name: &str,
    bytes: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<()> {
    let mut file = folder.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// Temporary files of processes that died are removed after this time.
const LEFT_BEHIND_FOR: Duration = Duration::from_hours(1);

/// Removes temporary files that processes left in this folder when they died during a write. Their
/// age is measured against the file that was just written. Best effort: the next write tries again.
fn sweep(folder: &Dir, newest: &str) {
    let modified = |name: &str| folder.symlink_metadata(name).and_then(|there| there.modified());
    let (Ok(entries), Ok(now)) = (folder.entries(), modified(newest)) else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| is_temporary(name)) {
        let age = modified(&name).and_then(|at| now.duration_since(at).map_err(io::Error::other));
        if age.is_ok_and(|age| age > LEFT_BEHIND_FOR) {
            let _ = folder.remove_file(&name);
        }
    }
}

/// `.<32 hexadecimal digits>.tmp`
fn is_temporary(name: &str) -> bool {
    let id = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".tmp"));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Explains why something cannot be opened, based on the type of the file at its path.
fn why_not(folder: &Dir, name: &str, path: &str, error: &io::Error) -> ToolError {
    match folder.symlink_metadata(name) {
        Ok(there) if there.is_symlink() => not_allowed(path),
        Ok(there) if there.is_file() && error.kind() == ErrorKind::NotADirectory => {
            ToolError::ExecutionFailed(format!(
                "{path} does not exist: {name} is a file, not a folder"
            ))
        }
        Ok(there) if !there.is_file() && !there.is_dir() => not_allowed(path),
        Err(missing) if missing.kind() == ErrorKind::NotFound => {
            ToolError::NotFound(format!("{path}. list_dir shows the files"))
        }
        _ => failed(&format!("{path} cannot be opened"), error),
    }
}

fn not_allowed(path: &str) -> ToolError {
    ToolError::ExecutionFailed(format!("Path not allowed: {path}"))
}

fn is_a_folder(path: &str) -> ToolError {
    ToolError::ExecutionFailed(format!("{path} is a folder: list_dir shows its contents"))
}

fn failed(what: &str, error: &io::Error) -> ToolError {
    ToolError::ExecutionFailed(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    fn place() -> (tempfile::TempDir, Workspace) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("work");
        let workspace = Workspace::open(&root).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        (outer, workspace)
    }

    fn words(result: Result<impl Sized, ToolError>) -> String {
        result.map(drop).unwrap_err().to_string()
    }

    /// Proves FO-28.
    #[test]
    fn no_link_leads_anywhere() {
        let (outer, workspace) = place();
        let root = outer.path().join("work");
        fs::create_dir(root.join("inside")).unwrap();
        fs::write(root.join("inside/a.txt"), "a").unwrap();
        symlink(outer.path(), root.join("out")).unwrap();
        symlink(outer.path().join("secret"), root.join("leak")).unwrap();
        symlink("inside", root.join("alias")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        for path in ["out/secret", "leak", "alias/a.txt", "dangling"] {
            assert_eq!(words(workspace.file(path)), format!("Path not allowed: {path}"));
            let written = workspace.replace(path, b"x", &CancellationToken::new());
            assert_eq!(words(written), format!("Path not allowed: {path}"));
        }
        assert_eq!(words(workspace.folder("out")), "Path not allowed: out");
        assert_eq!(fs::read(outer.path().join("secret")).unwrap(), b"secret");
        assert_eq!(fs::read(root.join("inside/a.txt")).unwrap(), b"a");
    }

    /// Over two hundred paths that try to leave the workspace, directly and through links in it,
    /// also in the notation of other systems: each is rejected, or stays within.
    /// Proves S9, FO-28.
    #[test]
    fn two_hundred_paths_lead_nowhere() {
        let ups = ["..", "../..", "../../..", "a/..", "a/../..", "./..", ".//..", "a/b/../../.."];
        let ups = ups.map(str::to_owned).into_iter().chain((4..12).map(|n| "../".repeat(n) + "."));
        let seps = ["/", "//", "/./", "\\", "/%2e%2e/", "%2f", "\u{2215}", "/..\u{0}/"];
        let by_path = ups.flat_map(|up| seps.map(|separator| format!("{up}{separator}secret")));
        let roots =
            ["/", "//", "/workspace/../", "/workspaces/", "/proc/self/cwd/", "/proc/1/cwd/"];
        let roots = roots.into_iter().chain(["C:\\", "\\\\server\\", "file:///", "~/", "$HOME/"]);
        let ends = ["secret", "etc/passwd", "../secret", "tmp/../secret"];
        let by_root = roots.flat_map(|root| ends.map(|end| format!("{root}{end}")));
        let links = ["up", "up/up", "far", "file", "./up", "a/../up", "deep/up", "up/.", "loop"];
        let by_link = links.into_iter().flat_map(|link| {
            ["secret", "../secret", ".", "x/secret"].map(|end| format!("{link}/{end}"))
        });
        let paths: Vec<_> = by_path.chain(by_root).chain(by_link).collect();
        assert!(paths.len() >= 200, "{}", paths.len());

        let (outer, workspace) = place();
        let root = outer.path().join("work");
        fs::create_dir(root.join("deep")).unwrap();
        let links = [("up", ".."), ("far", "/etc"), ("file", "../secret"), ("loop", "loop")];
        for (link, to) in links.into_iter().chain([("deep/up", "../..")]) {
            symlink(to, root.join(link)).unwrap();
        }
        for path in &paths {
            let normal = || normalise(path).map_err(ToolError::from);
            // Reads the file that was written under a different notation of the path, and no other.
            let read = normal().and_then(|path| workspace.bytes(&path, 100));
            assert!(read.is_err() || read.is_ok_and(|bytes| bytes == b"changed"), "{path:?}");
            let stop = CancellationToken::new();
            let _ = normal().and_then(|path| workspace.replace(&path, b"changed", &stop));
        }
        assert_eq!(fs::read(outer.path().join("secret")).unwrap(), b"secret");
        let around: Vec<_> = fs::read_dir(outer.path()).unwrap().flatten().collect();
        assert_eq!(around.len(), 2, "{around:?}");
    }

    /// Proves S9.
    #[test]
    fn a_second_name_of_a_file_is_refused() {
        let (outer, workspace) = place();
        fs::hard_link(outer.path().join("secret"), outer.path().join("work/hard")).unwrap();
        assert_eq!(words(workspace.file("hard")), "Path not allowed: hard");
    }

    /// Proves FO-30.
    #[test]
    fn a_fifo_is_refused_at_once() {
        let (outer, workspace) = place();
        let made = std::process::Command::new("mkfifo")
            .arg(outer.path().join("work/pipe"))
            .status()
            .unwrap();
        assert!(made.success());
        assert_eq!(words(workspace.file("pipe")), "Path not allowed: pipe");
        let socket = std::os::unix::net::UnixListener::bind(outer.path().join("work/s")).unwrap();
        assert_eq!(words(workspace.file("s")), "Path not allowed: s");
        drop(socket);
        assert_eq!(words(workspace.file("/dev/zero")), "Path not allowed: /dev/zero");
    }

    /// A file of a person with a similar name is kept.
    /// Proves FO-29.
    #[test]
    fn files_of_dead_processes_are_removed_after_an_hour() {
        let (outer, workspace) = place();
        let root = outer.path().join("work");
        let hour = Duration::from_hours(1);
        let ids = ["a", "b"].map(|digit| format!(".{}.tmp", digit.repeat(32)));
        for (name, age) in [(ids[0].as_str(), 2 * hour), (&ids[1], hour / 2), (".my.tmp", 2 * hour)]
        {
            let file = fs::File::create(root.join(name)).unwrap();
            let now = file.metadata().unwrap().modified().unwrap();
            file.set_modified(now - age).unwrap();
        }
        workspace.replace("a.txt", b"new", &CancellationToken::new()).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [ids[1].as_str(), ".my.tmp", "a.txt"]);
    }

    /// Proves FO-29.
    #[test]
    fn a_replaced_file_keeps_its_mode_and_nothing_is_left_behind() {
        let (outer, workspace) = place();
        let root = outer.path().join("work");
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(root.join("run.sh"), "old").unwrap();
        fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        workspace.replace("run.sh", b"new", &CancellationToken::new()).unwrap();
        let mode = fs::metadata(root.join("run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        assert_eq!(fs::read(root.join("run.sh")).unwrap(), b"new");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
    }

    #[test]
    fn a_write_that_is_stopped_midway_leaves_the_old_file() {
        let (outer, workspace) = place();
        let root = outer.path().join("work");
        fs::write(root.join("a.txt"), "old").unwrap();
        let stopped = CancellationToken::new();
        stopped.cancel();
        assert!(workspace.replace("a.txt", b"new", &stopped).is_err());
        assert_eq!(fs::read(root.join("a.txt")).unwrap(), b"old");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
    }

    #[test]
    fn missing_files_and_folders_are_named() {
        let (outer, workspace) = place();
        fs::create_dir(outer.path().join("work/sub")).unwrap();
        fs::write(outer.path().join("work/a.txt"), "a").unwrap();
        assert!(words(workspace.file("no.txt")).starts_with("Not found: no.txt"));
        assert!(words(workspace.file("no/a.txt")).starts_with("Not found: no/a.txt"));
        assert!(words(workspace.file("sub")).starts_with("sub is a folder"));
        assert!(words(workspace.file(".")).starts_with(". is a folder"));
        assert!(words(workspace.folder("a.txt")).contains("is a file, not a folder"));
        assert!(words(workspace.file("a.txt/b")).contains("a.txt is a file, not a folder"));
    }

    /// Proves T4.
    #[test]
    fn a_file_over_the_limit_is_refused_and_one_at_it_is_not() {
        let (outer, workspace) = place();
        fs::write(outer.path().join("work/a"), [0; 10]).unwrap();
        assert_eq!(workspace.bytes("a", 10).unwrap().len(), 10);
        assert!(words(workspace.bytes("a", 9)).contains("too large: 10 bytes"));
    }

    /// Proves FO-28.
    #[test]
    fn a_folder_swapped_for_a_link_never_leads_out() {
        let (outer, workspace) = place();
        let root = outer.path().join("work");
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/secret"), "mine").unwrap();
        let stop = CancellationToken::new();
        let swapper = {
            let (stop, root, outer) = (stop.clone(), root.clone(), outer.path().to_owned());
            std::thread::spawn(move || {
                while !stop.is_cancelled() {
                    fs::rename(root.join("d"), root.join("e")).unwrap();
                    symlink(&outer, root.join("d")).unwrap();
                    fs::remove_file(root.join("d")).unwrap();
                    fs::rename(root.join("e"), root.join("d")).unwrap();
                }
            })
        };
        for _ in 0..500 {
            if let Ok(bytes) = workspace.bytes("d/secret", 100) {
                assert_eq!(bytes, b"mine");
            }
        }
        stop.cancel();
        swapper.join().unwrap();
    }
}
