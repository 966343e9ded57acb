//! The system's fonts. Nothing is cached between documents: a PDF reads the few files that its
//! theme and scripts need, and the system's page cache makes that fast.

use renderers::{Document, Fonts};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Where Linux, macOS and the BSDs keep system fonts.
const FOLDERS: [&str; 4] =
    ["/usr/local/share/fonts", "/usr/share/fonts", "/Library/Fonts", "/System/Library/Fonts"];
/// How deep folders are searched.
const DEPTH: usize = 4;
/// The maximum amount of data read while searching for a font with a rare character.
const SEARCH_BYTES: u64 = 256 * 1024 * 1024;
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The folders to search: `own`, then a folder `fonts` beside the program, then the system's.
pub fn folders(own: &[PathBuf]) -> Vec<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("fonts")));
    let all = own.iter().cloned().chain(beside).chain(FOLDERS.map(PathBuf::from));
    all.filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// The fonts of these folders that `document` needs; of two files with the same name, the first
/// counts.
pub fn for_document(document: &Document, folders: &[PathBuf]) -> Fonts {
    let mut files = files(folders);
    let wanted = renderers::pdf::wanted(document);
    let wanted: Vec<PathBuf> = wanted.iter().filter_map(|name| files.remove(name)).collect();
    let mut fonts = Fonts::with(wanted.iter().filter_map(|path| read(path)));
    let mut left = SEARCH_BYTES;
    for path in files.values() {
        if fonts.missing(document).is_empty() {
            break;
        }
        let Some(file) = read(path).filter(|file| file.len() as u64 <= left) else { continue };
        left -= file.len() as u64;
        fonts.help(document, file);
    }
    fonts
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let is_sane = std::fs::metadata(path).is_ok_and(|file| file.len() <= FILE_BYTES);
    is_sane.then(|| std::fs::read(path).ok()).flatten()
}

/// Font files by their names without extensions.
fn files(folders: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    for folder in folders {
        collect(folder, DEPTH, &mut files);
    }
    files
}

fn collect(folder: &Path, depth: usize, files: &mut BTreeMap<String, PathBuf>) {
    let Ok(inside) = std::fs::read_dir(folder) else { return };
    let mut inside: Vec<PathBuf> = inside.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    for path in inside {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        if matches!(ending.as_deref(), Some("ttf" | "otf" | "ttc" | "otc")) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.entry(name).or_insert(path);
        } else if depth > 0 && path.is_dir() {
            collect(&path, depth - 1, files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use renderers::{Format, markdown};

    /// The bundled fonts are in no folder; one of them stands for the system's.
    #[test]
    fn a_font_is_found_by_its_name_and_by_the_characters_it_has() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        std::fs::write(folder.path().join("deep/NotoSansThai-Regular.ttf"), b"no font").unwrap();
        std::fs::write(folder.path().join("readme.txt"), b"x").unwrap();
        let files = files(&folders(&[folder.path().to_owned()]));
        let thai = files.get("NotoSansThai-Regular").unwrap();
        assert!(thai.starts_with(folder.path()), "own folders come first: {thai:?}");
        assert!(!files.contains_key("readme"));
    }

    /// Characters that no font has are reported and the rest is rendered; damaged files are
    /// ignored.
    /// Proves MC-31.
    #[test]
    fn missing_scripts_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("NotoSans-Regular.ttf"), b"no font").unwrap();
        let document = markdown::read("Latin \u{378} and more").unwrap();
        let fonts = for_document(&document, &[folder.path().to_owned()]);
        let pdf = renderers::render_with(&document, Format::Pdf, &fonts).unwrap();
        assert!(
            pdf.warnings[0].to_string().contains("No font has these characters"),
            "{:?}",
            pdf.warnings
        );
    }
}
