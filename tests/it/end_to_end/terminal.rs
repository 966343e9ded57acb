//! The terminal chat: the program as a child process, over pipes.

use std::{
    fs::{self, File},
    process::Stdio,
};
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStdin, Command},
};

use crate::support::process::{On, PATIENCE, Site, eventually};

async fn types(keyboard: &mut ChildStdin, line: &str) {
    keyboard.write_all(format!("{line}\n").as_bytes()).await.expect("it reads");
}

/// Asked for a note, it prints the command that allows it; then the note is written, and its path
/// is printed. The end of the input ends the program.
/// Proves A1, MC-45.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_is_allowed_by_a_typed_command_and_its_file_is_saved() {
    let site = Site::new(On::Sqlite).await;
    let screen = site.path("screen");
    let mut child = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .arg("chat")
        .current_dir(site.path(""))
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(File::create(&screen).unwrap())
        .stderr(File::create(site.path("log")).unwrap())
        .kill_on_drop(true)
        .spawn()
        .expect("the program is built before its tests");
    let mut keyboard = child.stdin.take().expect("a pipe");
    let after = async |begin: &str| {
        eventually(begin, async || {
            let shown = fs::read_to_string(&screen).ok()?;
            let (_, after) = shown.split_once(begin)?;
            after.split_once('\n').map(|(line, _)| line.to_owned())
        })
        .await
    };
    types(&mut keyboard, "save a note: buy honey").await;
    let code = after("/allow ").await;
    assert!(!site.files().iter().any(|(path, _)| path.ends_with("notes/buy-honey.md")));
    types(&mut keyboard, &format!("/allow {code}")).await;
    let named = after("I saved ").await;
    assert!(named.contains("notes/buy-honey.md"), "{named}");
    let files = site.files();
    let note = files.iter().find(|(path, _)| path.ends_with("notes/buy-honey.md"));
    assert_eq!(note.expect("the file is there").1, b"buy honey\n");

    types(&mut keyboard, "send me notes/buy-honey.md").await;
    let saved = after("[saved: ").await;
    let saved = site.path("").join(saved.trim_end_matches(']'));
    assert_eq!(fs::read(saved).expect("where it says"), b"buy honey\n");
    drop(keyboard);
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
    assert!(ended.success(), "{}", fs::read_to_string(site.path("log")).unwrap());
    site.end().await;
}

/// A request that an earlier start has shown is shown again, before anything can decide it.
/// Proves A1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_request_is_shown_at_the_start() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", "");
    let is_saved = || site.files().iter().any(|(path, _)| path.ends_with("notes/buy-honey.md"));
    let asked = |said: String| {
        let (_, rest) = said.split_once("/allow ")?;
        Some(rest.split_whitespace().next()?.to_owned())
    };
    let mut talk = site.talk();
    talk.types(b"save a note: buy honey\n").await;
    let code = eventually("it asks", async || asked(talk.said())).await;
    talk.stop().await;

    let mut talk = site.talk();
    let again = eventually("it asks again", async || asked(talk.said())).await;
    assert_eq!(again, code);
    assert!(talk.said().contains("buy honey") && !is_saved(), "{}", talk.said());
    talk.types(b"/allow\n").await;
    eventually("the note is saved", async || is_saved().then_some(())).await;
    talk.stop().await;
    site.end().await;
}

/// A detailed log names the agent and the tool of each call, and contains no messages.
/// Proves CA-26.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_with_details_names_the_agent() {
    let mut site = Site::new(On::Sqlite).await;
    site.variable("COUNTERSIGN_LOG", "countersign=debug");
    site.configure("127.0.0.1:8642", "");
    let mut talk = site.talk();
    talk.types(b"what time is it in Asia/Tokyo\n").await;
    let line = eventually("call finished", async || {
        let said = talk.said();
        said.lines().find(|line| line.contains("call finished")).map(str::to_owned)
    });
    let line: serde_json::Value = serde_json::from_str(&line.await).unwrap();
    let fields = &line["fields"];
    assert_eq!((&fields["agent.id"], &fields["outcome"]), (&"default".into(), &"Done".into()));
    assert_eq!(fields["tool.name"], "get_current_datetime");
    assert!(!line.to_string().contains("Tokyo"), "{line}");
    talk.stop().await;
    site.end().await;
}
