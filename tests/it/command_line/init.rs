//! `countersign init`, as a new operator uses it.

use fakes::{
    llm::{FakeLlm, refuse, text},
    telegram::{FakeTelegram, TOKEN},
};
use insta::assert_snapshot;
use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::{
    process::{On, Site},
    stable_output::stable,
};

const API_KEY: &str = "sk-of-the-tests-0123456789";

fn assert_dialogue(said: &str) {
    assert_snapshot!(stable(said), @r"
    This writes countersign.toml: a bot on a chat platform, and a language model. Enter takes the value in brackets.

    Chat platform
      1  Telegram
      2  Discord
      3  None for now: only the web chat
    Choose [1]: Enter a number from 1 to 3.
    Choose [1]: Token from @BotFather on Telegram (not shown): Checking the token…
    It failed: the platform rejects the token (401: Unauthorized): check that it is correct and has not been revoked

    What now?
      1  Enter it again
      2  Keep it; `countersign doctor --live` tests it again
    Choose [1]: 
    Chat platform
      1  Telegram
      2  Discord
      3  None for now: only the web chat
    Choose [1]: Token from @BotFather on Telegram (not shown): Checking the token…
    The platform accepts the token.

    Role of the person with the first pairing code
      1  owner: may do everything
      2  operator: may also choose models and use the operator pages of the console
      3  approver: may decide the approvals of others
      4  member: may talk to the agent
    Choose [1]: 
    Language model
      1  Anthropic
      2  OpenAI
      3  Google Gemini
      4  Ollama
      5  Another server with the API of OpenAI
      6  None for now: a demo model answers
    Choose [1]: Address [http://localhost:8000/v1]: API key (not shown): Model: Sending a test request…
    It failed: refused: 127.0.0.1 rejects the key (401): check OPENAI_API_KEY, or `api_key` of the model `main`, and that it has access to a-model

    What now?
      1  Enter it again
      2  Keep it; `countersign doctor --live` tests it again
    Choose [1]: 
    Language model
      1  Anthropic
      2  OpenAI
      3  Google Gemini
      4  Ollama
      5  Another server with the API of OpenAI
      6  None for now: a demo model answers
    Choose [1]: Address [http://localhost:8000/v1]: API key (not shown): Model: Sending a test request…
    The model answers.

    Wrote countersign.toml.

    Pairing code: <code>

    https://t.me/counter_bot?start=<code>

    Open the link, or send the code to the bot. It works once, for 24 hours.
    The person who redeems the code gets the role owner. Use --role for a different one. A visitor of a widget is always a member.

    Next: `countersign` starts the gateway.
    ");
}

fn assert_file(file: &str) {
    assert_snapshot!(file, @r##"
    # Configuration of Countersign, written by `countersign init`.
    # `countersign config example` prints every key with its description and default,
    # `countersign doctor --live` tests this file.

    # The database and all files.
    data_dir = "./data"

    # The language model. The first one answers unless [[agents]] name others.
    [[models]]
    id = "main"
    provider = "openai"
    base_url = "<url>"
    model = "a-model"
    api_key = { file = "secrets/openai-api-key" }

    # The bot. `countersign pair` prints codes that give people access to it.
    [[channels]]
    id = "telegram"
    kind = "telegram"
    token = { file = "secrets/telegram-bot-token" }
    "##);
}

/// A wrong token or key is found before the file is written. Secrets are stored in private files
/// beside it. The first pairing code makes an owner, and the gateway starts with the result.
/// Proves O1.
#[tokio::test]
async fn a_new_operator_is_asked_and_what_they_enter_is_tested() {
    let (telegram, llm) = (FakeTelegram::start().await, FakeLlm::start().await);
    llm.will(refuse(401, "invalid_api_key", "Incorrect API key.")).always(text("Yes."));
    let mut site = Site::new(On::Sqlite).await;
    site.variable("COUNTERSIGN__CHANNELS__0__API_URL", &telegram.url());
    site.variable("COUNTERSIGN__ADMIN__LISTEN", "127.0.0.1:0");
    let mut init = site.asks(&["init"]);
    let wrong = "1:wrong-token-of-a-bot";
    let base = llm.base_url();
    let answers = [
        "9",
        "1",
        wrong,
        "1",
        "1",
        TOKEN,
        "", // the platform, its token, the role of the first
        "5",
        &base,
        "wrong-key",
        "a-model",
        "1",
        "5",
        &base,
        API_KEY,
        "a-model",
    ];
    init.types(format!("{}\n", answers.join("\n")).as_bytes()).await;
    assert!(init.ended().await.success(), "{}", init.said());
    let said = init.said();
    for secret in [wrong, TOKEN, "wrong-key", API_KEY] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    assert_dialogue(&said);
    let file = fs::read_to_string(site.path("countersign.toml")).unwrap();
    assert_file(&file.replace(&base, "<url>"));
    for (file, secret) in
        [("secrets/telegram-bot-token", TOKEN), ("secrets/openai-api-key", API_KEY)]
    {
        assert_eq!(fs::read_to_string(site.path(file)).unwrap(), secret);
        assert_eq!(fs::metadata(site.path(file)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let chat = telegram.private("Ann");
    let code = said.lines().find_map(|line| line.strip_prefix("Pairing code: ")).unwrap();
    let mut gateway = site.start(&[]);
    gateway.greeted().await;
    telegram.user_says(chat, "Ann", code);
    telegram.until(|telegram| telegram.messages(chat).iter().any(|shown| shown.from_bot)).await;
    telegram.user_says(chat, "Ann", "/whoami");
    telegram
        .until(|telegram| {
            telegram.messages(chat).iter().any(|shown| shown.text.contains(", owner."))
        })
        .await;
    gateway.stop().await;
    site.end().await;
}

/// Variables that are set are used and not asked for. Without a platform there is no pairing code.
#[tokio::test]
async fn init_uses_the_variables_that_are_set() {
    let mut site = Site::new(On::Sqlite).await;
    site.variable("OPENAI_API_KEY", API_KEY);
    let llm = FakeLlm::start().await;
    llm.always(text("Yes."));
    let mut init = site.asks(&["init"]);
    init.types(format!("3\n5\n{}\na-model\n", llm.base_url()).as_bytes()).await;
    assert!(init.ended().await.success(), "{}", init.said());
    assert!(!init.said().contains("Pairing code"), "{}", init.said());
    let file = fs::read_to_string(site.path("countersign.toml")).unwrap();
    assert!(file.contains("api_key = { env = \"OPENAI_API_KEY\" }"), "{file}");
    assert!(!site.path("secrets").exists());
    site.end().await;
}

/// Answers with which no gateway could start are asked for again. The folder of the file is created,
/// and a secret that is there already is kept.
#[tokio::test]
async fn init_writes_only_a_configuration_that_can_be_loaded() {
    let site = Site::new(On::Sqlite).await;
    let llm = FakeLlm::start().await;
    llm.always(text("Yes."));
    let secrets = site.path("bots/secrets");
    fs::create_dir_all(&secrets).unwrap();
    fs::write(secrets.join("openai-api-key"), "of another bot").unwrap();
    for (file, key) in [("bots/a.toml", "openai-api-key-2"), ("more/bots/b.toml", "openai-api-key")]
    {
        let mut init = site.asks(&["init", "--config", file]);
        let base = llm.base_url();
        let answers = ["3", "5", &base, API_KEY, "", "5", &base, API_KEY, "a-model"];
        init.types(format!("{}\n", answers.join("\n")).as_bytes()).await;
        assert!(init.ended().await.success(), "{}", init.said());
        let said = init.said();
        let problem = said.lines().find_map(|line| line.split_once("It failed: ")).unwrap().1;
        assert_eq!(problem, "models.main.model: name a model of the provider");
        let path = site.path(file);
        let written = fs::read_to_string(&path).unwrap();
        assert!(
            written.contains(&format!("api_key = {{ file = \"secrets/{key}\" }}")),
            "{written}"
        );
        let stored = path.parent().unwrap().join("secrets").join(key);
        assert_eq!(fs::read_to_string(stored).unwrap(), API_KEY);
    }
    assert_eq!(fs::read_to_string(secrets.join("openai-api-key")).unwrap(), "of another bot");
    site.end().await;
}

/// Nothing is written if the input ends early or if there is a file already.
#[tokio::test]
async fn init_overwrites_nothing_and_writes_nothing_half() {
    let site = Site::new(On::Sqlite).await;
    let mut init = site.asks(&["init"]);
    init.types(b"3\n").await;
    init.closes_its_input();
    assert!(!init.ended().await.success());
    assert_snapshot!(init.said().lines().last().unwrap_or_default(), @"Choose [1]: Error: the input ended before all questions were answered");
    assert!(site.files().is_empty() || !site.path("countersign.toml").exists());
    fs::write(site.path("countersign.toml"), "").unwrap();
    let (good, said) = site.run(&["init"]).await;
    assert!(!good);
    assert_snapshot!(said.trim(), @"Error: countersign.toml exists: edit it, or pass the name of a new file with --config");
    site.end().await;
}
