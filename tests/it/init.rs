//! `countersign init`, as a new operator uses it.

use fakes::{
    llm::{FakeLlm, refuse, text},
    telegram::{FakeTelegram, TOKEN},
};
use insta::assert_snapshot;
use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::{
    process::{On, Site},
    shown::stable,
};

const API_KEY: &str = "sk-of-the-tests-0123456789";

/// A wrong token and a wrong key are found before the file is written; what is typed is kept in
/// private files beside it; the first pairing code makes an owner, and the gateway starts with it.
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
    assert_snapshot!(stable(&said), @"");
    let file = fs::read_to_string(site.path("countersign.toml")).unwrap();
    assert_snapshot!(file.replace(&base, "<url>"), @"");
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

/// Nothing is written if the input ends early or if there is a file already.
#[tokio::test]
async fn init_overwrites_nothing_and_writes_nothing_half() {
    let site = Site::new(On::Sqlite).await;
    let mut init = site.asks(&["init"]);
    init.types(b"3\n").await;
    init.closes_its_input();
    assert!(!init.ended().await.success());
    assert_snapshot!(init.said().lines().last().unwrap_or_default(), @"");
    assert!(site.files().is_empty() || !site.path("countersign.toml").exists());
    fs::write(site.path("countersign.toml"), "").unwrap();
    let (good, said) = site.run(&["init"]).await;
    assert!(!good);
    assert_snapshot!(said.trim(), @"");
    site.end().await;
}
