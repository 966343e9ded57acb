//! `countersign doctor`, as an operator uses it.

use fakes::{
    telegram::{FakeTelegram, TOKEN},
    wasm::{Component, Guest},
};
use insta::assert_snapshot;
use sqlx::Connection as _;

use crate::support::{
    process::{On, Site},
    stable_output::stable,
};

async fn a_fresh_place_is_sound(on: On) {
    let site = Site::new(on).await;
    site.configure("127.0.0.1:8642", "");
    site.migrate().await;
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(fine, "{said}");
    for line in [
        "ok    configuration",
        "ok    data_dir",
        "ok    database",
        "ok    sandbox",
        "warn  models",
        "ok    wasm tools",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("FAIL"), "{said}");
    site.end().await;
}

#[tokio::test]
async fn doctor_finds_a_fresh_place_sound_on_sqlite() {
    a_fresh_place_is_sound(On::Sqlite).await;
}

#[tokio::test]
async fn doctor_finds_a_fresh_place_sound_on_postgres() {
    a_fresh_place_is_sound(On::Postgres).await;
}

/// Each fault has a line that says what to do, and the command fails.
#[tokio::test]
async fn doctor_names_each_fault() {
    let site = Site::new(On::Sqlite).await;
    site.configure("0.0.0.0:8642", "colour = 1");
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(!fine && said.contains("FAIL  configuration") && said.contains("colour"), "{said}");

    std::fs::write(site.path("data"), "no folder").unwrap();
    std::fs::write(site.path("countersign.db"), "no database, but long enough to look like one")
        .unwrap();
    let more = "[[webhooks_in]]\nname = \"ci\"\nchannel = \"web\"\nchat = \"ann\"\n\
                [[webhooks_out]]\nname = \"ops\"\nurl = \"https://example.org/\"\ntopics = []\n\
                secret = { env = \"NOT_SET\" }\n";
    site.configure("0.0.0.0:8642", more);
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(!fine, "{said}");
    for line in
        ["FAIL  data_dir", "FAIL  database", "FAIL  webhooks", "NOT_SET", "warn  admin.listen"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
    site.end().await;
}

/// A component that cannot be loaded, and one that nobody trusts, are named with what to do; neither
/// is a fault. `check` names the first one too.
/// Proves IC-43.
#[tokio::test]
async fn doctor_checks_each_component() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", "");
    site.migrate().await;
    std::fs::create_dir_all(site.path("data/tools")).unwrap();
    std::fs::write(site.path("data/tools/broken.wasm"), "no component").unwrap();
    let component = Component::new("repeat", Guest::Echo).bytes();
    std::fs::write(site.path("data/tools/parrot.wasm"), component).unwrap();
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(fine, "{said}");
    let line = said.lines().find(|line| line.starts_with("warn  wasm tools")).unwrap();
    assert!(line.contains("`broken` is invalid: it is not a WebAssembly component"), "{line}");
    assert!(line.contains("`parrot` is unavailable: no operator has trusted it yet"), "{line}");
    let (fine, said) = site.run(&["check"]).await;
    assert!(fine && said.contains("warning   the WASM tool `broken` is invalid"), "{said}");
    assert!(said.contains("`repeat`: no operator has trusted it yet"), "{said}");
    site.end().await;
}

/// The languages in which software can be built are named with their versions.
#[tokio::test]
async fn doctor_names_the_languages_of_the_builder() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", "");
    let (_, said) = site.run(&["doctor"]).await;
    assert!(said.contains("is off (builder.enabled)"), "{said}");
    site.configure("127.0.0.1:8642", "[builder]\nenabled = true");
    let (_, said) = site.run(&["doctor"]).await;
    let line = said.lines().find(|line| line.contains(" builder ")).unwrap();
    for found in ["Python: Python 3.", "JavaScript: Node.js v", "shell: POSIX shell"] {
        assert!(line.contains(found), "{line}");
    }
    site.configure("127.0.0.1:8642", "[builder]\nat_once = 99\nmodel = \"none\"");
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(!fine && said.contains("builder.at_once: from 1 to 16"), "{said}");
    site.end().await;
}

/// Each data source has a line: how much of it agents can see, or what is wrong. No password is
/// shown.
#[tokio::test]
async fn doctor_checks_each_data_source() {
    let site = Site::new(On::Sqlite).await;
    let file = site.path("shop.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    let mut shop = sqlx::SqliteConnection::connect(&url).await.unwrap();
    for table in ["CREATE TABLE orders (id INTEGER)", "CREATE TABLE audit (id INTEGER)"] {
        sqlx::query(table).execute(&mut shop).await.unwrap();
    }
    shop.close().await.unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let more = format!(
        "[[datasources]]\nname = \"shop\"\nurl = \"sqlite://{}\"\nhidden_tables = [\"audit\"]\n\
         [[datasources]]\nname = \"crm\"\nurl = \"postgres://ann:hunter2hunter2@{closed}/crm\"\n",
        file.display()
    );
    site.configure("127.0.0.1:8642", &more);
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(!fine, "{said}");
    for line in ["ok    datasource shop", "agents see 1 of 2 tables", "FAIL  datasource crm"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(said.contains("the database cannot be reached") && !said.contains("hunter2"), "{said}");
    site.end().await;
}

/// Stored data is private to one account: the folder and the database are created so, and a
/// readable one is reported with a remedy.
#[tokio::test]
async fn doctor_reports_a_data_folder_that_others_can_read() {
    use std::{
        fs::{Permissions, set_permissions},
        os::unix::fs::PermissionsExt as _,
    };
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", "");
    site.migrate().await;
    let mode = |name: &str| site.path(name).metadata().unwrap().permissions().mode() & 0o777;
    let (_, said) = site.run(&["doctor"]).await;
    assert!(said.contains("ok    data_dir"), "{said}");
    assert_eq!((mode("data"), mode("countersign.db")), (0o700, 0o600));
    set_permissions(site.path("data"), Permissions::from_mode(0o755)).unwrap();
    set_permissions(site.path("countersign.db"), Permissions::from_mode(0o644)).unwrap();
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(fine && said.contains("warn  data_dir"), "{said}");
    assert!(said.contains("chmod go=") && said.contains("countersign.db"), "{said}");
    site.end().await;
}

/// With an own web chat, people with a sign-in link may not talk unless they are named or paired:
/// `token`, `check` and `doctor` say so. The link of the start is an owner's.
#[tokio::test]
async fn a_link_for_somebody_who_may_not_talk_is_warned_of() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", "[[channels]]\nid = \"mine\"\nkind = \"web\"\n");
    site.migrate().await;
    let (fine, said) = site.run(&["token"]).await;
    assert!(fine && said.contains("sign-in?token=") && !said.contains("warning"), "{said}");
    let (_, said) = site.run(&["doctor"]).await;
    assert!(said.contains("ok    web chat"), "{said}");
    let (fine, said) = site.run(&["token", "--name", "Ann"]).await;
    assert!(fine && said.contains("sign-in?token="), "{said}");
    let warning = "\"Ann\" may not talk on `mine`: add the name to `allow` of the channel, or send a \
                   code of `countersign pair --channel mine` in the chat";
    assert!(said.contains(&format!("warning: {warning}")), "{said}");
    for command in ["check", "doctor"] {
        let (fine, said) = site.run(&[command]).await;
        assert!(fine && said.contains(warning) && !said.contains("\"owner\" may not"), "{said}");
    }
    site.end().await;
}

/// With --live the platform is contacted; no token is printed, whatever the response.
/// Proves S11.
#[tokio::test]
async fn doctor_asks_the_platform() {
    let telegram = FakeTelegram::start().await;
    let mut site = Site::new(On::Sqlite).await;
    site.variable("TOKEN", TOKEN);
    let channel = |url: &str| {
        format!(
            "[[channels]]\nid = \"tg\"\nkind = \"telegram\"\nallow = []\n\
             token = {{ env = \"TOKEN\" }}\napi_url = {url:?}\n"
        )
    };
    site.configure("127.0.0.1:8642", &channel(&telegram.url()));
    let (fine, said) = site.run(&["doctor", "--live"]).await;
    assert!(fine && said.contains("ok    channel tg, live"), "{said}");
    for (token, url) in
        [("1:wrong-token-of-a-bot", telegram.url()), (TOKEN, "http://127.0.0.1:9".into())]
    {
        site.variable("TOKEN", token);
        site.configure("127.0.0.1:8642", &channel(&url));
        let (fine, said) = site.run(&["doctor", "--live"]).await;
        assert!(!fine && said.contains("FAIL  channel tg, live"), "{said}");
        assert!(!said.contains(token), "{said}");
    }
    site.end().await;
}

/// Whatever the fault, `doctor` prints no secret of the configuration or of a URL.
/// Proves S11, O1.
#[tokio::test]
async fn doctor_tells_no_secret() {
    const CANARY: &str = "canary-4f9c2b7e51aa";
    let site = Site::new(On::Sqlite).await;
    let nowhere = "http://127.0.0.1:9";
    let more = format!(
        "metrics_token = \"{CANARY}\"\n\
         [[models]]\nid = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\n\
         base_url = \"http://ann:canary-of-an-address@127.0.0.1:9/v1\"\napi_key = \"{CANARY}\"\n\
         [[agents]]\nid = \"default\"\nmodel = \"main\"\n\
         [[channels]]\nid = \"tg\"\nkind = \"telegram\"\nallow = []\n\
         token = \"1:{CANARY}\"\napi_url = \"{nowhere}\"\n\
         [[channels]]\nid = \"dc\"\nkind = \"discord\"\nallow = []\n\
         token = \"{CANARY}\"\napi_url = \"{nowhere}\"\n\
         [[mcp]]\nname = \"far\"\nurl = \"{nowhere}\"\nbearer = \"{CANARY}\"\n\
         [[webhooks_out]]\nname = \"ops\"\nurl = \"https://example.org/\"\ntopics = []\n\
         secret = \"{CANARY}\"\n"
    );
    site.configure("127.0.0.1:8642", &more);
    site.migrate().await;
    for arguments in [&["doctor"][..], &["doctor", "--live"]] {
        let (fine, said) = site.run(arguments).await;
        assert!(!fine && said.contains("FAIL  webhooks"), "{said}");
        assert!(said.contains("ok    database"), "all is looked at: {said}");
        assert!(!said.contains("canary"), "{said}");
    }
    let database = format!("postgres://ann:{CANARY}@127.0.0.1:9/nothing");
    let text = std::fs::read_to_string(site.path("countersign.toml")).unwrap();
    let text = text.replace(&site.url(), &database);
    std::fs::write(site.path("countersign.toml"), text).unwrap();
    let (_, said) = site.run(&["doctor"]).await;
    assert!(said.contains("FAIL  database"), "{said}");
    assert!(!said.contains("canary"), "{said}");
    site.end().await;
}

/// An MCP server in the configuration with this tool.
fn moody(site: &Site, description: &str) -> String {
    let offered = serde_json::json!([{
        "name": "echo", "description": description, "inputSchema": { "type": "object" },
    }]);
    std::fs::write(site.path("tools.json"), offered.to_string()).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/moody_mcp.py");
    let folder = site.path("");
    let command = ["python3", program, folder.to_str().unwrap()];
    format!("[[mcp]]\nname = \"m\"\ncommand = {command:?}\nsandbox = false\n")
}

/// With --live the MCP servers are contacted too.
#[tokio::test]
async fn doctor_asks_the_servers_of_tools() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", &moody(&site, "Echoes."));
    let (fine, said) = site.run(&["doctor", "--live"]).await;
    assert!(fine && said.contains("ok    mcp m, live"), "{said}");
    assert!(said.contains("answers with protocol 2025-06-18 and 1 tools"), "{said}");
    let gone = "[[mcp]]\nname = \"m\"\nurl = \"http://127.0.0.1:9/mcp\"\n";
    site.configure("127.0.0.1:8642", gone);
    let (fine, said) = site.run(&["doctor", "--live"]).await;
    assert!(!fine && said.contains("FAIL  mcp m, live"), "{said}");
    site.end().await;
}

/// The command line lists the known tools, shows changes, and trusts them.
/// Proves S16.
#[tokio::test]
async fn tools_of_servers_are_trusted_on_the_command_line() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", &moody(&site, "Echoes."));
    site.migrate().await;
    let says = async |arguments: &[&str]| {
        let (fine, said) = site.run(arguments).await;
        assert!(fine, "{arguments:?}: {said}");
        said
    };
    assert_snapshot!(stable(&says(&["mcp", "list"]).await), @"No tools yet: start the gateway, so that it connects to the servers.");
    says(&["check"]).await;
    assert_snapshot!(stable(&says(&["mcp", "list"]).await), @"m echo: as first seen (50d11e18c52f)");
    let (fine, review) = site.run(&["mcp", "trust", "m"]).await;
    assert!(!fine, "{review}");
    assert_snapshot!(stable(&review), @r#"
    m echo: as first seen (50d11e18c52f)
      is  {"annotations":null,"description":"Echoes.","inputSchema":{"type":"object"},"name":"echo"}
    Error: nothing was trusted yet. Review the definitions; if they are right, run `countersign mcp trust m --digest <digest>`
    "#);
    let digest_in = |review: &str| {
        let (_, digest) = review.rsplit_once("--digest ").unwrap();
        digest.split('`').next().unwrap().to_owned()
    };
    let first = digest_in(&review);
    assert_snapshot!(stable(&says(&["mcp", "trust", "m", "--digest", &first]).await), @"Trusted as reviewed, effective within ten seconds: echo.");
    assert_snapshot!(stable(&says(&["mcp", "list"]).await), @"m echo: trusted by operator (50d11e18c52f)");
    moody(&site, "Echoes, and tells others.");
    says(&["check"]).await;
    let changed = says(&["mcp", "list", "m"]).await;
    assert_snapshot!(stable(&changed), @r#"
    m echo: CHANGED, withheld (ebfb14efa7f6)
      was {"annotations":null,"description":"Echoes.","inputSchema":{"type":"object"},"name":"echo"}
      is  {"annotations":null,"description":"Echoes, and tells others.","inputSchema":{"type":"object"},"name":"echo"}
    "#);
    let (fine, refused) = site.run(&["mcp", "trust", "m", "echo", "--digest", &first]).await;
    assert!(!fine);
    assert_snapshot!(stable(&refused), @"Error: nothing was trusted: the definitions are not those with this digest. Review them again with `countersign mcp trust m`");
    let (_, review) = site.run(&["mcp", "trust", "m", "echo"]).await;
    says(&["mcp", "trust", "m", "echo", "--digest", &digest_in(&review)]).await;
    assert_snapshot!(stable(&says(&["mcp", "list"]).await), @"m echo: trusted by operator (ebfb14efa7f6)");
    assert_snapshot!(stable(&says(&["mcp", "list", "other"]).await), @"No tools yet: start the gateway, so that it connects to the servers.");
    let mut problems = vec![];
    for wrong in [&["mcp", "trust", "m", "nothing"][..], &["mcp", "login", "nothing"]] {
        let (fine, said) = site.run(wrong).await;
        assert!(!fine, "{said}");
        problems.push(stable(&said));
    }
    assert_snapshot!(problems.join("\n"), @"
    Error: there is no such tool of `m`; `countersign mcp list` lists the tools

    Error: there is no [[mcp]] with the name `nothing`
    ");
    site.end().await;
}

/// The shipped rules are not a security boundary if everything else is allowed; operators are
/// warned.
#[tokio::test]
async fn an_open_default_for_the_shell_is_warned_of() {
    let site = Site::new(On::Sqlite).await;
    let asks = "[[guard.rules]]\ntool = \"shell\"\naction = \"ask\"\n";
    for (more, warned) in [("", true), (asks, false)] {
        site.configure("127.0.0.1:8642", &format!("[guard]\ndefault = \"allow\"\n{more}"));
        site.migrate().await;
        let (fine, said) = site.run(&["doctor"]).await;
        assert!(fine, "{said}");
        assert_eq!(said.contains("warn  guard"), warned, "{said}");
        let (fine, said) = site.run(&["check"]).await;
        assert!(fine, "{said}");
        assert_eq!(said.contains("not a security boundary"), warned, "{said}");
    }
    site.end().await;
}

/// A search provider without its key does not prevent the start; `doctor` names it. One working
/// provider is enough.
/// Proves CA-29.
#[tokio::test]
async fn doctor_names_what_a_tool_lacks() {
    let mut site = Site::new(On::Sqlite).await;
    let search = "[[web.search]]\nprovider = \"serper\"\nkey = { env = \"SERPER_KEY\" }\n\
                  [[web.search]]\nprovider = \"brave\"\nkey = { env = \"BRAVE_KEY\" }\n";
    site.configure("127.0.0.1:8642", search);
    site.migrate().await;
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(fine && said.contains("warn  tools"), "{said}");
    let why =
        "`web_search` is unavailable: the environment variables SERPER_KEY, BRAVE_KEY are not set";
    assert!(said.contains(why), "{said}");
    let (fine, said) = site.run(&["check"]).await;
    let why = "`web_search`: the environment variables SERPER_KEY, BRAVE_KEY are not set";
    assert!(fine && said.contains(why), "{said}");
    site.variable("BRAVE_KEY", "key-of-brave");
    let (_, said) = site.run(&["doctor"]).await;
    assert!(!said.contains("web_search"), "{said}");
    site.end().await;
}

/// A service for media without its key does not prevent the start; `doctor` names it.
#[tokio::test]
async fn doctor_names_the_services_for_media() {
    let mut site = Site::new(On::Sqlite).await;
    let media = "[media.transcription]\nprovider = \"openai\"\nmodel = \"a-model\"\n\
                 api_key = { env = \"SPEECH_KEY\" }\n";
    site.configure("127.0.0.1:8642", media);
    site.migrate().await;
    let (fine, said) = site.run(&["doctor"]).await;
    assert!(fine && said.contains("warn  media.transcription"), "{said}");
    let why = "`speech_to_text` is unavailable: the environment variable SPEECH_KEY is not set";
    assert!(said.contains(why), "{said}");
    site.variable("SPEECH_KEY", "key-of-speech");
    let (_, said) = site.run(&["doctor"]).await;
    assert!(said.contains("is done by OpenAI") && !said.contains("SPEECH_KEY"), "{said}");
    assert!(!said.contains("speech_to_text") && !said.contains("key-of-speech"), "{said}");
    site.end().await;
}
