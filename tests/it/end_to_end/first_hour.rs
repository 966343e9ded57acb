//! The first hour of a new operator in the console, with the real program and an empty folder.

use fakes::{
    llm::{FakeLlm, refuse, text},
    telegram::{FakeTelegram, TOKEN},
};
use reqwest::{Client, StatusCode, header, redirect::Policy};
use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use crate::support::process::{On, Running, Site, eventually};

const API_KEY: &str = "sk-of-the-tests-0123456789";

/// An owner with a browser.
struct Owner {
    client: Client,
    base: String,
    cookie: String,
}

impl Owner {
    async fn of(running: &Running) -> Self {
        let builder = Client::builder().timeout(Duration::from_mins(1)).redirect(Policy::none());
        // A reload ends the connections of the previous server.
        let builder = builder.pool_max_idle_per_host(0);
        let (client, base) = (builder.build().unwrap(), running.url());
        let token = running.sign_in_token();
        let signed_in = client
            .post(format!("{base}/sign-in"))
            .header(header::ORIGIN, &base)
            .form(&[("token", token)])
            .send()
            .await
            .unwrap();
        let cookie = signed_in.headers()[header::SET_COOKIE].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { client, base, cookie }
    }

    async fn reads(&self, page: &str) -> String {
        let request = self.client.get(format!("{}/console{page}", self.base));
        let answer = request.header(header::COOKIE, &self.cookie).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{page}");
        answer.text().await.unwrap()
    }

    /// The status and the page, or the address of a redirect.
    async fn sends(&self, page: &str, form: &[(&str, &str)]) -> (StatusCode, String) {
        let request = self.client.post(format!("{}/console{page}", self.base));
        let request = request.header(header::COOKIE, &self.cookie);
        let answer = request.header(header::ORIGIN, &self.base).form(form).send().await.unwrap();
        let (status, to) = (answer.status(), answer.headers().get(header::LOCATION).cloned());
        match to {
            Some(to) => (status, to.to_str().unwrap().to_owned()),
            None => (status, answer.text().await.unwrap()),
        }
    }

    /// A form that is accepted and leads to another page.
    async fn presses(&self, page: &str, form: &[(&str, &str)]) -> String {
        let (status, text) = self.sends(page, form).await;
        assert_eq!(status, StatusCode::SEE_OTHER, "{page}: {text}");
        text
    }
}

fn version(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"version\" value=\"").expect("a form");
    rest.split('"').next().unwrap().to_owned()
}

/// From an empty folder: a key that is wrong is not written, one that works replaces the demo model at
/// once; a bot is connected and its first person gets the role of the code. Secrets are in private
/// files, and the previous file is kept.
/// Proves O1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_operator_connects_a_model_and_a_bot_in_the_console() {
    let (telegram, llm) = (FakeTelegram::start().await, FakeLlm::start().await);
    llm.will(refuse(401, "invalid_api_key", "Incorrect API key.")).always(text("Yes."));
    let mut site = Site::new(On::Sqlite).await;
    site.variable("COUNTERSIGN__ADMIN__LISTEN", "127.0.0.1:0");
    let mut running = site.start_without_a_file();
    running.greeted().await;
    let owner = Owner::of(&running).await;
    assert!(owner.reads("/overview").await.contains("href=\"/console/start\""));

    let base = llm.base_url();
    let base = base.as_str();
    let model = [("provider", "4"), ("address", base), ("model", "a-model"), ("test", "must")];
    let wrong = [&model[..], &[("key", "wrong-key-of-a-model")]].concat();
    let (status, page) = owner.sends("/start/model", &wrong).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.contains("rejects the key (401)") && page.contains("a-model"), "{page}");
    assert!(!page.contains("wrong-key"), "{page}");
    assert!(!site.path("countersign.toml").exists() && !site.path("secrets").exists());
    let right = [&model[..], &[("key", API_KEY)]].concat();
    owner.presses("/start/model", &right).await;
    let page = owner.reads("/start").await;
    assert!(page.contains("a-model") && !page.contains("demo model is answering"), "{page}");

    let api = telegram.url();
    let api = api.as_str();
    let bot = [("platform", "0"), ("token", TOKEN), ("api_url", api), ("test", "must")];
    let (status, page) = owner
        .sends(
            "/start/bot",
            &[("platform", "0"), ("token", "1:wrong-token-of-a-bot"), ("api_url", api)],
        )
        .await;
    assert!(
        status == StatusCode::UNPROCESSABLE_ENTITY && page.contains("rejects the token"),
        "{page}"
    );
    owner.presses("/start/bot", &bot).await;
    let file = fs::read_to_string(site.path("countersign.toml")).unwrap();
    assert!(!file.contains(API_KEY) && !file.contains(TOKEN), "{file}");
    for (name, secret) in [("models-main-api-key", API_KEY), ("channels-telegram-token", TOKEN)] {
        let path = site.path("secrets").join(name);
        assert_eq!(fs::read_to_string(&path).unwrap(), secret);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let code = [("channel", "telegram"), ("role", "operator"), ("hours", "24")];
    let (status, page) = owner.sends("/pairing-codes", &code).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    let code = page.split_once("<p class=\"code\"><code>").unwrap().1.split('<').next().unwrap();
    let chat = telegram.private("Ann");
    telegram.user_says(chat, "Ann", code);
    let shows = async |text: &str| {
        let shown = || telegram.messages(chat).into_iter().any(|shown| shown.text.contains(text));
        eventually(text, async || shown().then_some(())).await;
    };
    shows("Welcome").await;
    telegram.user_says(chat, "Ann", "/whoami");
    shows("operator").await;
    telegram.user_says(chat, "Ann", "hello");
    shows("Yes.").await;
    running.stop().await;
    site.end().await;
}

/// Models and channels are changed in the console: a preview shows the difference, a change keeps
/// comments, is written with a backup, and is applied by a reload, whose difference is shown before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_are_changed_in_the_console_and_reloaded() {
    let llm = FakeLlm::start().await;
    llm.always(text("Yes."));
    let site = Site::new(On::Sqlite).await;
    let base = llm.base_url();
    let models = format!(
        "[[models]] # ours\nid = \"main\"\nprovider = \"openai\"\nbase_url = {base:?}\nmodel = \"old\"\n\
            api_key = {API_KEY:?} # plain\n"
    );
    site.configure("127.0.0.1:0", &models);
    let before = fs::read_to_string(site.path("countersign.toml")).unwrap();
    let mut running = site.start(&[]);
    running.greeted().await;
    let owner = Owner::of(&running).await;
    let page = owner.reads("/configuration?list=models&id=main").await;
    assert!(page.contains("in the configuration file") && !page.contains(API_KEY), "{page}");
    let seen = version(&page);
    let form = |then| {
        [
            ("list", "models"),
            ("id", "main"),
            ("version", seen.as_str()),
            ("key_model", "new"),
            ("key_temperature", "0.5"),
            ("key_api_key", ""),
            ("then", then),
        ]
    };
    let (status, page) = owner.sends("/configuration", &form("preview")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("+model = &quot;new&quot;") && !page.contains(API_KEY), "{page}");
    assert_eq!(fs::read_to_string(site.path("countersign.toml")).unwrap(), before);
    let (_, page) = owner.sends("/configuration", &form("test")).await;
    assert!(page.contains("The test succeeded"), "{page}");
    let elsewhere = [&form("save")[..], &[("key_base_url", "https://evil.example/v1")]].concat();
    let (status, page) = owner.sends("/configuration", &elsewhere).await;
    assert!(
        status == StatusCode::UNPROCESSABLE_ENTITY && page.contains("enter it again"),
        "{page}"
    );
    assert!(page.contains("value=\"0.5\""), "what was typed is kept: {page}");
    let (_, page) = owner.sends("/configuration", &form("save")).await;
    assert!(page.contains("countersign.toml.backup-"), "{page}");
    let after = fs::read_to_string(site.path("countersign.toml")).unwrap();
    assert!(
        after.contains("# ours")
            && after.contains("# plain")
            && after.contains("temperature = 0.5")
    );
    let backups =
        site.files().into_iter().filter(|(path, _)| path.to_string_lossy().contains("backup"));
    let backups: Vec<_> = backups.map(|(_, bytes)| bytes).collect();
    assert_eq!(backups, [before.into_bytes()]);
    reloads(&owner, &site).await;
    running.stop().await;
    site.end().await;
}

/// The page shows the difference to the file, applies it, and says what is wrong with a file that is
/// not valid.
async fn reloads(owner: &Owner, site: &Site) {
    let page = owner.reads("/settings?compare=true").await;
    assert!(page.contains("models.main.model: &quot;old&quot; → &quot;new&quot;"), "{page}");
    owner.presses("/settings/reload", &[]).await;
    let page = owner.reads("/settings?compare=true").await;
    assert!(
        page.contains("contains no changes") && page.contains("configuration written"),
        "{page}"
    );
    fs::write(site.path("countersign.toml"), "mood = 1\n").unwrap();
    let (status, page) = owner.sends("/settings/reload", &[]).await;
    assert!(status == StatusCode::CONFLICT && page.contains("mood"), "{page}");
}

/// An owner who changes a model whose key is written in the file, and types another one.
struct Changes {
    owner: Owner,
    site: Site,
}

impl Changes {
    async fn begin() -> (Self, Running) {
        let site = Site::new(On::Sqlite).await;
        let models = format!(
            "[[models]]\nid = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\napi_key = {API_KEY:?}\n"
        );
        site.configure("127.0.0.1:0", &models);
        let mut running = site.start(&[]);
        running.greeted().await;
        let owner = Owner::of(&running).await;
        (Self { owner, site }, running)
    }

    fn read(&self) -> String {
        fs::read_to_string(self.site.path("countersign.toml")).unwrap()
    }

    fn write(&self, text: &str) {
        fs::write(self.site.path("countersign.toml"), text).unwrap();
    }

    async fn page(&self) -> String {
        self.owner.reads("/configuration?list=models&id=main").await
    }

    /// Presses the button `then`, with one more value.
    async fn sends(&self, version: &str, then: &str, more: (&str, &str)) -> (StatusCode, String) {
        let form = [
            ("list", "models"),
            ("id", "main"),
            ("version", version),
            ("key_model", "new"),
            ("key_api_key", "sk-typed-in-the-form"),
            ("then", then),
            more,
        ];
        let (status, page) = self.owner.sends("/configuration", &form).await;
        assert!(!page.contains(API_KEY) && !page.contains("sk-typed"), "{page}");
        (status, page)
    }

    fn is_untouched(&self, text: &str) {
        let files = self.site.files().into_iter();
        let files = files.map(|(path, _)| path.to_string_lossy().into_owned());
        let parts = ["backup-", "secrets", "draft", ".new"];
        let written: Vec<_> =
            files.filter(|path| parts.iter().any(|part| path.contains(part))).collect();
        assert!(written.is_empty(), "{written:?}");
        assert_eq!(self.read(), text);
    }
}

/// A change that is not accepted writes nothing: neither the file nor a backup nor the secret that
/// was typed. The page says which line would be wrong. A file that somebody else has changed is not
/// overwritten, even if the button is pressed again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_change_writes_nothing() {
    let (changes, mut running) = Changes::begin().await;
    let before = changes.read();
    let seen = version(&changes.page().await);
    let line = 1 + before.lines().position(|line| line.starts_with("provider")).unwrap();
    let (status, page) = changes.sends(&seen, "save", ("key_provider", "nobody")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let says = format!("countersign.toml, line {line}: models.main.provider");
    assert!(page.replace("&#x2f;", "/").contains(&says), "{page}");
    changes.is_untouched(&before);

    let other = before.replace("\"m\"", "\"of somebody else\"");
    changes.write(&other);
    let (_, page) = changes.sends(&seen, "save", ("key_vision", "")).await;
    let still = version(&page);
    for (version, then) in [(&seen, "save"), (&still, "save"), (&seen, "remove")] {
        let (status, page) = changes.sends(version, then, ("key_vision", "")).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{then}");
        assert!(page.contains("changed in the meantime"), "{then}: {page}");
    }
    changes.is_untouched(&other);
    running.stop().await;
    changes.site.end().await;
}

/// A file that cannot be written leaves no secret behind, and the audit has who tried. It is told
/// before the file changes, so that no change is without a record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_leaves_no_secret_and_is_in_the_audit() {
    let (changes, mut running) = Changes::begin().await;
    let before = changes.read();
    // The name of the new file is taken by a folder that is not empty.
    let obstacle = changes.site.path("countersign.toml.new");
    fs::create_dir(&obstacle).unwrap();
    fs::write(obstacle.join("a"), "").unwrap();
    let seen = version(&changes.page().await);
    let (status, page) = changes.sends(&seen, "save", ("key_vision", "")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.contains("creating") && page.contains("countersign.toml.new"), "{page}");
    assert_eq!(changes.read(), before);
    let secrets = fs::read_dir(changes.site.path("secrets")).unwrap().count();
    assert_eq!(secrets, 0, "no secret is left behind");
    let listed = async |kind: &str| {
        changes.owner.reads(&format!("/audit?kind={kind}")).await.contains("+model = ")
    };
    assert!(listed("configuration_write_begun").await);
    assert!(listed("configuration_write_failed").await);
    assert!(!listed("configuration_written").await);

    fs::remove_dir_all(&obstacle).unwrap();
    changes.sends(&seen, "save", ("key_vision", "")).await;
    assert!(changes.read().contains("secrets/models-main-api-key"));
    assert!(listed("configuration_written").await);
    running.stop().await;
    changes.site.end().await;
}

/// Neither the page nor the audit shows a secret of the file or one that was typed, even if the
/// gateway cannot load the file and so does not know its secrets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_the_file_is_shown() {
    let (changes, mut running) = Changes::begin().await;
    let before = changes.read();
    let broken = before.replace("\"openai\"", "\"nobody\"");
    changes.write(&broken);
    let seen = version(&changes.page().await);
    let (status, page) = changes.sends(&seen, "preview", ("key_provider", "openai")).await;
    assert!(status == StatusCode::OK && page.contains("+provider = &quot;openai&quot;"), "{page}");
    assert!(page.contains("-api_key = &quot;…&quot;"), "{page}");
    changes.is_untouched(&broken);
    changes.write(&format!("{before}\nlast = \"{API_KEY}\n"));
    let page = changes.page().await;
    let line = before.lines().count() + 2;
    assert!(page.contains(&format!("line {line}: ")) && !page.contains(API_KEY), "{page}");

    changes.write(&before);
    let seen = version(&changes.page().await);
    let (_, page) = changes.sends(&seen, "save", ("key_vision", "")).await;
    assert!(page.contains("countersign.toml.backup-"), "{page}");
    assert!(changes.read().contains("api_key = { file = \"secrets/models-main-api-key\" }"));
    let audit = changes.owner.reads("/audit?kind=configuration_written").await;
    assert!(audit.contains("+model = "), "{audit}");
    assert!(!audit.contains(API_KEY) && !audit.contains("sk-typed"), "{audit}");
    running.stop().await;
    changes.site.end().await;
}

/// The checks of `countersign doctor` are shown in the console, with and without the network.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_is_in_the_console() {
    let llm = FakeLlm::start().await;
    llm.always(refuse(401, "invalid_api_key", "Incorrect API key."));
    let site = Site::new(On::Sqlite).await;
    let base = llm.base_url();
    let models = format!(
        "[[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = {base:?}\nmodel = \"m\"\n\
            api_key = {API_KEY:?}\n"
    );
    site.configure("127.0.0.1:0", &models);
    let mut running = site.start(&[]);
    running.greeted().await;
    let owner = Owner::of(&running).await;
    let page = owner.reads("/doctor").await;
    assert!(page.contains("all keys are valid") && !page.contains("model main, live"), "{page}");
    assert!(!page.contains("--live"), "the page has a button for that: {page}");
    let (status, page) = owner.sends("/doctor", &[]).await;
    assert_eq!(status, StatusCode::OK);
    let row = page.split("<tr>").find(|row| row.contains("model main, live")).expect("a row");
    assert!(row.contains("failed") && row.contains("401") && !page.contains(API_KEY), "{row}");
    running.stop().await;
    site.end().await;
}
