//! The command line, as an operator uses it.

use clap::{Command, CommandFactory as _};
use countersign::testing::cli::Cli;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

use crate::support::{
    process::{On, Site, eventually},
    program::BINARY,
    stable_output::stable,
};

/// The same configuration means the same database, whatever the working directory.
#[tokio::test]
async fn the_data_folder_is_beside_the_configuration_file() {
    let (site, elsewhere) = (Site::new(On::Sqlite).await, tempfile::tempdir().unwrap());
    let file = site.path("countersign.toml");
    fs::write(&file, "[admin]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let file = file.to_str().unwrap();
    let archive = site.path("b.tar");
    for arguments in [
        &["migrate", "--config", file][..],
        &["token", "--config", file],
        &["backup", "--config", file, archive.to_str().unwrap()],
    ] {
        let (good, said) = site.run_in(elsewhere.path(), arguments).await;
        assert!(good, "{arguments:?}: {said}");
    }
    assert!(site.path("data/countersign.db").exists());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing is left here");
    let (good, said) = site.run(&["token", "list"]).await;
    assert!(good && said.contains("link of \"owner\""), "{said}");
    site.end().await;
}

/// A variable is relative to the working directory, like the arguments of a command.
#[tokio::test]
async fn a_path_in_a_variable_starts_at_the_working_directory() {
    let (mut site, elsewhere) = (Site::new(On::Sqlite).await, tempfile::tempdir().unwrap());
    fs::write(site.path("countersign.toml"), "data_dir = \"data\"\n").unwrap();
    site.variable("COUNTERSIGN__DATA_DIR", "mine");
    let file = site.path("countersign.toml");
    let arguments = ["migrate", "--config", file.to_str().unwrap()];
    let (good, said) = site.run_in(elsewhere.path(), &arguments).await;
    assert!(good, "{said}");
    assert!(elsewhere.path().join("mine/countersign.db").exists());
    assert!(!site.path("data").exists());
    site.end().await;
}

/// Only the commands that run a gateway or prepare one create a database.
#[tokio::test]
async fn a_database_that_does_not_exist_is_not_created_by_accident() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    let archive = site.path("b.tar");
    let archive = archive.to_str().unwrap();
    let files = || site.files().into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    let before = files();
    for arguments in [
        &["token"][..],
        &["token", "list"],
        &["pair"],
        &["backup", archive],
        &["check"],
        &["audit", "show"],
        &["audit", "verify"],
        &["guard", "export"],
        &["guard", "test", "shell", "{}"],
        &["mcp", "list"],
    ] {
        let (good, said) = site.run(arguments).await;
        assert!(!good, "{arguments:?}: {said}");
        let expected = "Error: there is no database at <folder>/countersign.db: pass the --config of \
             the gateway, or run `countersign migrate` for a new one";
        assert_eq!(stable(&said).trim(), expected, "{arguments:?}");
    }
    let (good, said) = site.run(&["doctor"]).await;
    assert!(good && said.contains("countersign.db does not exist yet"), "{said}");
    let (good, said) = site.run(&["guard", "list"]).await;
    assert!(good, "{said}");
    assert_eq!(files(), before, "nothing was created");
    assert!(!site.path("data").exists());
    site.end().await;
}

/// A start announces the subscriptions to webhooks. The announcements outlive a clean stop, and the
/// next start does not take them for leases of a process that was killed.
#[tokio::test]
async fn announcements_of_subscriptions_outlive_a_start() {
    let mut site = Site::new(On::Sqlite).await;
    site.variable("AUDIT", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let subscription = r#"
        [[webhooks_out]]
        name = "audit"
        url = "https://audit.example/"
        secret = { env = "AUDIT" }
        topics = ["turn.finished"]"#;
    site.configure("127.0.0.1:0", subscription);
    let is_announced = async || {
        let leases = site.rows("leases").await;
        leases.iter().any(|row| row["name"] == "webhook audit" && row["node"] == "")
    };
    for _ in 0..2 {
        let mut running = site.start(&[]);
        running.greeted().await;
        eventually("it announces", async || is_announced().await.then_some(())).await;
        assert!(running.stop().await.success(), "{}", running.said());
        assert!(is_announced().await);
    }
    let said = site.said();
    assert!(!said.contains("released the leases of an earlier process"), "{said}");
    site.end().await;
}

/// An earlier release took `data_dir` as relative to the working directory: a start does not silently
/// begin with an empty database.
#[tokio::test]
async fn data_of_an_earlier_release_is_not_forgotten() {
    let (site, elsewhere) = (Site::new(On::Sqlite).await, tempfile::tempdir().unwrap());
    fs::write(site.path("countersign.toml"), "").unwrap();
    fs::create_dir(elsewhere.path().join("data")).unwrap();
    fs::write(elsewhere.path().join("data/countersign.db"), "").unwrap();
    let file = site.path("countersign.toml");
    for command in ["serve", "migrate", "token"] {
        let arguments = [command, "--config", file.to_str().unwrap()];
        let (good, said) = site.run_in(elsewhere.path(), &arguments).await;
        assert!(!good, "{command}: {said}");
        let expected = "Error: there is no database at <folder>/data/countersign.db, but one in \
             <folder>/data: data_dir is relative to the configuration file now. Move that folder, or \
             set data_dir to it";
        assert_eq!(stable(&said).trim(), expected, "{command}");
    }
    assert!(!site.path("data").exists());
    site.end().await;
}

/// `--listen` replaces the configured address, and a port that is taken is reported with both ways to
/// choose another.
#[tokio::test]
async fn the_address_is_chosen_on_the_command_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let site = Site::new(On::Sqlite).await;
    site.configure(&address, "");
    let (good, said) = site.run(&["serve"]).await;
    assert!(!good && said.contains("--listen"), "{said}");
    assert!(said.contains("COUNTERSIGN__ADMIN__LISTEN"), "{said}");
    let mut running = site.asks(&["serve", "--listen", "localhost:0"]);
    running.greeted().await;
    assert!(running.url().starts_with("http://127.0.0.1:"), "{}", running.said());
    let ready = reqwest::get(format!("{}/readyz", running.url())).await.unwrap();
    assert_eq!(ready.status(), 200);
    running.stop().await;
    let (good, said) = site.run(&["serve", "--listen", "localhost"]).await;
    assert!(!good && said.contains("an address with a port such as 127.0.0.1:8642"), "{said}");
    site.end().await;
}

/// An error of the user is one sentence, also with RUST_BACKTRACE.
#[tokio::test]
async fn an_error_of_the_user_has_no_backtrace() {
    let mut site = Site::new(On::Sqlite).await;
    site.variable("RUST_BACKTRACE", "1");
    let (good, said) = site.run(&["render", "nothing.md", "--to", "pdf"]).await;
    assert!(!good, "{said}");
    assert_snapshot!(said, @"Error: reading nothing.md: No such file or directory (os error 2)");
    site.end().await;
}

/// `countersign pair | head -1`
#[tokio::test]
async fn output_that_nobody_reads_is_not_an_error() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = tokio::process::Command::new(BINARY)
        .arg("pair")
        .current_dir(site.path(""))
        .stdout(writer)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.is_empty(), "{said}");
    site.end().await;
}

/// `render` names the file that it wrote.
#[tokio::test]
async fn a_rendered_document_is_named() {
    let site = Site::new(On::Sqlite).await;
    fs::write(site.path("t.csv"), "a,b\n1,2\n").unwrap();
    let (good, said) = site.run(&["render", "t.csv", "--to", "xlsx"]).await;
    assert!(good, "{said}");
    assert_snapshot!(said, @"Wrote t.xlsx.");
    site.end().await;
}

/// Every command has examples in its help. That they parse is a test of the reference page.
#[test]
fn every_help_has_examples() {
    let mut cli = Cli::command();
    cli.build();
    let mut waiting = vec![cli];
    let mut count = 0;
    while let Some(command) = waiting.pop() {
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let name = command.get_bin_name().unwrap_or("countersign").to_owned();
        assert!(examples.starts_with("Examples:\n  "), "{name}");
        assert!(examples.contains(&name), "{name}: {examples}");
        let is_shown = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
        waiting.extend(command.get_subcommands().filter(is_shown).cloned());
        count += 1;
    }
    assert!(count > 30, "only {count} commands were found");
}

/// Completion scripts and man pages need neither a configuration nor a database.
#[tokio::test]
async fn shells_and_man_know_the_commands() {
    let site = Site::new(On::Sqlite).await;
    fs::write(site.path("countersign.toml"), "not a configuration").unwrap();
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef"), ("fish", "complete -c")] {
        let (good, said) = site.run(&["completions", shell]).await;
        assert!(good && said.contains(word) && said.contains("doctor"), "{shell}: {said}");
    }
    let (good, said) = site.run(&["man", "pages"]).await;
    assert!(good && said.contains("countersign.1"), "{said}");
    let page = fs::read_to_string(site.path("pages/countersign-token-revoke.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("sessions\\-of"), "{page}");
    assert!(!site.path("pages/countersign-confine.1").exists());
    site.end().await;
}

/// Lists, `check` and `doctor` print JSON for scripts.
#[tokio::test]
async fn scripts_read_json() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    let (good, said) = site.run(&["people"]).await;
    assert!(good && said.starts_with("Nobody yet"), "{said}");
    let json = async |arguments: &[&str]| {
        let (good, said) = site.run(&[arguments, &["--json", "--log", "off"]].concat()).await;
        assert!(good, "{arguments:?}: {said}");
        serde_json::from_str::<Value>(&said).unwrap_or_else(|_| panic!("{arguments:?}: {said}"))
    };
    site.run(&["token", "--api", "ci", "--role", "viewer"]).await;
    let access = json(&["token", "list"]).await;
    assert_eq!(access["tokens"][0]["name"], "ci");
    assert_eq!(access["sessions"], json!([]));
    assert_eq!(json(&["people"]).await, json!([]));
    assert_eq!(json(&["mcp", "list"]).await, json!([]));
    assert_eq!(json(&["skill", "list"]).await, json!([]));
    let rules = json(&["guard", "list"]).await;
    assert!(rules.as_array().unwrap().iter().any(|rule| rule["action"] == "deny"), "{rules}");
    assert_eq!(json(&["audit", "show"]).await[0]["kind"], "token_created");
    let check = json(&["check"]).await;
    assert_eq!((&check["models"], &check["channels"]), (&json!(["main"]), &json!(["web"])));
    let checks = json(&["doctor"]).await;
    let database = checks.as_array().unwrap().iter().find(|line| line["check"] == "database");
    assert_eq!(database.unwrap()["found"], "ok", "{checks}");
    site.end().await;
}

/// Both commands use bubblewrap without a probe. Inside another sandbox without user namespaces it
/// does not work, and they restrict themselves instead.
#[test]
fn documents_are_rendered_and_read_where_bubblewrap_does_not_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), "# Rivers\n").unwrap();
    let run = |program: &[&str]| {
        let bubblewrap = ["--unshare-user", "--disable-userns", "--dev-bind", "/", "/"];
        let mut command = std::process::Command::new("bwrap");
        command.args(bubblewrap).args(program).current_dir(folder.path()).output().unwrap()
    };
    let nested = run(&["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]);
    assert!(!nested.status.success(), "bubblewrap works inside: {nested:?}");
    let rendered = run(&[BINARY, "render", "a.md", "--to", "docx"]);
    assert!(rendered.status.success(), "{rendered:?}");
    let read = run(&[BINARY, "extract", "a.docx"]);
    assert!(String::from_utf8_lossy(&read.stdout).starts_with("# Rivers"), "{read:?}");
    // A pipe can be read only once.
    let piped = format!("cat a.md | {BINARY} render /dev/stdin --to docx -o b.docx");
    let piped = run(&["sh", "-c", &piped]);
    assert!(piped.status.success(), "{piped:?}");
    let read = run(&[BINARY, "extract", "b.docx"]);
    assert!(String::from_utf8_lossy(&read.stdout).starts_with("# Rivers"), "{read:?}");
}

/// The text that agents would read, in the same confined process.
#[tokio::test]
async fn the_text_of_a_document_is_printed() {
    let mut site = Site::new(On::Sqlite).await;
    fs::write(site.path("a.md"), "# Rivers\n\nThe Rhine is long.\n").unwrap();
    let (good, said) = site.run(&["render", "a.md", "--to", "docx"]).await;
    assert!(good, "{said}");
    let (good, said) = site.run(&["extract", "a.docx", "--log", "error"]).await;
    assert!(good, "{said}");
    assert_snapshot!(said, @"
    # Rivers

    The Rhine is long.

    ## Headers and footers

    1 / 1
    ");
    let (good, said) = site.run(&["extract", "nothing.pdf"]).await;
    assert!(!good, "{said}");
    assert_snapshot!(said, @"Error: reading nothing.pdf: No such file or directory (os error 2)");
    let protect = ["--encrypt", "swordfish 7", "owner", "256", "--", "a.pdf", "protected.pdf"];
    let (good, said) = site.run(&["render", "a.md", "--to", "pdf"]).await;
    assert!(good, "{said}");
    let qpdf = std::process::Command::new("qpdf").args(protect).current_dir(site.path("")).output();
    assert!(qpdf.as_ref().is_ok_and(|qpdf| qpdf.status.success()), "{qpdf:?}");
    let extract = ["extract", "protected.pdf", "--password-env", "REPORT_PASSWORD"];
    let (good, said) = site.run(&extract).await;
    assert!(!good, "{said}");
    assert_snapshot!(said, @"Error: the environment variable REPORT_PASSWORD is not set");
    site.variable("REPORT_PASSWORD", "swordfish 7");
    let (good, said) = site.run(&extract).await;
    assert!(good, "{said}");
    assert!(said.contains("The Rhine is long."), "{said}");
    site.end().await;
}

/// Arguments that are not an object are answered with the form that the tool wants.
#[tokio::test]
async fn a_test_of_the_guard_shows_the_form_of_the_arguments() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    let mut said = Vec::new();
    for (tool, arguments) in
        [("write_file", "notes/a.md"), ("read_file", "\"a\""), ("nothing", "[]")]
    {
        let (good, words) = site.run(&["guard", "test", tool, arguments, "--log", "error"]).await;
        assert!(!good, "{words}");
        said.push(words);
    }
    assert_snapshot!(said.concat(), @r#"
    Error: the arguments must be a JSON object: countersign guard test write_file '{"path":"…","content":"…"}'
    Error: the arguments must be a JSON object: countersign guard test read_file '{"path":"…"}'
    Error: the arguments must be a JSON object: countersign guard test nothing '{"name":"…"}'
    "#);
    site.end().await;
}

/// The log of one conversation is found by the reference that a person was shown, in a file or a
/// pipe; without a journal, the error says where logs come from.
#[tokio::test]
async fn the_log_of_a_conversation_is_shown() {
    let mut site = Site::new(On::Sqlite).await;
    site.variable("PATH", "/nowhere");
    let log = [
        "INFO started",
        "ERROR turn failed conversation.id=ab12",
        "ERROR reporting a failed turn reference=ab12-17",
        "INFO other conversation.id=ab123",
        r#"{"fields":{"conversation.id":"ab12"}}"#,
    ];
    fs::write(site.path("gateway.log"), log.join("\n")).unwrap();
    let (good, said) = site.run(&["logs", "--file", "gateway.log", "--lines", "2"]).await;
    assert!(good);
    assert_eq!(said.lines().collect::<Vec<_>>(), &log[3..]);
    for filter in [["--reference", "ab12-17"], ["--conversation", "ab12"]] {
        let (good, said) = site.run(&["logs", "--file", "gateway.log", filter[0], filter[1]]).await;
        assert!(good && said.contains("turn failed") && said.contains("fields"), "{said}");
        assert!(!said.contains("ab123") && !said.contains("started"), "{said}");
    }
    let mut piped = site.asks(&["logs", "--file", "-", "-n", "1"]);
    piped.types(b"one\ntwo\n").await;
    piped.closes_its_input();
    assert!(piped.ended().await.success());
    assert_eq!(piped.said(), "two\n");
    let (good, said) = site.run(&["logs"]).await;
    assert!(!good && said.contains("standard error") && said.contains("--file"), "{said}");
    let (good, said) = site.run(&["logs", "--file", "nothing.log"]).await;
    assert!(!good && said.contains("nothing.log"), "{said}");
    site.end().await;
}

/// A log that is followed shows new lines as they are written, also after a rotation.
#[tokio::test]
async fn a_log_is_followed() {
    use std::io::Write as _;

    let site = Site::new(On::Sqlite).await;
    let path = site.path("gateway.log");
    fs::write(&path, "first line\n").unwrap();
    let following = site.asks(&["logs", "--file", "gateway.log", "--follow"]);
    let shows = async |text: &str| {
        eventually(text, async || following.said().contains(text).then_some(())).await;
    };
    shows("first line").await;
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"second line\n").unwrap();
    shows("second line").await;
    fs::write(&path, "rotated\n").unwrap();
    shows("rotated").await;
    drop(following);
    site.end().await;
}
