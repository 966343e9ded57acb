//! A person's conversations, their files, and what the agent does for them.

use channels::Outgoing;
use reqwest::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    super::chat::uploads::FILE_BYTES,
    world::{OpenPage, SHOP, World},
};
use crate::{
    clock::Clock as _,
    gateway::deliver,
    journal::event::{Call, Event, Outcome, ToolResult, Usage},
    store::{conversations::journal, retention::Retention},
};

const TRIP: &str = "0123456789abcdef0123456789abcdef";

fn text(markdown: &str) -> Outgoing {
    Outgoing::Text { markdown: markdown.into(), reply_to: None }
}

async fn happens(world: &World, person: &str, event: Event) {
    let conversation = world.conversation(person).await;
    let now = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let write = world.gateway.store.write("test", move |tx| {
        Box::pin(async move { journal::append(tx, &conversation, &event, now).await })
    });
    write.await.unwrap();
}

async fn upload(world: &World, cookie: &str, name: &str, bytes: Vec<u8>) -> reqwest::Response {
    let request = world.post(&format!("/chat/files?name={name}")).header("cookie", cookie);
    request.body(bytes).send().await.unwrap()
}

async fn say_in(world: &World, cookie: &str, thread: &str, message: Value) -> StatusCode {
    let path = format!("/chat/messages?conversation={thread}");
    let request = world.post(&path).header("cookie", cookie).json(&message);
    request.send().await.unwrap().status()
}

fn message(text: &str) -> Value {
    json!({ "id": Uuid::new_v4(), "text": text })
}

async fn own(world: &World, cookie: &str, search: &str) -> Value {
    let path = format!("/chat/conversations?search={search}");
    let answer = world.get(&path).header("cookie", cookie).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["items"].clone()
}

/// A file is handled like attachments of other channels, and only its owner can send it.
/// Proves M1.
#[tokio::test]
async fn an_uploaded_file_is_sent_with_a_message() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    let stored = upload(&world, &ann, "My%20notes.txt", b"buy milk".to_vec()).await;
    let id = stored.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let with =
        |text: &str, files: Value| json!({ "id": Uuid::new_v4(), "text": text, "files": files });
    assert_eq!(say_in(&world, &bob, "", with("mine", json!([id]))).await, StatusCode::BAD_REQUEST);
    let forged = format!("x{id}");
    assert_eq!(say_in(&world, &ann, "", with("x", json!([forged]))).await, StatusCode::BAD_REQUEST);
    let many = json!(vec![id.clone(); 11]);
    assert_eq!(say_in(&world, &ann, "", with("x", many)).await, StatusCode::BAD_REQUEST);
    assert_eq!(world.events("ann").await, [], "nothing of that was taken");

    let sent = say_in(&world, &ann, "", with("", json!([id]))).await;
    assert_eq!(sent, StatusCode::NO_CONTENT, "a file needs no words");
    let events = world.events("ann").await;
    let [Event::Said { message, .. }, Event::FileSent { message: of, file, prompt: None }] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((message, file.name.as_str(), file.size_bytes), (of, "My notes.txt", Some(8)));
    assert_eq!(&world.gateway.artifacts.read(&file.id).await.unwrap()[..], b"buy milk");
    let past = world.page(&ann).await.until("past").await;
    assert_eq!(past["items"][0]["files"], json!([{ "name": "My notes.txt", "size_bytes": 8 }]));
}

/// The last message is sent again with its files, and the page says so. Any other message, a command
/// and a request that is repeated begin no turn.
#[tokio::test]
async fn the_last_message_is_sent_again_for_a_new_answer() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    let again = async |cookie: &str, id: Uuid, message: &str| {
        let body = json!({ "id": id, "message": message });
        let request = world.post("/chat/regenerate").header("cookie", cookie).json(&body);
        request.send().await.unwrap().status()
    };
    let refused = StatusCode::UNPROCESSABLE_ENTITY;
    assert_eq!(again(&ann, Uuid::new_v4(), "w1").await, refused, "there is no message");
    let stored = upload(&world, &ann, "notes.txt", b"buy milk".to_vec()).await;
    let file = stored.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let (first, second, id) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    let key = |id: Uuid| format!("w{}", id.simple());
    world.say(&ann, &first.to_string(), "hello").await;
    let body = json!({ "id": second, "text": "read it", "files": [file] });
    assert_eq!(say_in(&world, &ann, "", body).await, StatusCode::NO_CONTENT);
    assert_eq!(again(&ann, id, &key(first)).await, refused, "it is not the last one");
    assert_eq!(again(&bob, id, &key(second)).await, refused, "it is of somebody else");
    for _ in 0..2 {
        // The second request is about a message that is not the last one any more.
        again(&ann, id, &key(second)).await;
    }
    let events = world.events("ann").await;
    let [.., Event::Said { text, message, .. }, Event::FileSent { message: of, file, .. }] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((text.as_str(), file.name.as_str()), ("read it", "notes.txt"));
    assert_eq!((message, message), (&format!("again-{}", id.simple()), of));
    let said = events.iter().filter(|event| matches!(event, Event::Said { .. })).count();
    assert_eq!(said, 3, "{events:?}");
    let past = world.page(&ann).await.until("past").await;
    let labels: Vec<_> =
        past["items"].as_array().unwrap().iter().map(|item| item["again"].clone()).collect();
    assert_eq!(labels, [json!(false), json!(false), json!(true)]);

    let command = Uuid::new_v4();
    world.say(&ann, &command.to_string(), "/new").await;
    assert_eq!(again(&ann, Uuid::new_v4(), &key(command)).await, refused, "a command");
    assert_eq!(again(&ann, Uuid::new_v4(), message).await, refused, "it is forgotten");
}

/// Proves S13.
#[tokio::test]
async fn an_upload_is_bounded_and_not_for_visitors() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    let large = upload(&world, &ann, "a.bin", vec![0; FILE_BYTES + 1]).await;
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(large.text().await.unwrap().contains("20 MB"));
    let accepted = upload(&world, &ann, "a.bin", vec![0; 2_000_000]).await;
    assert_eq!(accepted.status(), StatusCode::OK, "more than other requests may have");
    let stranger = upload(&world, "", "a.txt", b"x".to_vec()).await;
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let cross_site = world.post("/chat/files?name=a").header("cookie", &ann).header("origin", SHOP);
    assert_eq!(cross_site.body("x").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let visitor = world.post("/widget/site/chat/files?name=a").body("x").send().await.unwrap();
    assert_eq!(visitor.status(), StatusCode::NOT_FOUND);
}

/// Each conversation has its own messages; they are named, found, renamed and exported.
#[tokio::test]
async fn a_person_has_several_conversations() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    assert_eq!(own(&world, &ann, "").await, json!([]));
    world.say(&ann, &Uuid::new_v4().to_string(), "hello there").await;
    world.clock.advance(chrono::TimeDelta::seconds(1));
    let long = "Plan a trip along the Danube with boats and bicycles in early May";
    assert_eq!(say_in(&world, &ann, TRIP, message(long)).await, StatusCode::NO_CONTENT);
    for wrong in ["x", "0123456789ABCDEF0123456789ABCDEF", "..%2F"] {
        let status = say_in(&world, &ann, wrong, message("x")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let list = own(&world, &ann, "").await;
    let named: Vec<_> =
        list.as_array().unwrap().iter().map(|one| (&one["id"], &one["name"])).collect();
    assert_eq!(
        named,
        [
            (&json!(TRIP), &json!("Plan a trip along the Danube with boats and…")),
            (&json!(""), &json!("hello there")),
        ]
    );
    assert_eq!(own(&world, &bob, "").await, json!([]), "nobody sees those of others");
    let found = own(&world, &ann, "DANUBE").await;
    assert_eq!(found[0]["id"], TRIP);
    assert!(found[0]["found"].as_str().unwrap().contains("the Danube with"), "{found}");
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(own(&world, &ann, "100%25").await, json!([]));

    let open = world.get(&format!("/chat/events?conversation={TRIP}")).header("cookie", &ann);
    let past = OpenPage::of(open).await.until("past").await;
    assert_eq!(past["items"].as_array().unwrap().len(), 1);
    assert_eq!(past["items"][0]["text"], long);
    let first = world.page(&ann).await.until("past").await;
    assert_eq!(first["items"][0]["text"], "hello there");

    let rename = async |cookie: &str, id: &str, name: &str| {
        let body = json!({ "id": id, "name": name });
        let request = world.post("/chat/conversations/rename").header("cookie", cookie).json(&body);
        request.send().await.unwrap().status()
    };
    assert_eq!(rename(&ann, TRIP, " May <b> ").await, StatusCode::NO_CONTENT);
    assert_eq!(rename(&ann, TRIP, " ").await, StatusCode::BAD_REQUEST);
    assert_eq!(rename(&bob, TRIP, "Mine").await, StatusCode::NOT_FOUND);
    assert_eq!(own(&world, &ann, "may").await[0]["name"], "May <b>");
    assert_eq!(rename(&ann, TRIP, "In\0June").await, StatusCode::NO_CONTENT);
    assert_eq!(own(&world, &ann, "june").await[0]["name"], "In June");
}

#[tokio::test]
async fn a_conversation_is_exported_as_markdown() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    let first = Uuid::new_v4();
    world.say(&ann, &first.to_string(), "hello there").await;
    world.show(&world.gateway.store, "ann", text("**Hello** to you.")).await;
    let export = world.get("/chat/export").header("cookie", &ann).send().await.unwrap();
    assert_eq!(export.headers()["content-type"], "text/markdown; charset=utf-8");
    insta::assert_snapshot!(export.text().await.unwrap(), @"
    # hello there

    **You**, 2027-01-15 08:00 UTC

    hello there

    **Countersign**, 2027-01-15 08:00 UTC

    **Hello** to you.
    ");
    let again = json!({ "id": Uuid::new_v4(), "message": format!("w{}", first.simple()) });
    let again = world.post("/chat/regenerate").header("cookie", &ann).json(&again);
    assert_eq!(again.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let export = world.get("/chat/export").header("cookie", &ann).send().await.unwrap();
    let export = export.text().await.unwrap();
    assert!(export.contains("UTC, sent again for a new answer\n\nhello there"), "{export}");
    let none = world.get("/chat/export").header("cookie", &bob).send().await.unwrap();
    assert_eq!(none.status(), StatusCode::NOT_FOUND);
}

/// The page says what a turn waits for, and has a line for each call, without secrets.
#[tokio::test]
async fn a_page_shows_what_the_agent_does() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    let mut page = world.page(&ann).await;
    assert_eq!(page.until("activity").await["state"], "idle");
    world.say(&ann, &Uuid::new_v4().to_string(), "write it").await;
    assert_eq!(page.until("activity").await["state"], "model");
    let arguments = json!({ "path": "a.txt", "password": "hunter2hunter2" });
    let call = Call { id: "c1".into(), model_id: "m".into(), tool: "write_file".into(), arguments };
    let usage = Usage::default();
    let replied = Event::Replied { text: String::new(), calls: vec![call], upto: 1, usage };
    happens(&world, "ann", replied).await;
    let activity = page.until("activity").await;
    assert_eq!((&activity["state"], &activity["tools"]), (&json!("tools"), &json!(["write_file"])));
    let running = page.until("items").await["items"][0].clone();
    assert_eq!((&running["kind"], &running["state"]), (&json!("call"), &json!("running")));
    assert_eq!(running["summary"], "<p>Write the file <code>a.txt</code>.</p>\n");
    assert!(!running.to_string().contains("hunter2"), "{running}");
    let mut result = ToolResult::text(Outcome::Done, "done; password=hunter2hunter2".into());
    result.took_ms = 12;
    happens(&world, "ann", Event::ToolFinished { call: "c1".into(), result }).await;
    let done = page.until("items").await["items"][0].clone();
    assert_eq!((&done["id"], &done["order"]), (&running["id"], &running["order"]));
    assert_eq!((&done["state"], &done["took_ms"]), (&json!("done"), &json!(12)));
    assert!(done["edit"].as_str() > running["edit"].as_str(), "the page replaces the line");
    assert!(!done.to_string().contains("hunter2"), "{done}");
    let failed = Event::Failed {
        reason: "No answer.".into(),
        reference: "r".into(),
        upto: 1,
        cause: Some("401".into()),
    };
    happens(&world, "ann", failed).await;
    let ended = page.until("activity").await;
    assert_eq!((&ended["state"], &ended["failed"]), (&json!("idle"), &json!(true)));
}

#[tokio::test]
async fn older_messages_are_loaded_when_a_person_scrolls_back() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    world.say(&ann, &Uuid::new_v4().to_string(), "long ago").await;
    for n in 0..250 {
        world.show(&world.gateway.store, "ann", text(&format!("old {n}"))).await;
    }
    world.say(&ann, &Uuid::new_v4().to_string(), "then").await;
    for n in 0..400 {
        world.show(&world.gateway.store, "ann", text(&format!("new {n}"))).await;
    }
    let past = world.page(&ann).await.until("past").await;
    let mut before = past["before"].as_i64();
    let mut texts = Vec::new();
    let mut rounds = 0;
    while let Some(at) = before {
        let path = format!("/chat/older?before={at}");
        let answer = world.get(&path).header("cookie", &ann).send().await.unwrap();
        let older: Value = answer.json().await.unwrap();
        let items = older["items"].as_array().unwrap().clone();
        texts.extend(items.iter().map(|item| {
            item["text"].as_str().or(item["html"].as_str()).unwrap_or_default().to_owned()
        }));
        before = older["before"].as_i64();
        rounds += 1;
        assert!(rounds < 10, "it ends: {before:?}");
    }
    assert!(texts.contains(&"then".to_owned()), "{texts:?}");
    assert!(texts.contains(&"<p>old 249</p>\n".to_owned()), "{texts:?}");
    let other = world.signed_in("bob").await;
    let path = "/chat/older?before=100";
    let answer = world.get(path).header("cookie", &other).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap(), json!({ "items": [], "before": null }));
}

/// A browser can install the page; its pictures are served by the gateway.
#[tokio::test]
async fn the_page_can_be_installed() {
    let world = World::new().await;
    let answer = world.get("/manifest.webmanifest").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/manifest+json");
    let manifest: Value = answer.json().await.unwrap();
    assert_eq!(
        (&manifest["name"], &manifest["display"]),
        (&json!("Countersign"), &json!("standalone"))
    );
    for icon in manifest["icons"].as_array().unwrap() {
        let shown = world.get(icon["src"].as_str().unwrap()).send().await.unwrap();
        assert_eq!(shown.headers()["content-type"], "image/png");
        let bytes = shown.bytes().await.unwrap();
        let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
        assert_eq!(icon["sizes"], format!("{width}x{width}"));
    }
    let ann = world.signed_in("ann").await;
    let page = world.get("/").header("cookie", &ann).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("manifest-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let page = page.text().await.unwrap();
    for part in ["id=\"side\"", "id=\"attach\"", "rel=\"manifest\""] {
        assert!(page.contains(part), "{part}");
        let framed = world.get("/widget/site").send().await.unwrap().text().await.unwrap();
        assert!(!framed.contains(part), "{part}: visitors have one conversation and no files");
    }
}

/// The journal is kept for longer than the messages that were sent: a page and an export show no
/// messages of a person without the answers.
#[tokio::test]
async fn messages_are_shown_as_long_as_the_answers_to_them() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    world.say(&ann, &Uuid::new_v4().to_string(), "long ago").await;
    world.show(&world.gateway.store, "ann", text("answer one")).await;
    deliver::deliver_ready(&world.gateway).await.unwrap();
    world.clock.advance(chrono::TimeDelta::days(91));
    let ann = world.signed_in("ann").await;
    world.say(&ann, &Uuid::new_v4().to_string(), "today").await;
    world.show(&world.gateway.store, "ann", text("answer two")).await;
    let (store, now) = (&world.gateway.store, world.clock.now());
    store.prune("messages", &Retention::default(), now).await.unwrap();

    let past = world.page(&ann).await.until("past").await;
    let shown: Vec<_> = past["items"].as_array().unwrap().iter().collect();
    assert_eq!(shown.len(), 2, "{past}");
    assert_eq!(shown[0]["text"], "today");
    assert_eq!(shown[1]["html"], "<p>answer two</p>\n");
    let export = world.get("/chat/export").header("cookie", &ann).send().await.unwrap();
    let export = export.text().await.unwrap();
    assert!(export.contains("\n\ntoday\n") && !export.contains("\n\nlong ago\n"), "{export}");
    let older = world.get("/chat/older?before=2").header("cookie", &ann).send().await.unwrap();
    assert_eq!(older.json::<Value>().await.unwrap(), json!({ "items": [], "before": null }));
}

/// Words are found in any case and in any language, and not in the names of fields.
#[tokio::test]
async fn a_search_ignores_case_and_finds_words_only() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    world.say(&ann, &Uuid::new_v4().to_string(), "hello").await;
    let crossing = message("Please note:\nthe ÜBERGANG über die Brücke");
    assert_eq!(say_in(&world, &ann, TRIP, crossing).await, StatusCode::NO_CONTENT);
    for search in ["%C3%BCbergang%20%C3%9CBER", "note:%20THE", "die%20%20br%C3%BCcke"] {
        let found = own(&world, &ann, search).await;
        assert_eq!(found.as_array().unwrap().len(), 1, "{search}: {found}");
        assert_eq!(found[0]["found"], "Please note: the ÜBERGANG über die Brücke");
    }
    for name in ["message", "kind", "said", "text", "%25", "_"] {
        assert_eq!(own(&world, &ann, name).await, json!([]), "{name}");
    }
}
