//! Loads pictures and templates of documents from the workspace.

use percent_encoding::percent_decode_str;
use renderers::{Warning, brand};
use std::{borrow::Cow, collections::BTreeMap};

use super::{blob::Blob, request::RenderPart};
use crate::tools::{
    Context, ToolError,
    workspace::{self, Workspace},
};

const MAX_BYTES: u64 = 10 * 1024 * 1024;
const MAX_TOTAL_BYTES: u64 = 40 * 1024 * 1024;
const MAX_PICTURES: usize = 64;
/// The number of pictures that are left out by name.
const MAX_WARNINGS: usize = 50;

/// Loads the pictures that a text refers to, by paths relative to its folder or to the workspace.
/// Pictures that cannot be loaded are listed in the warnings; nothing is fetched.
pub async fn load(
    part: &mut RenderPart,
    urls: Vec<String>,
    context: &Context,
) -> Result<(), ToolError> {
    let urls: Vec<String> = urls.into_iter().filter(|url| is_path(url)).collect();
    if urls.is_empty() {
        return Ok(());
    }
    let folder = part.folder.clone();
    (part.pictures, part.warnings) = workspace::beneath(context, move |workspace, cancelled| {
        let mut album = Album::default();
        for url in urls.into_iter().take_while(|_| !cancelled.is_cancelled()) {
            if let Err(why) = album.add(workspace, &folder, &url) {
                album.leave_out(&url, &why);
            }
        }
        let unlisted = album.left_out.saturating_sub(MAX_WARNINGS);
        if unlisted > 0 {
            album.warnings.push(format!("{unlisted} more pictures are left out.").into());
        }
        Ok((album.pictures, album.warnings))
    })
    .await?;
    Ok(())
}

/// The template that a text names, by the same rules as pictures.
pub async fn template(
    part: &mut RenderPart,
    path: String,
    context: &Context,
) -> Result<Option<Vec<u8>>, ToolError> {
    let (folder, named) = (part.folder.clone(), path.clone());
    let found = workspace::beneath(context, move |workspace, _| {
        Ok(near(workspace, &folder, &named, brand::BYTES as u64))
    })
    .await?;
    found.map_or_else(
        |why| {
            part.warnings.push(format!("The template {path} is left out: {why}").into());
            Ok(None)
        },
        |bytes| Ok(Some(bytes)),
    )
}

#[derive(Default)]
struct Album {
    pictures: BTreeMap<String, Blob>,
    total_bytes: u64,
    left_out: usize,
    warnings: Vec<Warning>,
}

impl Album {
    fn leave_out(&mut self, url: &str, why: &str) {
        self.left_out += 1;
        if self.left_out <= MAX_WARNINGS {
            let (name, why) = (url.to_owned(), why.to_owned());
            self.warnings.push(Warning::PictureLeftOut { name, why });
        }
    }

    fn add(&mut self, workspace: &Workspace, folder: &str, url: &str) -> Result<(), String> {
        if self.pictures.len() >= MAX_PICTURES {
            return Err(format!("there are more than {MAX_PICTURES}"));
        }
        let path = decoded(url);
        let room = MAX_BYTES.min(MAX_TOTAL_BYTES - self.total_bytes);
        let bytes = near(workspace, folder, &path, room)?;
        if bytes.is_empty() {
            return Err("the file is empty".to_owned());
        }
        self.total_bytes += bytes.len() as u64;
        self.pictures.insert(url.to_owned(), Blob(bytes));
        Ok(())
    }
}

/// The file at this path relative to the folder, or else to the workspace.
fn near(workspace: &Workspace, folder: &str, path: &str, limit: u64) -> Result<Vec<u8>, String> {
    beside(folder, path)
        .ok_or_else(|| format!("Path not allowed: {path}"))
        .and_then(|path| workspace.bytes(&path, limit).map_err(|error| error.to_string()))
        .or_else(|why| workspace.bytes(path, limit).map_err(|_| why))
}

/// `folder/path`, where a leading `../` stays within the workspace.
fn beside(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    let mut parts: Vec<&str> =
        folder.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let mut rest = path;
    loop {
        if let Some(up) = rest.strip_prefix("../") {
            parts.pop()?;
            rest = up;
        } else if let Some(here) = rest.strip_prefix("./") {
            rest = here;
        } else {
            break;
        }
    }
    parts.push(rest);
    Some(parts.join("/"))
}

/// Everything that is not a URL or data is a path.
fn is_path(url: &str) -> bool {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    !url.is_empty()
        && !url.starts_with("//")
        && !url.starts_with('#')
        && (scheme.is_empty() || scheme.contains('/'))
}

/// Decodes `my%20chart.png` to `my chart.png`.
fn decoded(url: &str) -> Cow<'_, str> {
    percent_decode_str(url).decode_utf8().unwrap_or(Cow::Borrowed(url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;

    async fn loaded(folder: &str, urls: &[&str], place: &ToolFixture) -> RenderPart {
        let mut part = RenderPart::new(String::new(), folder);
        let urls = urls.iter().map(|url| (*url).to_owned()).collect();
        load(&mut part, urls, &place.context).await.unwrap();
        part
    }

    /// Proves S9.
    #[tokio::test]
    async fn only_pictures_of_the_workspace_are_loaded() {
        let place = ToolFixture::new();
        place.has("img/a b.png", "picture");
        std::fs::write(place.folder.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", place.path("link.png")).unwrap();
        let urls = [
            "img/a%20b.png",
            "link.png",
            "../secret",
            "/etc/passwd",
            "none.png",
            "https://example.org/a.png",
            "//example.org/a.png",
            "file:///etc/passwd",
            "data:image/png;base64,AAAA",
        ];
        let part = loaded(".", &urls, &place).await;
        assert_eq!(part.pictures.keys().collect::<Vec<_>>(), ["img/a%20b.png"]);
        assert_eq!(part.pictures["img/a%20b.png"].0, b"picture");
        let warnings = part.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for words in [
            "link.png is left out: Path not allowed: link.png",
            "../secret is left out: Path not allowed: ../secret",
            "/etc/passwd is left out: Path not allowed: /etc/passwd",
            "none.png is left out: Not found",
        ] {
            assert!(warnings.contains(words), "{words}\n{warnings}");
        }
        assert_eq!(part.warnings.len(), 4, "addresses are the renderer's to name");
    }

    #[tokio::test]
    async fn paths_start_from_the_file_and_then_from_the_workspace() {
        let place = ToolFixture::new();
        place.has("docs/near.png", "near");
        place.has("img/up.png", "up");
        let urls = ["near.png", "../img/up.png", "img/up.png", "../../secret"];
        let part = loaded("docs", &urls, &place).await;
        assert_eq!(part.pictures.len(), 3, "{:?}", part.warnings);
        assert_eq!(part.warnings.len(), 1, "{:?}", part.warnings);
    }

    #[tokio::test]
    async fn a_picture_over_the_limit_is_left_out() {
        let place = ToolFixture::new();
        place.has("big.png", vec![1; MAX_BYTES as usize + 1]);
        place.has("ok.png", vec![1; MAX_BYTES as usize]);
        let part = loaded(".", &["big.png", "ok.png"], &place).await;
        assert_eq!(part.pictures.len(), 1);
        assert!(part.warnings[0].to_string().contains("too large"), "{:?}", part.warnings);
    }

    #[tokio::test]
    async fn many_missing_pictures_are_counted() {
        let urls: Vec<String> = (0..60).map(|at| format!("x{at}.png")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let part = loaded(".", &urls, &ToolFixture::new()).await;
        assert_eq!(part.warnings.len(), 51);
        assert_eq!(part.warnings[50], "10 more pictures are left out.");
    }

    #[test]
    fn percent_signs_are_read_and_lone_ones_stay() {
        assert_eq!(decoded("a%20b%C3%A9.png"), "a bé.png");
        assert_eq!(decoded("100%.png"), "100%.png");
        assert_eq!(decoded("%ff"), "%ff", "no text");
    }
}
