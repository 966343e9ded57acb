//! The configuration: loading, validation, printing.

use countersign::testing::{
    agent::policy::Policy,
    app::{App, Overrides},
    config::{Config, build, guard, print, retention::retention},
    store::{StoreOptions, retention::Retention},
    tools::{builder::llm_builder::BuildLimits, schedule_planner::ScheduleLimits},
};
use insta::assert_snapshot;
use std::{collections::BTreeMap, io::Write as _};

use crate::support::stable_output::stable;

mod every_key;

fn load(text: &str, variables: &[(&str, &str)]) -> anyhow::Result<Config> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Config::load(Some(file.path()), &variables)
}

/// Proves O3.
#[test]
fn an_unknown_key_is_refused_by_name() {
    for (text, name) in [
        ("colour = 1", "colour"),
        ("[admin]\nport = 1", "port"),
        ("[[channels]]\nid = \"a\"\nkind = \"web\"\nalow = []", "alow"),
        ("[[guard.rules]]\ntool = \"x\"\naction = \"allow\"\nargs = \"y\"", "args"),
    ] {
        let problem = format!("{:#}", load(text, &[]).unwrap_err());
        assert!(problem.contains(name), "{problem}");
    }
}

/// All mistakes are reported at once, each with its line or variable, in plain words, and with the
/// nearest name. No value is quoted, since it may be a secret.
/// Proves O3.
#[test]
fn all_mistakes_of_a_configuration_are_explained() {
    let text = "data_dir = 1
lisen = \"x\"
listen = \"127.0.0.1:1\"

[admin]
lisen = \"127.0.0.1:1\"
public_url = \"chat.example\"

[limits]
messages_per_minute = \"many\"

[guard]
default = \"denny\"
disabled_rules = \"*\"

[[models]]
id = \"small\"
provider = \"demo\"
vision = \"sk-canary\"

[[models]]
id = \"large\"

[[channels]]
id = \"tg\"
kind = \"telegram\"
tokn = \"sk-canary\"
settle = 5
[channels.roles]
ann = \"boss\"

[agents]
id = \"default\"
";
    let variables = [
        ("COUNTERSIGN__ADMIN__LISEN", "127.0.0.1:1"),
        ("COUNTERSIGN__ADMIN__LISTEN", "localhost"),
        ("COUNTERSIGN__CHANNELS__TG__TOKEN", "sk-canary"),
        ("COUNTERSIGN__CHANNELS__0__DEBUONCE", "1s"),
        ("COUNTERSIGN__DATA_DIR__X", "1"),
    ];
    let problem = format!("{:#}", load(text, &variables).unwrap_err());
    assert!(!problem.contains("canary"), "{problem}");
    assert_snapshot!(stable(&problem), @"
    the configuration has 18 mistakes:
      COUNTERSIGN__ADMIN__LISEN: admin.lisen: there is no such key; did you mean `listen`?
      COUNTERSIGN__ADMIN__LISTEN: admin.listen: must be an address with a port such as 127.0.0.1:<port>, or a port
      COUNTERSIGN__CHANNELS__0__DEBUONCE: channels.tg.debuonce: there is no such key; did you mean `debounce`?
      COUNTERSIGN__CHANNELS__TG__TOKEN: channels.tg.token: `channels` is a list: a number from 0 must follow, without gaps
      COUNTERSIGN__DATA_DIR__X: data_dir.x: `data_dir` is a value, not a section
      <folder>, line 1: data_dir: must be text in quotes
      <folder>, line 2: lisen: there is no such key
      <folder>, line 3: listen: there is no such key; did you mean `admin.listen`?
      <folder>, line 7: admin.public_url: must be a URL such as https://example.org
      <folder>, line 10: limits.messages_per_minute: must be a whole number
      <folder>, line 13: guard.default: must be allow, ask or deny; did you mean `deny`?
      <folder>, line 14: guard.disabled_rules: must be a list in brackets
      <folder>, line 19: models.small.vision: must be true or false
      <folder>, line 21: models.large.provider: is missing
      <folder>, line 27: channels.tg.tokn: there is no such key; did you mean `token`?
      <folder>, line 28: channels.tg.debounce: must be text in quotes
      <folder>, line 30: channels.tg.roles.ann: must be viewer, member, approver, operator or owner
      <folder>, line 32: agents: must be a list: write [[agents]]
    ");
}

/// A value that is valid by itself but does not fit the others, or cannot be used, is reported with
/// the section that contains it.
#[test]
fn the_section_with_the_mistake_is_the_one_that_is_named() {
    let text = "[guard]
approval_timeout = \"soon\"

[[guard.rules]]
tool = \"shell\"
action = \"ask\"

[[guard.rules]]
name = \"notes\"
tool = \"write_file\"
arg_pattern = \"(\"
action = \"allow\"

[[models]]
id = \"small\"
provider = \"demo\"

[[models]]
id = \"large\"
provider = \"demo\"
fallback = [\"medium\"]

[[agents]]
id = \"default\"
model = \"gpt\"

[[channels]]
id = \"tg\"
kind = \"telegram\"
token = \"1:x\"
agent = \"nobody\"
debounce = \"a second\"

[[hooks]]
name = \"h\"
on = \"before_llm\"
action = \"redact\"
pattern = \"[\"

[retention]
artifacts = \"1h\"
";
    let problem = format!("{:#}", load(text, &[]).unwrap_err());
    assert_snapshot!(stable(&problem), @"
    the configuration has 8 mistakes:
      <folder>, line 2: guard.approval_timeout: `soon` is not a duration; use 90s, 30m, 12h or 7d
      <folder>, line 11: guard.rules.notes.arg_pattern: is not a valid regular expression: unclosed group
      <folder>, line 21: models.large.fallback: there is no model `medium`; there are small and large
      <folder>, line 25: agents.default.model: there is no model `gpt`; there are small and large
      <folder>, line 31: channels.tg.agent: there is no agent `nobody`; the only one is default
      <folder>, line 32: channels.tg.debounce: `a second` is not a duration; use 90s, 30m, 12h or 7d
      <folder>, line 38: hooks.h.pattern: is not a valid regular expression: unclosed character class
      <folder>, line 41: retention.artifacts: must be at least 1d, because files are stored before anything refers to them
    ");
    let one = "[[agents]]\nid = \"a\"\nmodel = \"gpt\"";
    let problem = format!("{:#}", load(one, &[]).unwrap_err());
    assert_snapshot!(stable(&problem), @"<folder>, line 3: agents.a.model: there is no model `gpt`; the only one is main");
}

/// The address to listen on is written as people write it.
#[test]
fn listen_takes_a_port_or_a_host_name() {
    let listen = |text: &str| load(&format!("[admin]\nlisten = {text}"), &[]);
    for text in ["8643", "\"8643\"", "\"localhost:8643\"", "\"127.0.0.1:8643\""] {
        let config = listen(text).unwrap();
        assert_eq!(config.admin.listen.to_string(), "127.0.0.1:8643", "{text}");
    }
    assert_eq!(listen("\"localhost:1\"").unwrap().admin.hosts, ["localhost"]);
    let config = load("", &[("COUNTERSIGN__ADMIN__LISTEN", "8643")]).unwrap();
    assert_eq!(config.admin.listen.port(), 8643);
    for (text, says) in [
        ("\"localhost\"", "must be an address with a port such as 127.0.0.1:8642, or a port"),
        ("99999", "must be a whole number from 0 to 65535"),
        ("true", "must be text in quotes or a whole number"),
    ] {
        let problem = format!("{:#}", listen(text).unwrap_err());
        assert!(problem.contains(&format!("line 2: admin.listen: {says}")), "{problem}");
    }
}

/// The names that keys had in an earlier release still work, in the file and as variables. A file with
/// both names of a key is refused.
#[test]
fn a_configuration_of_an_earlier_release_loads() {
    let text = include_str!("../releases/0017.toml");
    let config = load(text, &[]).unwrap();
    assert_snapshot!(config.renamed.join("\n"), @"
    admin.proxies is now called admin.trusted_proxies
    audit.keep is now called audit.retention
    channels.queue is now called channels.while_busy
    channels.settle is now called channels.debounce
    channels.webhook_secret_before is now called channels.previous_webhook_secret
    go_on in hooks.on_failure is now called continue
    guard.off is now called guard.disabled_rules
    guard.tainted is now called guard.untrusted_content
    hooks.do is now called hooks.action
    schedules.shortest is now called schedules.min_interval
    store.lease is now called store.lease_duration
    web.inside is now called web.allowed_private_hosts
    webhooks_in.secret_before is now called webhooks_in.previous_secret
    webhooks_out.secret_before is now called webhooks_out.previous_secret
    ");
    assert_eq!(
        (config.store.lease_duration.as_str(), config.schedules.min_interval.as_str()),
        ("20s", "5m")
    );
    assert_eq!(config.guard.disabled_rules, ["delete files"]);
    assert_eq!(config.channels[0].debounce, "2s");
    assert!(config.channels[0].previous_webhook_secret.is_some());
    assert!(config.webhooks_in[0].previous_secret.is_some());
    let variables = [
        ("COUNTERSIGN__STORE__LEASE", "30s"),
        ("COUNTERSIGN__CHANNELS__0__SETTLE", "3s"),
        ("COUNTERSIGN__WEB__ALLOWED_PRIVATE_HOSTS", "[]"),
    ];
    let config = load(text, &variables).unwrap();
    assert_eq!(
        (config.store.lease_duration.as_str(), config.channels[0].debounce.as_str()),
        ("30s", "3s")
    );
    assert!(config.web.allowed_private_hosts.is_empty());
    let problem = load("[store]\nlease = \"20s\"\nlease_duration = \"30s\"", &[]).unwrap_err();
    assert_snapshot!(stable(&format!("{problem:#}")), @"<folder>, line 2: store.lease: is the old name of store.lease_duration; set only one of them");
}

#[test]
fn the_contract_of_the_issue_loads() {
    let text = r#"
        data_dir = "./data"
        [store]
        url = "sqlite://./data/countersign.db"
        durability = "full"
        [admin]
        listen = "127.0.0.1:8642"
        [[models]]
        id = "main"
        provider = "openai"
        base_url = "https://api.openai.com/v1"
        api_key = { env = "OPENAI_API_KEY" }
        model = "gpt-5"
        [[agents]]
        id = "default"
        model = "main"
        system_prompt = "Be kind."
        workspace = "./data/workspace"
        [[channels]]
        id = "ops"
        kind = "telegram"
        agent = "default"
        token = { env = "TELEGRAM_BOT_TOKEN" }
        api_url = "https://api.telegram.org"
        mode = "poll"
        allow = ["123456789"]
        [[mcp]]
        name = "files"
        command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv"]
        tier = "extension"
        [guard]
        default = "ask"
        approval_timeout = "30m"
        [[guard.rules]]
        tool = "write_file"
        arg_pattern = "^notes/"
        action = "allow"
    "#;
    let config = load(text, &[]).unwrap();
    assert_eq!(config.channels.len(), 2, "the web chat is always there");
    assert!(guard::policy(&config).is_ok());
}

/// The client of an MCP server proves itself with either a secret or a key.
#[test]
fn a_client_of_a_server_has_one_proof() {
    let with = |keys: &str| {
        let server = "[[mcp]]\nname = \"m\"\nurl = \"https://m.example/mcp\"\n";
        load(&format!("{server}{keys}"), &[("OPENAI_API_KEY", "k")]).map(drop)
    };
    let (url, id) = ("token_url = \"https://l.example/token\"\n", "client_id = \"us\"\n");
    let secret = "client_secret = { env = \"S\" }\n";
    let key = "client_key = { env = \"K\" }\nclient_key_id = \"1\"\n";
    for fitting in [vec![url, id, secret], vec![url, id, key], vec![id, secret], vec![id]] {
        assert!(with(&fitting.concat()).is_ok(), "{fitting:?}");
    }
    for (unfit, why) in [
        (vec![url, id], "must be set together"),
        (vec![url, id, secret, key], "must be set together"),
        (vec![url, key], "must be set together"),
        (vec![id, key], "client_key requires a token_url"),
        (vec!["client_key_id = \"1\""], "client_key_id requires a client_key"),
    ] {
        let problem = format!("{:#}", with(&unfit.concat()).unwrap_err());
        assert!(problem.contains(why), "{unfit:?}: {problem}");
    }
}

/// A key that a server expects in a header of its own comes from a secret.
#[test]
fn headers_of_a_server_are_checked() {
    let with = |server: &str, headers: &str| {
        let text = format!("[[mcp]]\nname = \"m\"\n{server}\nheaders = {{ {headers} }}\n");
        load(&text, &[("OPENAI_API_KEY", "k")])
    };
    let url = "url = \"https://m.example/mcp\"";
    let config = with(url, "x-api-key = { env = \"KEY\" }").unwrap();
    assert_eq!(config.mcp[0].secrets().count(), 1, "it is hidden like all secrets");
    for (server, headers, why) in [
        ("command = [\"m\"]", "x-api-key = { env = \"KEY\" }", "headers requires a url"),
        (url, "\"x key\" = { env = \"KEY\" }", "`x key` is not the name of a header"),
        (url, "Authorization = { env = \"KEY\" }", "is set by the gateway"),
    ] {
        let problem = format!("{:#}", with(server, headers).unwrap_err());
        assert!(problem.contains(why), "{headers}: {problem}");
    }
}

#[test]
fn a_key_in_the_environment_is_enough_to_go_live() {
    let config = load("", &[("OPENAI_API_KEY", "k"), ("TELEGRAM_BOT_TOKEN", "1:t")]).unwrap();
    assert_eq!(config.models[0].model, "gpt-5");
    assert_eq!(config.channels[0].id, "telegram");
    let config = load("", &[("OLLAMA_HOST", "box"), ("COUNTERSIGN__MODELS__0__MODEL", "tiny")]);
    let model = &config.unwrap().models[0];
    assert_eq!(model.base_url.as_ref().unwrap().as_str(), "http://box:11434/");
    assert_eq!(model.model, "tiny");
}

#[test]
fn an_address_of_ollama_may_lack_parts_and_have_a_path() {
    for (host, url) in [
        ("box:1", "http://box:1/"),
        ("[::1]", "http://[::1]:11434/"),
        ("[::1]:1/", "http://[::1]:1/"),
        ("http://box/ollama/", "http://box:11434/ollama"),
        ("https://ollama.example", "https://ollama.example/"),
        ("https://ollama.example:8443/a", "https://ollama.example:8443/a"),
    ] {
        let config = load("", &[("OLLAMA_HOST", host)]).unwrap();
        assert_eq!(config.models[0].base_url.as_ref().unwrap().as_str(), url, "{host}");
    }
}

#[test]
fn a_platforms_variable_adds_its_channel() {
    let config = load("", &[("DISCORD_BOT_TOKEN", "t"), ("TELEGRAM_BOT_TOKEN", "1:t")]).unwrap();
    let ids: Vec<_> = config.channels.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["telegram", "discord", "web"]);
    let named = "[[channels]]\nid = \"a\"\nkind = \"web\"";
    let config = load(named, &[("DISCORD_BOT_TOKEN", "t")]).unwrap();
    assert_eq!(config.channels.len(), 1, "a file that names channels names all of them");
}

/// The name in the sign-in link of the start is an owner, unless the entry names one.
#[test]
fn an_own_web_chat_has_an_owner() {
    let channel = |more: &str| {
        let text = format!("[[channels]]\nid = \"mine\"\nkind = \"web\"\n{more}");
        load(&text, &[]).unwrap().channels.remove(0)
    };
    assert_eq!(channel("").owners, ["owner"]);
    assert!(channel("").allow.is_empty(), "others need a code");
    assert_eq!(channel("owners = [\"ann\"]").owners, ["ann"]);
    assert!(channel("roles = { ann = \"owner\" }").owners.is_empty());
    assert_eq!(channel("roles = { ann = \"viewer\" }").owners, ["owner"]);
    assert!(channel("origins = [\"https://shop.example\"]").owners.is_empty(), "a widget");
}

#[tokio::test]
async fn a_discord_channel_needs_a_token_and_a_whole_key() {
    let channel = "[[channels]]\nid = \"d\"\nkind = \"discord\"";
    let problem = format!("{:#}", load(channel, &[]).unwrap_err());
    assert_snapshot!(stable(&problem), @"<folder>, line 1: channels.d.token: is missing; get one from the developer portal (Bot, Reset Token)");
    let key = |key: &str| format!("{channel}\ntoken = \"t\"\npublic_key = \"{key}\"");
    let problem = format!("{:#}", load(&key("abc"), &[]).unwrap_err());
    assert_snapshot!(stable(&problem), @"<folder>, line 5: channels.d.public_key: is not valid; the developer portal shows it under General Information, as 64 hexadecimal digits");
    let folder = tempfile::tempdir().unwrap();
    let mut config = load(&key(&"0a".repeat(32)), &[]).unwrap();
    folder.path().clone_into(&mut config.data_dir);
    let app = App::open(&config, &BTreeMap::new(), Overrides::default()).await.unwrap();
    assert!(app.gateway.channels["d"].alone, "one session per token");
}

/// All syntax errors are named at once, without the text of the line, which may be a secret.
/// Proves S11.
#[test]
fn every_syntax_error_is_named() {
    let text = "data_dir = \n[admin\nlisten = \"127.0.0.1:1\"\n[[models]]\nid = \"m\"\nid = \"n\"\n\
                api_key = sk-canary\n";
    let problem = format!("{:#}", load(text, &[]).unwrap_err());
    assert!(!problem.contains("canary"), "{problem}");
    assert_snapshot!(stable(&problem), @r"
    the configuration has 4 mistakes:
      <folder>, line 1: string values must be quoted, expected literal string
      <folder>, line 2: unclosed table, expected `]`
      <folder>, line 6: duplicate key
      <folder>, line 7: string values must be quoted, expected literal string
    ");
}

/// Proves O1, S11.
#[test]
fn secrets_are_not_printed() {
    let text =
        "[[models]]\nid = \"m\"\nprovider = \"openai\"\napi_key = \"sk-canary\"\nmodel = \"x\"";
    let config = load(text, &[]).unwrap();
    let printed = print::commented(&config).unwrap();
    assert!(!printed.contains("sk-canary"));
    assert!(!format!("{config:?}").contains("sk-canary"));
    let unset = "[[models]]\nid = \"m\"\nprovider = \"openai\"\napi_key = { env = \"NOPE\" }\nmodel = \"x\"";
    let problem = countersign::testing::app::models::build(
        &load(unset, &[]).unwrap(),
        &BTreeMap::new(),
        &BTreeMap::new(),
    );
    let problem = format!("{:#}", problem.err().unwrap());
    assert_snapshot!(stable(&problem), @"models.m: api_key: the environment variable NOPE is not set");
}

#[test]
fn a_vendor_needs_the_name_of_a_model() {
    let entry = |provider| format!("[[models]]\nid = \"m\"\nprovider = \"{provider}\"");
    let problem = load(&entry("openai"), &[]).unwrap_err();
    assert_snapshot!(stable(&format!("{problem:#}")), @"<folder>, line 1: models.m.model: name a model of the provider");
    load(&entry("demo"), &[]).unwrap();
}

/// Invalid hook settings are rejected with their key.
#[test]
fn a_hook_that_makes_no_sense_is_refused() {
    for (rest, named) in [
        ("on = \"after_llm\"\ndo = \"annotate\"\ntext = \"x\"\ntool = \"t\"", "tool"),
        ("on = \"after_tool\"\ndo = \"filter\"\nargument = \"a\"", "argument"),
        ("on = \"after_llm\"\ndo = \"inject\"\ntext = \"x\"", "inject"),
        ("on = \"before_llm\"\ndo = \"annotate\"\ntext = \"x\"", "inject"),
        ("on = \"before_tool\"\ndo = \"validate\"\ntext = \"x\"", "pattern"),
        ("on = \"before_tool\"\ndo = \"filter\"\npattern = \"(\"\ntext = \"x\"", "pattern"),
        ("on = \"before_tool\"\ndo = \"run\"", "command"),
        ("on = \"before_tool\"\ndo = \"run\"\ncommand = [\"x\"]\ntimeout = \"2h\"", "timeout"),
    ] {
        let problem = load(&format!("[[hooks]]\nname = \"h\"\n{rest}"), &[]).unwrap_err();
        let problem = format!("{problem:#}");
        assert!(problem.contains("hooks.h") && problem.contains(named), "{problem}");
    }
}

/// With fewer connections the heartbeat would wait for turns.
/// The limits of WASM tools are finite, and no server can take the name under which they are pinned.
#[test]
fn unlimited_wasm_tools_are_refused() {
    for (text, key) in [
        ("[wasm]\ntimeout = \"0s\"", "wasm.timeout"),
        ("[wasm]\ntimeout = \"1h\"", "wasm.timeout"),
        ("[wasm]\nmemory_mb = 4096", "wasm.memory_mb"),
        ("[wasm]\nmax_instructions = 0", "wasm.max_instructions"),
        ("[[mcp]]\nname = \"data/tools\"\ncommand = [\"true\"]", "reserved for WASM tools"),
    ] {
        let problem = format!("{:#}", load(text, &[]).unwrap_err());
        assert!(problem.contains(key), "{problem}");
    }
}

#[test]
fn too_few_connections_are_refused() {
    let load = |count| load(&format!("[store]\nconnections = {count}\n"), &[]);
    assert_eq!(load(4).unwrap().store.connections, 4);
    let problem = format!("{:#}", load(3).unwrap_err());
    assert!(problem.contains("store.connections is 3, but must be at least 4"), "{problem}");
}

/// The defaults of the configuration, which are texts, are those that the code uses elsewhere.
#[test]
fn the_defaults_are_those_of_the_code() {
    let config = load("", &[]).unwrap();
    assert_eq!(config.builder.limits().unwrap(), BuildLimits::default());
    assert_eq!(retention(&config).unwrap(), Retention::default());
    assert_eq!(config.schedules.build().unwrap(), ScheduleLimits::default());
    let (built, options) = (guard::policy(&config).unwrap(), StoreOptions::default());
    let usual = Policy::default();
    assert_eq!((built.default, built.tainted), (usual.default, usual.tainted));
    assert_eq!(built.approval_for, usual.approval_for);
    assert_eq!(built.approvers, usual.approvers);
    let lease = build::duration(&config.store.lease_duration).unwrap().to_std().unwrap();
    assert_eq!((lease, config.store.connections), (options.lease_for, options.connections));
}

/// At most ten passwords are tried, and none is in the debug output.
#[test]
fn passwords_of_documents_are_limited_and_secret() {
    let ten = |count: usize| {
        let passwords = vec!["\"swordfish\""; count].join(", ");
        load(&format!("[extraction]\npasswords = [{passwords}]"), &[])
    };
    assert!(!format!("{:?}", ten(10).unwrap()).contains("swordfish"));
    let problem = format!("{:#}", ten(11).unwrap_err());
    assert!(problem.contains("extraction.passwords: at most 10 passwords"), "{problem}");
}

#[test]
fn the_printed_configuration_loads() {
    let printed = print::commented(&load("", &[]).unwrap()).unwrap();
    assert!(printed.contains("# The address of the web chat"));
    load(&printed, &[]).unwrap();
}
