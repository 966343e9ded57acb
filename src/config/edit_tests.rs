//! Changing entries of the configuration file.

use super::*;

const FILE: &str = r#"# Kept as it is.
data_dir = "./data"

[[models]] # the first one
id = "main"
provider = "openai" # ours
api_key = { env = "OPENAI_API_KEY" }
fallback = ["spare"]

[guard]
default = "ask"

[[channels]]
id = "tg"
kind = "telegram"
token = { file = "secrets/tg" }
roles = { "42" = "owner" }
"#;

fn texts(values: &[(&str, &str)]) -> BTreeMap<String, NewValue> {
    let new = |text: &str| NewValue::Text(text.to_owned());
    values.iter().map(|(key, text)| ((*key).to_owned(), new(text))).collect()
}

fn changed(list: EntryList, id: &str, values: &[(&str, &str)]) -> String {
    put(FILE, list, id, &texts(values)).unwrap()
}

#[test]
fn only_what_changes_is_written() {
    let same = [("provider", "openai"), ("fallback", "spare\n"), ("temperature", "")];
    assert_eq!(changed(EntryList::Models, "main", &same), FILE);
    let new = [("model", "gpt-5"), ("temperature", "0.5"), ("vision", "true"), ("fallback", "")];
    let text = changed(EntryList::Models, "main", &new);
    let entry = "[[models]] # the first one\nid = \"main\"\nprovider = \"openai\" # ours\n\
        api_key = { env = \"OPENAI_API_KEY\" }\nmodel = \"gpt-5\"\nvision = true\n\
        temperature = 0.5\n\n[guard]";
    assert!(text.contains(entry), "{text}");
    let (before, after) =
        (FILE.split_once("[[models]]").unwrap().0, FILE.split_once("[guard]").unwrap().1);
    assert!(text.starts_with(before) && text.ends_with(after), "{text}");
}

#[test]
fn entries_are_added_and_removed() {
    let added = changed(EntryList::Channels, "dc", &[("kind", "discord"), ("allow", "1\n2")]);
    let added = added.strip_prefix(FILE).expect("the rest is as it was");
    assert_eq!(added, "\n[[channels]]\nid = \"dc\"\nkind = \"discord\"\nallow = [\"1\", \"2\"]\n");
    let text = put("", EntryList::Models, "main", &texts(&[("provider", "ollama")])).unwrap();
    assert_eq!(text.trim_start(), "[[models]]\nid = \"main\"\nprovider = \"ollama\"\n");
    let without = remove(FILE, EntryList::Channels, "tg").unwrap();
    assert!(!without.contains("[[channels]]") && without.contains("# Kept as it is."), "{without}");
    assert!(remove(FILE, EntryList::Channels, "other").is_err());
}

/// The form never shows a secret, and a secret does not go to another server unnoticed.
#[test]
fn a_secret_is_not_shown_and_does_not_follow_a_new_address() {
    let plain = FILE.replace(r#"{ env = "OPENAI_API_KEY" }"#, r#""sk-never-shown""#);
    let entries = entries(&plain).unwrap();
    assert!(!format!("{entries:?}").contains("sk-never"), "{entries:?}");
    assert_eq!(entries[1].values["token"], "file secrets/tg");
    assert_eq!(entries[1].values["roles"], "42 = owner");
    let elsewhere = texts(&[("base_url", "https://evil.example/v1")]);
    let refused = put(FILE, EntryList::Models, "main", &elsewhere).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "api_key: enter it again, because it would be sent to another address"
    );
    let mut again = elsewhere;
    again.insert("api_key".into(), NewValue::SecretFile("secrets/new".into()));
    let text = put(FILE, EntryList::Models, "main", &again).unwrap();
    assert!(text.contains(r#"api_key = { file = "secrets/new" }"#), "{text}");
    let typed = texts(&[("token", "123:abc")]);
    assert!(put(FILE, EntryList::Channels, "tg", &typed).is_err());
}

/// Keys are entered as their schema says; paths of the machine are left out.
#[test]
fn fields_follow_the_schema() {
    let kinds = |list| {
        fields(list).into_iter().map(|field| (field.key, field.kind)).collect::<BTreeMap<_, _>>()
    };
    let choice =
        |words: &[&str]| FieldKind::Choice(words.iter().map(|word| (*word).to_owned()).collect());
    let models = kinds(EntryList::Models);
    for (key, kind) in [
        ("provider", choice(&["openai", "anthropic", "gemini", "ollama", "demo"])),
        ("base_url", FieldKind::Text),
        ("api_key", FieldKind::Secret),
        ("vision", FieldKind::Switch),
        ("temperature", FieldKind::Number),
        ("input_price", FieldKind::Number),
        ("fallback", FieldKind::Lines),
    ] {
        assert_eq!(models[key], kind, "{key}");
    }
    let channels = kinds(EntryList::Channels);
    for (key, kind) in [
        ("kind", choice(&["telegram", "discord", "web"])),
        ("token", FieldKind::Secret),
        ("webhook_secret", FieldKind::Secret),
        ("roles", FieldKind::Pairs),
        ("per_person", FieldKind::Switch),
        ("while_busy", choice(&["collect", "steer", "interrupt"])),
    ] {
        assert_eq!(channels[key], kind, "{key}");
    }
    assert!(!channels.contains_key("ca_file"));
    assert_eq!((models.len(), channels.len()), (12, 17));
}

#[test]
fn a_value_that_cannot_be_read_is_named() {
    let wrong = put(FILE, EntryList::Models, "main", &texts(&[("temperature", "warm")]));
    assert_eq!(
        format!("{:#}", wrong.unwrap_err()),
        "models.main.temperature: `warm` is not a number"
    );
    let wrong = put(FILE, EntryList::Channels, "tg", &texts(&[("roles", "42")]));
    assert!(format!("{:#}", wrong.unwrap_err()).contains("key = value"));
    let inline = put("models = [{ id = \"a\" }]\n", EntryList::Models, "a", &BTreeMap::new());
    assert!(format!("{:#}", inline.unwrap_err()).contains("[[models]]"));
}

/// A difference contains no secret that is written in the file, wherever it is, and keeps the rest.
#[test]
fn plain_secrets_are_masked() {
    let text = "[admin]\nmetrics_token = \"m-plain\" # a\noidc = { client_secret = \"c-plain\" }\n\n\
        [[models]]\nid = \"main\"\napi_key = \"k-plain\" # b\nmodel = \"k\"\n\n\
        [[channels]]\ntoken = { env = \"TOKEN\" }\nwebhook_secret = \"w-plain\"\n\n\
        [[mcp]]\nid = \"x\"\nenv = { TOKEN = \"h-plain\" }\n";
    let shown = masked(text).unwrap();
    assert!(!shown.contains("plain"), "{shown}");
    assert_eq!(shown.replace('…', ""), {
        let secrets = ["m-plain", "c-plain", "k-plain", "w-plain", "h-plain"];
        secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, ""))
    });
    assert_eq!(masked(FILE).unwrap(), FILE);
    assert!(masked("models = 7\nchannels = [1, {}]\nadmin = []\n").is_ok());
}

/// The error about a file that cannot be parsed names the line and does not quote it.
#[test]
fn a_broken_file_is_named_by_its_line_without_its_text() {
    let broken = format!("{FILE}\n[admin]\nmetrics_token = \"sk-never-shown\n");
    let lines = broken.lines().count();
    for problem in [entries(&broken).unwrap_err(), masked(&broken).unwrap_err()] {
        let problem = format!("{problem:#}");
        assert!(problem.contains(&format!("line {lines}: ")), "{problem}");
        assert!(!problem.contains("sk-never"), "{problem}");
    }
}

/// What a platform sends with each webhook call is not sent to another address either.
#[test]
fn the_secret_of_a_webhook_does_not_follow_a_new_address() {
    let file = FILE.replace(
        "kind = \"telegram\"",
        "kind = \"telegram\"\nwebhook_secret = { env = \"HOOK\" }\nwebhook_url = \"https://a.example/\"",
    );
    let elsewhere = texts(&[("webhook_url", "https://evil.example/")]);
    let refused = put(&file, EntryList::Channels, "tg", &elsewhere).unwrap_err();
    assert!(refused.to_string().starts_with("webhook_secret: enter it again"), "{refused}");
    let mut again = elsewhere;
    again.insert("webhook_secret".into(), NewValue::SecretFile("secrets/new".into()));
    assert!(put(&file, EntryList::Channels, "tg", &again).is_ok());
}
