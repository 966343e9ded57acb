//! Chromium as a process in the sandbox.
//!
//! Its own sandbox is off (`--no-sandbox`): it needs user namespaces or a setuid program, and the
//! sandbox around it permits neither. That sandbox is stricter than Chromium's for what it
//! confines: all of Chromium, the browser process as well as its pages, has no network but the
//! proxy, sees programs and its own temporary files only, and cannot reach other processes. What
//! is lost is the separation of the pages of one conversation from each other, and so site
//! isolation is off as well: every frame of a page is then part of the page.

use sandbox::{Job, PROXY_PORT, SandboxLimits, Work, profile::Profile};
use std::{
    io::Read as _,
    path::{Path, PathBuf},
};
use tokio::process::Command;

use super::BrowserSettings;
use crate::tools::ToolError;

/// Where distributions install the program. The commands of these names are scripts, which need
/// files that the sandbox does not show.
const PLACES: [&str; 4] = [
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib64/chromium/chromium",
    "/opt/google/chrome/chrome",
];
/// The folders for files on their way, inside the sandbox. Uploads are read-only there.
pub const DOWNLOADS: &str = "/run/downloads";
pub const UPLOADS: &str = "/run/uploads";

/// Starts the program with the pipes of the protocol, which it expects as descriptors 3 and 4. A
/// pipe cannot be opened by other programs, as a port can.
const WITH_PIPES: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,MediaRouter,OptimizationHints,Translate",
    "--remote-debugging-pipe",
    "--user-data-dir=/tmp/profile",
    "--disk-cache-size=33554432",
    // Addresses of the machine itself go through the proxy as well, and are refused there.
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--deny-permission-prompts",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--password-store=basic",
    "--window-size=1280,900",
];

/// The program, or why it cannot be used.
pub fn installed(configured: Option<&Path>) -> Result<PathBuf, String> {
    let Some(program) = configured else {
        let found = PLACES.iter().map(PathBuf::from).find(|place| place.is_file());
        return found.ok_or_else(|| {
            "Chromium is missing: install it (apt-get install chromium), or set browser.program"
                .to_owned()
        });
    };
    let mut begin = [0; 2];
    let shown = program.display();
    let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut begin));
    match read {
        Err(problem) => Err(format!("browser.program: {shown}: {problem}")),
        Ok(()) if begin == *b"#!" => Err(format!(
            "browser.program: {shown} is a script. Set the program that it starts, such as {}",
            PLACES[0]
        )),
        Ok(()) => Ok(program.to_owned()),
    }
}

/// The socket of the proxy in the folder of a browser.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("proxy")
}

pub fn downloads(folder: &Path) -> PathBuf {
    folder.join("downloads")
}

pub fn uploads(folder: &Path) -> PathBuf {
    folder.join("uploads")
}

/// Chromium reserves far more memory for each process than it uses, and a page crashes if that fails.
/// The memory that all its processes use together is limited.
const RESERVED_BYTES: u64 = 64 << 30;

/// The command, for a browser with that folder.
pub fn command(settings: &BrowserSettings, folder: &Path) -> Result<Command, ToolError> {
    let program = installed(settings.program.as_deref()).map_err(ToolError::Sandbox)?;
    let proxy = format!("--proxy-server=socks5://127.0.0.1:{PROXY_PORT}");
    let mut words = ["/bin/sh", "-c", WITH_PIPES, "browser"].map(str::to_owned).to_vec();
    words.push(program.display().to_string());
    words.extend(FLAGS.iter().map(|&flag| flag.to_owned()));
    words.extend([proxy, "about:blank".to_owned()]);
    let limits = SandboxLimits {
        memory_bytes: RESERVED_BYTES,
        total_bytes: settings.memory_bytes,
        // Without root, threads count as well.
        processes: 1024,
        file_bytes: settings.download_bytes.max(LEAST_FILE_BYTES),
        ..SandboxLimits::SERVER
    };
    let mut profile = Profile::around(Job::new(Work::Program(words), Some(limits)))
        .with_proxy_socket(&socket(folder))
        .showing(&uploads(folder), Path::new(UPLOADS));
    if let Some(home) = program.parent().filter(|home| !home.starts_with("/usr")) {
        profile = profile.showing(home, home);
    }
    let profile = profile.writing(&downloads(folder), Path::new(DOWNLOADS));
    Ok(settings.sandbox.confined_command(&profile)?)
}

/// The size that files of the profile may have in any case.
const LEAST_FILE_BYTES: u64 = 256 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_work_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("chromium");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        assert!(installed(Some(&script)).unwrap_err().contains("is a script"));
        let missing = installed(Some(&folder.path().join("missing"))).unwrap_err();
        assert!(missing.contains("browser.program"), "{missing}");
    }
}
