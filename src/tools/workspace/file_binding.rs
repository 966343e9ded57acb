//! The files that an approval is bound to in addition to the call: those that the call names, with
//! their current contents.
//!
//! A file is identified by the digest of its contents. If the files are too large to be read for
//! each approval, they are identified by inode, size and change time in nanoseconds, which cannot
//! be restored after a write. A pattern stands for its current matches. Folders are identified by
//! the names of their entries. If a command may read any file, the whole workspace is bound as one
//! digest.

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::{Dir, Metadata, MetadataExt as _, OpenOptions};
use globset::{GlobBuilder, GlobMatcher};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _},
};

use super::Workspace;
use crate::{agent::named_files::NamedFiles, texts, tools::ToolError};

/// The total size of files that are read for one call; further files are identified by size and
/// times.
const READ_BYTES: u64 = 64_000_000;
/// The maximum number of files that one call may name.
const FILES: usize = 4_096;

/// The maximum number of entries of a workspace that is bound as a whole.
const ENTRIES: usize = 20_000;
/// The maximum number of scripts that one call may run, directly or through others, and their
/// maximum length.
const SCRIPTS: usize = 64;
const SCRIPT_BYTES: u64 = 64 * 1024;
/// The key of the whole workspace among the files of a call; not a valid path.
const EVERYTHING: &str = "/";
/// Long results are stored in this folder while other calls are pending, so it is not bound.
const OWN_FOLDER: &str = ".countersign";

/// The files that a call reads, including the scripts that its scripts run.
pub fn bind_named(
    workspace: &Workspace,
    mut named: NamedFiles,
) -> Result<BTreeMap<String, String>, ToolError> {
    let root = workspace.root();
    let mut read = BTreeSet::new();
    while let Some(path) = named.scripts.iter().find(|path| !read.contains(*path)).cloned() {
        if read.len() == SCRIPTS || named.everything {
            named.everything = true;
            break;
        }
        match script(root, &path) {
            Script::Shell(text) => named.add(&text),
            Script::Nothing => {}
            Script::Other => named.everything = true,
        }
        read.insert(path);
    }
    let paths: Vec<_> = named.paths.into_iter().collect();
    let mut bound = bind(workspace, &paths)?;
    if named.everything {
        bound.insert(EVERYTHING.to_owned(), everything(root)?);
    }
    Ok(bound)
}

/// The kind of file at a path that a command would run.
enum Script {
    Shell(String),
    /// No file, or a binary program.
    Nothing,
    /// A script of another interpreter, or one that is too long.
    Other,
}

fn script(root: &Dir, path: &str) -> Script {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    let Ok(file) = root.open_with(path, &options) else { return Script::Nothing };
    match file.metadata() {
        Ok(there) if !there.is_file() => return Script::Nothing,
        Ok(there) if there.len() <= SCRIPT_BYTES => {}
        _ => return Script::Other,
    }
    let mut bytes = Vec::new();
    if file.take(SCRIPT_BYTES).read_to_end(&mut bytes).is_err() {
        return Script::Other;
    }
    if bytes.starts_with(b"\x7fELF") {
        return Script::Nothing;
    }
    let Ok(text) = String::from_utf8(bytes) else { return Script::Other };
    let interpreter = text.lines().next().and_then(|line| line.strip_prefix("#!"));
    let is_shell = interpreter.is_none_or(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || c == '/');
        words.any(|word| matches!(word, "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh"))
    });
    if is_shell { Script::Shell(text) } else { Script::Other }
}

/// One digest of the whole workspace: names, kinds and contents.
fn everything(root: &Dir) -> Result<String, ToolError> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let place = if folder.is_empty() { "." } else { &folder };
        let entries = root.read_dir(place).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if path == OWN_FOLDER {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                folders.push(path.clone());
            }
            files.insert(path, is_folder);
            if files.len() > ENTRIES {
                return Err(ToolError::ExecutionFailed(texts::too_many_files(ENTRIES)));
            }
        }
    }
    let (mut hash, mut left_bytes) = (Sha256::new(), READ_BYTES);
    for (path, is_folder) in &files {
        let link = root.read_link_contents(path).ok();
        let link = link.map(|target| target.to_string_lossy().into_owned());
        let content = if *is_folder { None } else { state(root, path, &mut left_bytes) };
        let entry = serde_json::json!([path, is_folder, link, content]);
        hash.update(entry.to_string());
    }
    Ok(hex::encode(hash.finalize()))
}

/// The current state of the files with these names.
pub fn bind(
    workspace: &Workspace,
    names: &[String],
) -> Result<BTreeMap<String, String>, ToolError> {
    let root = workspace.root();
    let mut left_bytes = READ_BYTES;
    let mut bound = BTreeMap::new();
    for name in names {
        for path in expansions(root, name)? {
            if bound.contains_key(&path) {
                continue;
            }
            if let Some(state) = state(root, &path, &mut left_bytes) {
                bound.insert(path, state);
            }
            if bound.len() > FILES {
                return Err(too_many());
            }
        }
    }
    Ok(bound)
}

fn too_many() -> ToolError {
    ToolError::ExecutionFailed(texts::too_many_files(FILES))
}

/// The paths that a shell would expand the name to. Includes the name itself, since a file with
/// exactly that name may exist.
fn expansions(root: &Dir, name: &str) -> Result<Vec<String>, ToolError> {
    let mut paths = vec![String::new()];
    if is_pattern(name) {
        for part in name.split('/') {
            paths = below(root, &paths, part)?;
        }
    } else {
        paths.clear();
    }
    paths.push(name.to_owned());
    Ok(paths)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The entries of these folders that match one part of a pattern.
fn below(root: &Dir, folders: &[String], part: &str) -> Result<Vec<String>, ToolError> {
    let join = |folder: &str, name: &str| match folder {
        "" => name.to_owned(),
        _ => format!("{folder}/{name}"),
    };
    if !is_pattern(part) {
        return Ok(folders.iter().map(|folder| join(folder, part)).collect());
    }
    let pattern = matcher(part);
    let mut found = Vec::new();
    for folder in folders {
        let place = if folder.is_empty() { "." } else { folder };
        let Ok(entries) = root.read_dir(place) else { continue };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let matching = names.filter(|name| pattern.as_ref().is_none_or(|p| p.is_match(name)));
        found.extend(matching.map(|name| join(folder, &name)));
        if found.len() > FILES {
            return Err(too_many());
        }
    }
    Ok(found)
}

/// `None` if the pattern may match anything.
fn matcher(part: &str) -> Option<GlobMatcher> {
    let known = !part.contains("[:") && !part.contains("[.") && !part.contains("[=");
    let glob = known.then(|| GlobBuilder::new(part).literal_separator(true).build());
    glob?.ok().map(|glob| glob.compile_matcher())
}

/// Follows links that lead to something within the folder.
fn state(root: &Dir, path: &str, left_bytes: &mut u64) -> Option<String> {
    let there = root.metadata(path).ok().or_else(|| root.symlink_metadata(path).ok())?;
    if there.is_dir() {
        return None;
    }
    if there.is_file()
        && there.len() <= *left_bytes
        && let Ok(digest) = digest(root, path, there.len())
    {
        *left_bytes -= there.len();
        return Some(digest);
    }
    Some(identity(&there))
}

fn digest(root: &Dir, path: &str, size_bytes: u64) -> io::Result<String> {
    let mut options = OpenOptions::new();
    // Non-blocking, because opening a FIFO would block.
    options.read(true).nonblock(true);
    let mut file = root.open_with(path, &options)?.take(size_bytes + 1);
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&piece[..read]),
        }
    }
}

fn identity(there: &Metadata) -> String {
    let (size, number) = (there.len(), there.ino());
    let written = format!("{}.{:09}", there.mtime(), there.mtime_nsec());
    let changed = format!("{}.{:09}", there.ctime(), there.ctime_nsec());
    format!("file {number} of {size} bytes, written {written}, changed {changed}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink, path::PathBuf};

    fn place() -> (tempfile::TempDir, PathBuf, Workspace) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("work");
        let workspace = Workspace::open(&root).unwrap();
        (outer, root, workspace)
    }

    fn bound(workspace: &Workspace, name: &str) -> BTreeMap<String, String> {
        bind(workspace, &[name.to_owned()]).unwrap()
    }

    /// The matches of a pattern are bound, and so is the absence of others.
    /// Proves S3.
    #[test]
    fn a_pattern_binds_what_it_matches() {
        let (_outer, root, workspace) = place();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        for name in ["src/a.rs", "src/b.rs", "src/c.txt", "src/deep/d.rs"] {
            fs::write(root.join(name), name).unwrap();
        }
        let asked = bound(&workspace, "src/*.rs");
        assert_eq!(asked.keys().collect::<Vec<_>>(), ["src/a.rs", "src/b.rs"]);
        assert_eq!(bound(&workspace, "*/deep/?.rs").len(), 1);
        assert_eq!(bound(&workspace, "src/[[:alpha:]].rs").len(), 3, "rather more than less");
        fs::write(root.join("src/b.rs"), "other").unwrap();
        assert_ne!(bound(&workspace, "src/*.rs"), asked);
        fs::write(root.join("src/b.rs"), "src/b.rs").unwrap();
        assert_eq!(bound(&workspace, "src/*.rs"), asked);
        fs::write(root.join("src/e.rs"), "new").unwrap();
        assert_ne!(bound(&workspace, "src/*.rs"), asked);
    }

    /// Files that are too large to be read are bound as well, and so are the targets of links.
    /// Proves S3.
    #[test]
    fn a_large_file_and_a_link_are_bound() {
        let (outer, root, workspace) = place();
        let large = fs::File::create(root.join("large")).unwrap();
        large.set_len(READ_BYTES + 1).unwrap();
        let asked = bound(&workspace, "large");
        assert!(asked["large"].contains("64000001 bytes"), "{asked:?}");
        assert_eq!(bound(&workspace, "large"), asked);
        let modified = large.metadata().unwrap().modified().unwrap();
        std::os::unix::fs::FileExt::write_at(&large, b"x", 5).unwrap();
        large.set_modified(modified).unwrap();
        assert_ne!(bound(&workspace, "large"), asked, "its time was put back, but not all of it");

        fs::write(root.join("a"), "one").unwrap();
        symlink("a", root.join("link")).unwrap();
        fs::hard_link(root.join("a"), root.join("twin")).unwrap();
        symlink(outer.path(), root.join("out")).unwrap();
        for name in ["link", "twin"] {
            fs::write(root.join("a"), "one").unwrap();
            let asked = bound(&workspace, name);
            fs::write(root.join("a"), "two").unwrap();
            assert_ne!(bound(&workspace, name), asked, "{name}");
        }
        assert!(bound(&workspace, "out")["out"].contains("bytes"));
        assert!(bound(&workspace, "missing").is_empty());
        assert!(bound(&workspace, ".").is_empty());
    }

    /// The files that a command line reads are bound in every folder it enters, and through scripts
    /// that run scripts.
    /// Proves S3.
    #[test]
    fn files_read_by_a_command_line_are_bound() {
        for (line, file) in [
            ("cd scripts && sh deploy.sh", "scripts/deploy.sh"),
            ("sh scripts/deploy.sh", "scripts/deploy.sh"),
            ("sh scripts/deploy.sh", "scripts/lib.sh"),
            ("cd scripts; . ./deploy.sh", "scripts/inner/tool.sh"),
            ("./scripts/deploy.sh", "scripts/lib.sh"),
            ("make", "Makefile"),
            ("make", "scripts/inner/tool.sh"),
            ("find . -name '*.sh' -exec sh {} \\;", "scripts/lib.sh"),
            ("python3 main.py", "helper.py"),
            ("sh dynamic.sh", "scripts/lib.sh"),
            ("cat < data", "data"),
            ("git status", ".git/config"),
        ] {
            let (_outer, root, workspace) = place();
            for folder in ["scripts/inner", ".git", ".countersign"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            for (path, text) in [
                ("scripts/deploy.sh", "#!/bin/sh\n. scripts/lib.sh\n. ./lib.sh\n"),
                ("scripts/lib.sh", "sh inner/tool.sh"),
                ("scripts/inner/tool.sh", "echo tool"),
                ("dynamic.sh", "sh \"$1\""),
                ("Makefile", "all:"),
                ("main.py", "import helper"),
                ("helper.py", ""),
                ("data", ""),
                (".git/config", ""),
                ("unrelated", ""),
                (".countersign/result", ""),
            ] {
                fs::write(root.join(path), text).unwrap();
            }
            let bound = || bind_named(&workspace, NamedFiles::of_line(line)).unwrap();
            let asked = bound();
            assert_eq!(bound(), asked, "{line}");
            fs::write(root.join(".countersign/result"), "a result of another call").unwrap();
            assert_eq!(bound(), asked, "{line}");
            fs::write(root.join(file), "rm -rf /workspace").unwrap();
            assert_ne!(bound(), asked, "{line}: {file}");
        }
        let (_outer, root, workspace) = place();
        fs::write(root.join("a.sh"), "echo").unwrap();
        let bound = || bind_named(&workspace, NamedFiles::of_line("sh a.sh")).unwrap();
        let asked = bound();
        fs::write(root.join("unrelated"), "new").unwrap();
        assert_eq!(bound(), asked, "what is not read is not bound");
    }

    /// If there are more files than can be bound, the call is refused.
    /// Proves S3.
    #[test]
    fn too_many_files_are_refused() {
        let (_outer, root, workspace) = place();
        for n in 0..=FILES {
            fs::write(root.join(format!("{n}.x")), "").unwrap();
        }
        let refused = bind(&workspace, &["*.x".to_owned()]).unwrap_err().to_string();
        assert!(refused.contains("4096 files"), "{refused}");
        let names: Vec<_> = (0..=FILES).map(|n| format!("{n}.x")).collect();
        assert!(bind(&workspace, &names).is_err());
        assert_eq!(bound(&workspace, "1?.x").len(), 10);
    }
}
