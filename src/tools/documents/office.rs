//! Renders the first page of a Word, Excel or PowerPoint file as a picture, for chats that show
//! one. LibreOffice, if installed, renders the very file that is sent, in the sandbox. If it is
//! missing or takes too long, the file is sent without a picture.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};

use crate::tools::sandbox::{Job, Sandbox, SandboxLimits, Work, profile::Profile, run};

/// The paths used by Debian and others, and by manual installations.
const PLACES: [&str; 2] = ["/usr/bin/soffice", "/usr/local/bin/soffice"];

/// The component for each kind of file, and Debian's package.
const PARTS: [(&str, &str); 3] = [
    ("libswlo.so", "libreoffice-writer"),
    ("libsclo.so", "libreoffice-calc"),
    ("libsdlo.so", "libreoffice-impress"),
];

/// How long the file waits for its picture, which usually takes a second or two.
const WAIT: Duration = Duration::from_secs(15);

/// Larger files would hardly be rendered in that time.
const FILE_BYTES: usize = 8 * 1024 * 1024;
const PICTURE_BYTES: usize = 4 * 1024 * 1024;

/// The script that renders, given the program and the file's extension. Uses a temporary profile.
const DRAW: &str = r#"
cd /tmp
cat >"document.$2"
"$1" -env:UserInstallation=file:///tmp/profile --headless --convert-to png "document.$2" \
    </dev/null >&2
exec cat document.png
"#;

/// LibreOffice on this machine.
pub struct Office {
    sandbox: Arc<Sandbox>,
    program: PathBuf,
    /// Limits concurrency, because each rendering uses a full core.
    turn: Semaphore,
    pub wait: Duration,
}

impl Office {
    /// LibreOffice, if it is installed and a sandbox is available.
    pub fn installed(sandbox: &Arc<Sandbox>) -> Option<Self> {
        PLACES.iter().find_map(|place| Self::at(Path::new(place), sandbox))
    }

    /// The program `soffice` at that path.
    pub fn at(program: &Path, sandbox: &Arc<Sandbox>) -> Option<Self> {
        let program = program.canonicalize().ok().filter(|_| sandbox.missing().is_none())?;
        Some(Self { sandbox: sandbox.clone(), program, turn: Semaphore::new(1), wait: WAIT })
    }

    /// The missing Debian packages, without which some files have no picture.
    pub fn packages(office: Option<&Self>) -> Vec<&'static str> {
        let folder = office.and_then(|office| office.program.parent());
        let has = |part: &str| folder.is_some_and(|folder| folder.join(part).exists());
        PARTS.iter().filter(|(part, _)| !has(part)).map(|(_, package)| *package).collect()
    }

    /// The first page as PNG, of a file with this extension.
    pub async fn first_page(&self, ending: &str, file: &[u8]) -> Option<Vec<u8>> {
        if file.len() > FILE_BYTES {
            return None;
        }
        let drawn = timeout(self.wait, self.draw(ending, file)).await.ok().flatten();
        if drawn.is_none() {
            tracing::debug!(ending, "could not render a picture of the first page");
        }
        drawn
    }

    async fn draw(&self, ending: &str, file: &[u8]) -> Option<Vec<u8>> {
        let _turn = self.turn.acquire().await.expect("the semaphore is never closed");
        let program = self.program.to_str()?;
        let words = ["/bin/sh", "-c", DRAW, "draw", program, ending].map(str::to_owned);
        let job = Job::new(Work::Program(words.to_vec()), Some(SandboxLimits::OFFICE));
        // `program/soffice` needs the files in the parent of its folder.
        let home = self.program.parent()?.parent()?;
        let command =
            self.sandbox.confined_command(&Profile::around(job).showing(home, home)).ok()?;
        let ended = run::keeping(PICTURE_BYTES, command, file.to_vec(), self.wait).await.ok()?;
        let is_picture = ended.stdout.is_whole() && ended.stdout.head.starts_with(b"\x89PNG");
        if !is_picture {
            tracing::debug!(
                code = ended.code,
                said = ended.stderr.text(),
                "soffice produced no picture"
            );
        }
        is_picture.then_some(ended.stdout.head)
    }
}
