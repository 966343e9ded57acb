//! Messages, approvals and downloads on the page.

use channels::Outgoing;
use reqwest::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    super::{code_html::RESPONSE_BYTES, place_of},
    setup::Setup,
    world::World,
};
use crate::{
    gateway::deliver,
    journal::event::{Decision, Event},
    texts,
    tools::mcp::prompts::PromptCommand,
};

fn text(markdown: &str) -> Outgoing {
    Outgoing::Text { markdown: markdown.into(), reply_to: None }
}

/// The menu offers the prompts of the channel's agent besides the commands.
#[tokio::test]
async fn the_menu_of_commands_has_the_prompts_of_servers() {
    let world = World::new().await;
    for (agent, name) in [("main", "review"), ("other", "secret")] {
        let prompt = json!({ "name": name, "description": "Reads \"code\"" });
        let prompt = PromptCommand::new("git", serde_json::from_value(prompt).unwrap()).unwrap();
        world.gateway.prompts.set(agent, vec![prompt]);
    }
    let cookie = world.signed_in("ann").await;
    let page = world.get("/").header("cookie", cookie).send().await.unwrap().text().await.unwrap();
    let page = page.replace("&quot;", "\"");
    assert!(page.contains("\"name\":\"git:review\""), "{page}");
    assert!(page.contains("\"name\":\"help\"") && !page.contains("git:secret"));
}

/// Proves M1.
#[tokio::test]
async fn a_message_sent_twice_is_said_once() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let id = Uuid::new_v4();
    for own in [id.to_string(), id.simple().to_string()] {
        assert_eq!(world.say(&cookie, &own, "hello").await.status(), StatusCode::NO_CONTENT);
    }
    let events = world.events("ann").await;
    let [Event::Said { by, text, message }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((by.id.as_str(), text.as_str()), ("ann", "hello"));
    assert_eq!(*message, format!("w{}", id.simple()));
}

#[tokio::test]
async fn invalid_chat_messages_are_rejected_with_a_reason() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let id = Uuid::new_v4().to_string();
    let refused = async |id: &str, text: &str| {
        let answer = world.say(&cookie, id, text).await;
        let status = answer.status();
        let words: Value = answer.json().await.unwrap();
        (status, words["detail"].as_str().unwrap().to_owned())
    };
    assert_eq!(refused(&id, " \n ").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(refused("1", "hello").await.0, StatusCode::BAD_REQUEST);
    let (status, words) = refused(&id, &"é".repeat(100_001)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(words.contains("100,000"), "{words}");
    assert_eq!(world.events("ann").await, []);
    let accepted = world.say(&cookie, &id, &"é".repeat(100_000)).await;
    assert_eq!(accepted.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn pages_of_one_person_stay_in_step_and_others_see_nothing() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    let (mut one, mut two) = (world.page(&ann).await, world.page(&ann).await);
    let mut others = world.page(&bob).await;
    for page in [&mut one, &mut two, &mut others] {
        assert_eq!(page.until("past").await["items"], json!([]));
    }
    world.say(&ann, &Uuid::new_v4().to_string(), "hello").await;
    for page in [&mut one, &mut two] {
        assert_eq!(page.until("items").await["items"][0]["text"], "hello");
    }
    world.say(&bob, &Uuid::new_v4().to_string(), "mine").await;
    assert_eq!(others.until("items").await["items"][0]["text"], "mine");
}

#[tokio::test]
async fn growing_text_is_shown_and_then_what_was_recorded() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let mut page = world.page(&cookie).await;
    page.until("past").await;
    let place = place_of("ann");
    let show = async |what| world.gateway.show_now("web", &place, what).await.unwrap();
    show(Outgoing::Typing).await;
    page.until("typing").await;
    show(Outgoing::Draft { markdown: "**gro**".into() }).await;
    assert!(page.until("draft").await["html"].as_str().unwrap().contains("<strong>gro"));
    world.gateway.tasks.spawn(deliver::deliver(world.gateway.clone()));
    world.show(&world.gateway.store, "ann", text("**grown**")).await;
    let items = page.until("items").await;
    assert_eq!(items["items"][0]["html"], "<p><strong>grown</strong></p>\n");
    show(text("You are a stranger.")).await;
    assert_eq!(page.until("aside").await["html"], "<p>You are a stranger.</p>\n");
    world.gateway.stop.cancel();
}

/// No sender runs on this node: the page polls.
#[tokio::test]
async fn events_of_other_nodes_are_streamed() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    world.say(&cookie, &Uuid::new_v4().to_string(), "hello").await;
    let mut page = world.page(&cookie).await;
    page.until("past").await;
    let other = world.other_node().await;
    world.show(&other, "ann", text("from afar")).await;
    assert_eq!(page.until("items").await["items"][0]["html"], "<p>from afar</p>\n");
}

#[tokio::test]
async fn the_past_is_there_again_in_its_order_also_the_answers_to_commands() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    world.say(&cookie, &Uuid::new_v4().to_string(), "one").await;
    world.show(&world.gateway.store, "ann", text("answer one")).await;
    world.say(&cookie, &Uuid::new_v4().to_string(), "/status").await;
    world.say(&cookie, &Uuid::new_v4().to_string(), "two").await;
    world.show(&world.gateway.store, "ann", text("answer two")).await;
    let past = world.page(&cookie).await.until("past").await;
    let shown: Vec<String> = past["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["text"].as_str().or(item["html"].as_str()).unwrap().trim().to_owned())
        .collect();
    let status = format!("<p>{}</p>", (texts::Language::English.words().pending_approvals)(0));
    assert_eq!(shown, ["one", "<p>answer one</p>", &status, "two", "<p>answer two</p>"]);
    assert_eq!(past["before"], Value::Null);
}

#[tokio::test]
async fn a_long_history_begins_late_and_misses_nothing_new() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    world.say(&cookie, &Uuid::new_v4().to_string(), "long ago").await;
    for n in 0..400 {
        world.show(&world.gateway.store, "ann", text(&format!("{n}"))).await;
    }
    let mut page = world.page(&cookie).await;
    let past = page.until("past").await;
    assert!(past["before"].is_i64(), "{past}");
    assert_eq!(past["items"].as_array().unwrap().len(), 400);
    let other = world.other_node().await;
    for n in 0..120 {
        world.show(&other, "ann", text(&format!("burst {n}"))).await;
    }
    let mut seen = 0;
    while seen < 120 {
        seen += page.until("items").await["items"].as_array().unwrap().len();
    }
    assert_eq!(seen, 120);
}

/// A page with much code has colours in its last messages, up to a limit for the whole page. All of
/// the code is shown.
#[tokio::test]
async fn a_page_with_much_code_highlights_a_limited_part_of_it() {
    const LINE: &str = "let a = 1;";
    const LINES: usize = 3_000;
    const MESSAGES: usize = 12;
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let code = format!("```rust\n{}```", format!("{LINE}\n").repeat(LINES));
    for _ in 0..MESSAGES {
        world.show(&world.gateway.store, "ann", text(&code)).await;
    }
    let past = world.page(&cookie).await.until("past").await;
    let messages: Vec<_> = past["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["html"].as_str().unwrap())
        .collect();
    assert_eq!(messages.len(), MESSAGES);
    let highlighted: Vec<_> = messages
        .iter()
        .map(|html| html.lines().filter(|line| line.contains("<span")).count())
        .collect();
    assert!(highlighted[MESSAGES - 1] > 0 && highlighted[0] == 0, "{highlighted:?}");
    let bytes = highlighted.iter().sum::<usize>() * LINE.len();
    assert!(bytes <= RESPONSE_BYTES, "{bytes} bytes are highlighted: {highlighted:?}");
    for html in messages {
        assert_eq!(html.matches("let").count(), LINES, "everything is shown");
    }
}

#[tokio::test]
async fn a_press_decides_once_and_the_settled_approval_replaces_the_card() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    world.say(&ann, &Uuid::new_v4().to_string(), "save a note").await;
    world.say(&bob, &Uuid::new_v4().to_string(), "hello").await;
    let approval = world.ask("ann").await;
    let mut page = world.page(&ann).await;
    let past = page.until("past").await;
    let question = &past["items"][1];
    assert_eq!(question["kind"], "question");
    assert_eq!(question["approval"], approval.as_str());
    assert_eq!(question["choices"][0], json!({ "label": "Allow once", "key": "a" }));

    assert_eq!(
        world.press(&bob, &approval, "a").await,
        texts::Language::English.words().no_such_button
    );
    assert_eq!(
        world.press(&ann, &approval, "x").await,
        texts::Language::English.words().no_such_button
    );
    assert_eq!(world.press(&ann, &approval, "a").await, "Allowed.");
    assert_eq!(world.press(&ann, &approval, "d").await, "Already allowed by ann.");
    let settled = &page.until("items").await["items"][0];
    assert_eq!((&settled["kind"], &settled["id"]), (&json!("settled"), &question["id"]));
    assert_eq!(question["edit"], "");
    assert!(settled["edit"].as_str().unwrap() > "", "the page replaces what it has: {settled}");
    assert_eq!(settled["order"], question["order"]);
    let decisions: Vec<_> = world
        .events("ann")
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::ApprovalDecided { decision, .. } => Some(decision),
            _ => None,
        })
        .collect();
    assert_eq!(decisions, [Decision::Once]);
}

#[tokio::test]
async fn a_file_is_given_only_to_whom_it_was_shown() {
    let world = World::new().await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    world.say(&bob, &Uuid::new_v4().to_string(), "hello").await;
    let name = "Flüsse <b>.html";
    let stored =
        world.gateway.artifacts.put(name, "text/html", b"<script>1</script>".to_vec()).await;
    let digest = stored.unwrap().digest;
    let file = Outgoing::File {
        name: name.into(),
        media_type: "text/html".into(),
        size_bytes: 18,
        digest: digest.clone(),
        caption: None,
        reply_to: None,
    };
    world.show(&world.gateway.store, "ann", file).await;
    world.show(&world.gateway.store, "bob", text(&format!("{{\"digest\":\"{digest}\"}}"))).await;
    let past = world.page(&ann).await.until("past").await;
    let url = past["items"][0]["url"].as_str().unwrap().to_owned();
    let load = async |cookie: &str, url: &str| {
        world.get(url).header("cookie", cookie).send().await.unwrap()
    };

    let own = load(&ann, &url).await;
    assert_eq!(own.status(), StatusCode::OK);
    let disposition = own.headers()["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment; filename=\"Fl_sse _b_.html\""), "{disposition}");
    assert_eq!(own.headers()["x-content-type-options"], "nosniff");
    assert!(own.headers()["content-security-policy"].to_str().unwrap().contains("sandbox"));
    assert_eq!(own.bytes().await.unwrap().as_ref(), b"<script>1</script>");

    assert_eq!(load(&bob, &url).await.status(), StatusCode::NOT_FOUND);
    let renamed = format!("/files/{digest}/evil.exe");
    assert_eq!(load(&ann, &renamed).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(load(&ann, "/files/%25/a").await.status(), StatusCode::NOT_FOUND);
    let path = world.folder.path().join("artifacts").join(&digest[..2]).join(&digest);
    std::fs::remove_file(path).unwrap();
    assert_eq!(load(&ann, &url).await.status(), StatusCode::GONE);
}

/// Proves S1.
#[tokio::test]
async fn names_and_texts_cannot_act_on_the_page() {
    let evil = "\"><script>alert(1)</script>";
    let world = World::with(Setup { bot: evil, demo: true, ..Setup::default() }).await;
    let token = world.sign_in_token(evil).await;
    let door = world.get(&format!("/sign-in?token={}", "%22%3E%3Cscript%3E")).send();
    assert!(!door.await.unwrap().text().await.unwrap().contains("><script>"));
    let answer = world.redeem(&token).await;
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    let page = world.get("/").header("cookie", cookie).send().await.unwrap().text().await.unwrap();
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;"));
    assert!(page.contains("Demo model"));
    world.show(&world.gateway.store, evil, text("<img src=x onerror=alert(1)>")).await;
    let past = world.page(cookie).await.until("past").await;
    assert_eq!(past["items"][0]["html"], "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n");
}

/// Pages, errors and texts of the bot are in the browser's language.
#[tokio::test]
async fn a_browser_gets_texts_in_its_language() {
    let world = World::new().await;
    let german = ("accept-language", "de-AT,de;q=0.9,en;q=0.8");
    let get = async |path: &str, cookie: &str| {
        let request = world.get(path).header(german.0, german.1).header("cookie", cookie);
        request.send().await.unwrap().text().await.unwrap()
    };
    assert!(get("/", "").await.contains("Du bist nicht angemeldet."));
    let door = get("/sign-in?token=x", "").await;
    assert!(
        door.contains("<html lang=\"de\">") && door.contains("Bei Countersign anmelden"),
        "{door}"
    );
    let cookie = world.signed_in("ann").await;
    let page = get("/", &cookie).await;
    assert!(page.contains("Hallo, \u{2068}ann\u{2069}."), "{page}");
    assert!(page.contains("Nachricht an Countersign"), "{page}");
    assert!(page.contains("Deine Entscheidung"), "the script has its words");
    assert!(get("/nowhere", &cookie).await.contains("Seite nicht gefunden."));
    assert!(get("/chat/events", "").await.contains("Du bist nicht angemeldet."));
    let message = json!({ "id": Uuid::new_v4(), "text": "/status" });
    let request = world.post("/chat/messages").header(german.0, german.1).header("cookie", &cookie);
    assert_eq!(request.json(&message).send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let past = world.page(&cookie).await.until("past").await;
    assert_eq!(past["items"][0]["html"], "<p>Es gibt keine offenen Anfragen.</p>\n");
    world.say(&cookie, &Uuid::new_v4().to_string(), "hallo").await;
    let approval = world.ask("ann").await;
    assert_eq!(world.press(&cookie, &approval, "d").await, "Abgelehnt.");
}

/// Every text used by a page or its script exists, and none is unused.
#[test]
fn pages_and_their_words_fit() {
    use std::collections::BTreeSet;
    let names = |text: &str, pattern: &str| -> BTreeSet<String> {
        let found = regex::Regex::new(pattern).unwrap();
        found.captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let pages = [
        include_str!("../web/chat.html"),
        include_str!("../web/door.html"),
        include_str!("../web/sign_in.html"),
        include_str!("../web/signed_out.html"),
    ];
    let own =
        ["bot", "person", "person_id", "base", "words", "token", "text", "id"].map(str::to_owned);
    let wanted = &names(&pages.concat(), r"\{\{ (\w+) \}\}") - &own.into();
    let scripts = [
        include_str!("../web/chat.js"),
        include_str!("../web/compose.js"),
        include_str!("../web/dom.js"),
        include_str!("../web/items.js"),
        include_str!("../web/notifications.js"),
        include_str!("../web/threads.js"),
    ];
    let script = names(&scripts.concat(), r"\bsays\.(\w+)");
    for language in texts::Language::ALL {
        let words = &language.words().page;
        let there = |value: Value| -> BTreeSet<String> {
            value.as_object().unwrap().keys().cloned().collect()
        };
        assert!(wanted.is_subset(&there(json!(words))), "{wanted:?}");
        assert_eq!(there(json!(words.script)), script);
        for (english, own) in [
            (json!(texts::Language::English.words().page), json!(words)),
            (json!(texts::Language::English.words().page.script), json!(words.script)),
        ] {
            for (name, text) in own.as_object().unwrap() {
                let fills = |text: &Value| names(text.as_str().unwrap(), r"\{(\w+)\}");
                assert_eq!(fills(text), fills(&english[name]), "{name}: {text}");
            }
        }
    }
}

/// The page offers the models where there is a choice; visitors of a widget have none.
#[tokio::test]
async fn the_page_offers_the_models_where_there_is_a_choice() {
    let models = vec!["main".into(), "a<b>".into()];
    let world = World::with(Setup { models, ..Setup::default() }).await;
    let cookie = world.signed_in("ann").await;
    let read = async |path: &str| {
        let request = world.get(path).header("cookie", &cookie);
        request.send().await.unwrap().text().await.unwrap()
    };
    let page = read("/").await;
    assert!(page.contains("<option>main</option><option>a&lt;b&gt;</option>"), "{page}");
    assert!(!read("/widget/site").await.contains("id=\"model\""));
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let page = world.get("/").header("cookie", &cookie).send().await.unwrap().text().await.unwrap();
    assert!(!page.contains("id=\"model\""), "{page}");
}
