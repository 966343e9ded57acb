//! LibreOffice, if installed, in the sandbox. It draws the first page of a Word, Excel or PowerPoint
//! file, for chats that show pictures. The picture is made from the file that is sent; if that takes
//! too long, the file is sent without one. It also converts files to PDF, and from formats before
//! 2007.

use sandbox::{Job, Sandbox, SandboxLimits, Work, profile::Profile, run};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{process::Command, sync::Semaphore, time::timeout};

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

/// How long a conversion may take.
const CONVERT_FOR: Duration = Duration::from_secs(90);

/// The limits of a conversion, which draws all pages.
const CONVERSION: SandboxLimits = SandboxLimits { cpu_seconds: 60, ..SandboxLimits::OFFICE };

/// The script that renders, given the program, the file's extension and that of the result. Uses a
/// temporary profile.
const DRAW: &str = r#"
cd /tmp
cat >"document.$2"
"$1" -env:UserInstallation=file:///tmp/profile --headless --convert-to "$3" "document.$2" \
    </dev/null >&2
exec cat "document.$3"
"#;

/// LibreOffice on this machine.
pub struct Office {
    sandbox: Arc<Sandbox>,
    program: PathBuf,
    /// Limits concurrency, because each rendering uses a full core.
    turn: Semaphore,
    /// Conversions take longer, and no picture waits for them.
    conversion_turn: Semaphore,
    pub wait: Duration,
    /// How long a conversion may take.
    pub convert_for: Duration,
}

impl Office {
    /// LibreOffice, if it is installed and a sandbox is available.
    pub fn installed(sandbox: &Arc<Sandbox>) -> Option<Self> {
        PLACES.iter().find_map(|place| Self::at(Path::new(place), sandbox))
    }

    /// The program `soffice` at that path.
    pub fn at(program: &Path, sandbox: &Arc<Sandbox>) -> Option<Self> {
        let program = program.canonicalize().ok().filter(|_| sandbox.missing().is_none())?;
        Some(Self {
            sandbox: sandbox.clone(),
            program,
            turn: Semaphore::new(1),
            conversion_turn: Semaphore::new(1),
            wait: WAIT,
            convert_for: CONVERT_FOR,
        })
    }

    /// The missing Debian packages, without which some files have no picture.
    pub fn packages(office: Option<&Self>) -> Vec<&'static str> {
        let folder = office.and_then(|office| office.program.parent());
        let has = |part: &str| folder.is_some_and(|folder| folder.join(part).exists());
        PARTS.iter().filter(|(part, _)| !has(part)).map(|(_, package)| *package).collect()
    }

    /// The first page as PNG, of a file with this extension. Waiting for other pictures counts.
    pub async fn first_page(&self, ending: &str, file: &[u8]) -> Option<Vec<u8>> {
        if file.len() > FILE_BYTES {
            return None;
        }
        let png = Drawing { to: "png", magic: b"\x89PNG", max_bytes: PICTURE_BYTES };
        let drawing = async {
            let _turn = self.turn.acquire().await.expect("the semaphore is never closed");
            self.draw(ending, file, &png).await.ok()
        };
        let drawn = timeout(self.wait, drawing).await.ok().flatten();
        if drawn.is_none() {
            tracing::debug!(ending, "could not render a picture of the first page");
        }
        drawn
    }

    /// The whole file as PDF.
    pub async fn pdf(&self, ending: &str, file: &[u8]) -> Result<Vec<u8>, ConversionError> {
        let pdf = Drawing { to: "pdf", magic: b"%PDF-", max_bytes: run::KEPT_BYTES };
        self.converted(ending, file, &pdf).await
    }

    /// The whole file in a format of Office since 2007, whose extension is `to`.
    pub async fn convert(
        &self,
        ending: &str,
        to: &'static str,
        file: &[u8],
    ) -> Result<Vec<u8>, ConversionError> {
        let package = Drawing { to, magic: b"PK\x03\x04", max_bytes: run::KEPT_BYTES };
        self.converted(ending, file, &package).await
    }

    /// Converts a file when it is its turn; the time that it waits before that does not count.
    async fn converted(
        &self,
        ending: &str,
        file: &[u8],
        drawing: &Drawing,
    ) -> Result<Vec<u8>, ConversionError> {
        let _turn = self.conversion_turn.acquire().await.expect("the semaphore is never closed");
        self.draw(ending, file, drawing).await
    }

    async fn draw(
        &self,
        ending: &str,
        file: &[u8],
        drawing: &Drawing,
    ) -> Result<Vec<u8>, ConversionError> {
        let is_picture = drawing.to == "png";
        let (limits, wait) = if is_picture {
            (SandboxLimits::OFFICE, self.wait)
        } else {
            (CONVERSION, self.convert_for)
        };
        let command = self.command(ending, drawing, limits).ok_or(ConversionError::Failed)?;
        let ended = run::keeping(drawing.max_bytes, command, file.to_vec(), wait).await;
        let ended = ended.map_err(|_| ConversionError::Failed)?;
        let is_drawn = ended.stdout.is_whole() && ended.stdout.head.starts_with(drawing.magic);
        if is_drawn && !ended.timed_out {
            return Ok(ended.stdout.head);
        }
        tracing::debug!(code = ended.code, said = ended.stderr.text(), "soffice produced no file");
        Err(if ended.timed_out { ConversionError::TooSlow(wait) } else { ConversionError::Failed })
    }

    /// The command that converts a file with this extension.
    fn command(&self, ending: &str, drawing: &Drawing, limits: SandboxLimits) -> Option<Command> {
        let program = self.program.to_str()?;
        let words = ["/bin/sh", "-c", DRAW, "draw", program, ending, drawing.to];
        let words = words.map(str::to_owned).to_vec();
        let job = Job::new(Work::Program(words), Some(limits));
        // `program/soffice` needs the files in the parent of its folder.
        let home = self.program.parent()?.parent()?;
        self.sandbox.confined_command(&Profile::around(job).showing(home, home)).ok()
    }
}

/// Why LibreOffice could not convert a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    #[error("it is damaged, protected or too large")]
    Failed,
    #[error("it took longer than {} seconds", .0.as_secs())]
    TooSlow(Duration),
}

/// The file that LibreOffice makes from another.
struct Drawing {
    /// The extension of the result.
    to: &'static str,
    /// How the result begins.
    magic: &'static [u8],
    max_bytes: usize,
}
