//! The console during conversations.

use channels::{Outgoing, SendError};
use chrono::TimeDelta;
use countersign::testing::{
    admin::console,
    journal::role::Role,
    llm::ModelError,
    scripted::{call, fail, say},
    store::{conversations::journal, outbox, webhooks::subscriptions::Topic},
};
use insta::{allow_duplicates, assert_snapshot};
use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use super::{
    mcp::{FaultyServer, tool},
    webhooks::subscribe,
};
use crate::{
    story,
    support::{http::Served, stable_output::visible, tools::Page, world::World},
};

/// A person using the console.
pub(super) struct Operator<'a> {
    served: &'a Served,
    cookie: String,
}

impl<'a> Operator<'a> {
    /// The role is given by the configuration.
    pub(super) async fn signed_in(served: &'a Served, name: &str) -> Self {
        Self { served, cookie: served.session(name).await }
    }

    pub(super) async fn looks(&self, page: &str) -> Response {
        let request = self.served.request(Method::GET, &format!("/console{page}"));
        request.header("cookie", &self.cookie).send().await.unwrap()
    }

    pub(super) async fn reads(&self, page: &str) -> String {
        let answer = self.looks(page).await;
        assert_eq!(answer.status(), StatusCode::OK, "{page}");
        answer.text().await.unwrap()
    }

    pub(super) async fn sends(&self, page: &str, form: &[(&str, &str)]) -> Response {
        let request = self.served.request(Method::POST, &format!("/console{page}"));
        let request = request.header("cookie", &self.cookie).header("origin", &self.served.base);
        request.form(form).send().await.unwrap()
    }

    /// Presses a button and reads the resulting page.
    pub(super) async fn presses(&self, page: &str, form: &[(&str, &str)]) -> String {
        let answer = self.sends(page, form).await;
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{page}: {text}");
        text
    }
}

/// With one person for each role.
pub(super) fn staffed(world: &mut World) {
    let staff = [("vic", Role::Viewer), ("amy", Role::Approver), ("oli", Role::Operator)];
    let roles = staff.map(|(name, role)| (name.to_owned(), role));
    world.config.channels[0].roles.extend(roles);
    world.guard("{ approvers = [\"requester\", \"role:approver\"] }");
}

/// The page content from `start` to the first `end` after it.
pub(super) fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start} in {page}"));
    rest.split_once(end).unwrap().0
}

/// The visible text of the first table of a page.
pub(super) fn table(page: &str) -> String {
    visible(between(page, "<tbody>", "</tbody>"))
}

/// The records of an audit page or of the settings, without their details.
pub(super) fn records(page: &str) -> String {
    let table = table(page);
    let records = table.lines().filter(|line| line.starts_with("2026-"));
    records.map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Why a form was not accepted.
pub(super) fn alert(page: &str) -> String {
    visible(between(page, "role=\"alert\">", "</p>"))
}

/// The target of the first form of that kind.
fn form(page: &str, place: &str) -> String {
    format!("{place}{}", between(page, &format!("action=\"/console{place}"), "\""))
}

pub(super) async fn settles(world: &World) {
    let app = world.node().await;
    world.settle(&app).await;
}

/// Without a session 401, with a lower role 403, with the role a page; a viewer cannot press buttons,
/// and cross-site requests are rejected.
/// Proves S10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_takes_its_role_and_no_less() {
    let mut world = World::on_sqlite();
    staffed(&mut world);
    let served = Served::of(&world).await;
    let people = [
        ("vic", Role::Viewer),
        ("amy", Role::Approver),
        ("oli", Role::Operator),
        ("owner", Role::Owner),
    ];
    let named = regex::Regex::new(r"\{\w+\}").unwrap();
    for route in console::routes() {
        let path = named.replace_all(route.path, "nothing").into_owned();
        let title = format!("{} {}", route.method, route.path);
        let ask = |cookie: Option<String>, origin: &str| {
            let request = served.request(route.method.clone(), &path).header("origin", origin);
            let request =
                if route.method == Method::POST { request.form(&[("a", "b")]) } else { request };
            match cookie {
                Some(cookie) => request.header("cookie", cookie).send(),
                None => request.send(),
            }
        };
        assert_eq!(
            ask(None, &served.base).await.unwrap().status(),
            StatusCode::UNAUTHORIZED,
            "{title}"
        );
        let member = served.session("ann").await;
        let answer = ask(Some(member), &served.base).await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{title}");
        for (name, role) in people {
            let answer = ask(Some(served.session(name).await), &served.base).await.unwrap();
            let status = answer.status();
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status);
            assert_eq!(refused, role < route.required, "{title} for {name}: {status}");
            assert!(!status.is_server_error(), "{title}: {}", answer.text().await.unwrap());
        }
        if route.method == Method::POST {
            let owner = served.session("owner").await;
            let answer = ask(Some(owner), "https://evil.example").await.unwrap();
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{title}");
            let refused = answer.text().await.unwrap();
            allow_duplicates! {
                assert_snapshot!(visible(&refused), @"
                Forbidden · Countersign
                Forbidden
                This request was not sent from a page of this server. Open the page from this server's own address and try again.
                Console · Chat
                ");
            }
        }
    }
    let answer = served.request(Method::DELETE, "/console/rules").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
}

story! {
    /// An approval with its exact arguments is decided in the console; it leaves the inbox, runs
    /// once, and is in the history and the audit.
    /// Proves A13.
    async fn a_question_is_decided_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let amy = Operator::signed_in(&served, "amy").await;
        let path = "<script>alert(1)</script>\u{202e}.txt";
        world.model_will(call("delete", json!({ "path": path })));
        world.ann_says("delete it").await;

        let inbox = amy.reads("/approvals").await;
        assert!(!inbox.contains("<script>alert"), "{inbox}");
        assert!(inbox.contains("&lt;script&gt;alert(1)"), "{inbox}");
        let arguments = between(&inbox, "<summary>Exact arguments</summary>", "</details>");
        assert_snapshot!(visible(arguments), @r#"
        {
        "path": "<script>alert(1)</script>‹U+202E›.txt"
        }
        "#);
        assert_snapshot!(visible(between(&inbox, "<title>", "</title>")), @"(1) Approvals · Countersign");
        let action = form(&inbox, "/approvals/");
        let wrong = amy.sends(&action, &[("decision", "perhaps")]).await;
        assert_eq!(wrong.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.headers()["content-type"].to_str().unwrap().starts_with("text/html"));

        world.model_will(say("Done."));
        let after = amy.presses(&action, &[("decision", "allow"), ("reason", "")]).await;
        assert_snapshot!(visible(&after), @"
        Approvals · Countersign
        Decision saved.
        Approvals
        History
        No open approvals.
        ");
        settles(world).await;
        assert_eq!(world.deletions(), 1);
        let late = amy.sends(&action, &[("decision", "deny")]).await;
        assert_eq!(late.status(), StatusCode::CONFLICT);
        assert_snapshot!(table(&amy.reads("/approvals/history").await), @r#"
        2026-05-04 10:00:00 | delete |
        Show
        {
        "path": "<script>alert(1)</script>‹U+202E›.txt"
        }
        | Ann | allowed | amy, on web | 2026-05-04 10:00:00
        "#);
        let owner = Operator::signed_in(&served, "owner").await;
        assert_snapshot!(records(&owner.reads("/audit?kind=decided").await), @"2026-05-04 10:00:00 | decided | amy | delete |");
        let verified = owner.reads("/audit?verify=true").await;
        assert_snapshot!(visible(between(&verified, "<div class=\"notice\"", "</div>")), @"Verified: 4 records in 1 chains, none altered.");
    }
}

story! {
    /// A denial in the console has a reason, and the untrusted content of the conversation is shown
    /// before the decision.
    async fn a_denial_says_why_and_taint_is_shown(world: &mut World) {
        staffed(world);
        world.tools.push(std::sync::Arc::new(Page));
        let served = Served::of(world).await;
        let amy = Operator::signed_in(&served, "amy").await;
        world.model_will(call("page", json!({})));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("read the page and delete").await;
        let inbox = amy.reads("/approvals").await;
        assert_snapshot!(visible(between(&inbox, "<dl class=\"facts\">", "</dl>")), @r#"
        Requested by
        Ann room/1
        Where
        room
        Who may decide
        [
        "requester",
        "role:approver"
        ]
        Untrusted content
        page
        "#);
        world.model_will(say("Then not."));
        let action = form(&inbox, "/approvals/");
        amy.presses(&action, &[("decision", "deny"), ("reason", "the page made you")]).await;
        settles(world).await;
        let results = world.results().await;
        assert!(results.iter().any(|result| result.contains("the page made you")), "{results:?}");
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// The scope of a permanent permission is shown before it is granted in the console.
    /// Proves A11.
    async fn a_grant_is_given_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let amy = Operator::signed_in(&served, "amy").await;
        world.model_will(call("delete", json!({ "path": "notes/a.txt" })));
        world.ann_says("delete it").await;
        let inbox = amy.reads("/approvals").await;
        let leave = between(&inbox, "<summary>Always…</summary>", "</details>");
        assert_snapshot!(visible(leave), @"
        Always would allow, without asking again:
        delete: only paths below notes/
        for requests by the same person, in all chats
        until 2026-06-03, unlimited uses
        Grant this permission?
        [Grant this permission and allow the call]
        ");
        world.model_will(say("Done."));
        amy.presses(&form(&inbox, "/approvals/"), &[("decision", "allow_always")]).await;
        settles(world).await;
        world.model_will(call("delete", json!({ "path": "notes/b.txt" })));
        world.model_will(say("That too."));
        world.ann_says("delete the other").await;
        assert_eq!(world.deletions(), 2);
        assert_snapshot!(table(&amy.reads("/grants").await), @r#"
        delete | {
        "below": "notes"
        } | person room/1 | amy | 2026-06-03 10:00:00 | unlimited |
        "#);
    }
}

story! {
    /// An open page is notified of new and finished approvals.
    async fn an_open_approvals_page_shows_changes(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let amy = Operator::signed_in(&served, "amy").await;
        let inbox = amy.reads("/approvals").await;
        let live = between(&inbox, "data-live=\"", "\"").replace("&#x2f;", "/").replace("&amp;", "&");
        let live = live.strip_prefix("/console").unwrap();
        let mut stream = amy.looks(live).await;
        assert_eq!(stream.status(), StatusCode::OK);
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete it").await;
        hears_a_change(&mut stream).await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        hears_a_change(&mut stream).await;

        // A role can watch only what it may see.
        let vic = Operator::signed_in(&served, "vic").await;
        assert_eq!(vic.looks("/events?of=approvals").await.status(), StatusCode::FORBIDDEN);
        assert_eq!(amy.looks("/events?of=conversation&id=x").await.status(), StatusCode::FORBIDDEN);
    }
}

story! {
    /// An open page is notified of votes.
    async fn an_open_approvals_page_shows_new_votes(world: &mut World) {
        staffed(world);
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        let served = Served::of(world).await;
        let amy = Operator::signed_in(&served, "amy").await;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let said = world.said("delete a.txt");
        world.happens_at(World::group(), ("1", &[]), said).await;
        let choices = |page: &str| {
            visible(between(page, "class=\"choices\">", "</form>"))
        };
        let inbox = amy.reads("/approvals").await;
        assert_snapshot!(choices(&inbox), @"
        [Allow once]
        Reason [Deny]
        ");
        let live = between(&inbox, "data-live=\"", "\"").replace("&#x2f;", "/").replace("&amp;", "&");
        let mut stream = amy.looks(live.strip_prefix("/console").unwrap()).await;
        for button in ["Allow once", "Withdraw vote"] {
            let press = world.press(button);
            world.happens_at(World::group(), ("1", &[]), press).await;
            hears_a_change(&mut stream).await;
        }
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("2", &[]), press).await;
        assert_snapshot!(choices(&amy.reads("/approvals").await), @"
        [Allow once] [Withdraw my vote]
        Reason [Deny]
        ");
    }
}

story! {
    /// Every open approval can be reached, and a filter stays from one page to the next.
    async fn open_approvals_have_pages(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let amy = Operator::signed_in(&served, "amy").await;
        for path in ["a.txt", "b.txt"] {
            world.model_will(call("delete", json!({ "path": path })));
            let said = world.said("delete it");
            let place = if path == "a.txt" { World::group() } else { World::place() };
            world.happens_at(place, ("1", &[]), said).await;
        }
        let first = amy.reads("/approvals?limit=1&done=voted").await;
        assert!(first.contains("b.txt") && !first.contains("a.txt"), "{first}");
        let link = between(&first, "<a class=\"button\" href=\"", "\"").replace("&amp;", "&");
        assert!(link.ends_with("&limit=1"), "{link}");
        let second = amy.reads(&format!("/approvals{link}")).await;
        assert!(second.contains("a.txt") && !second.contains("b.txt"), "{second}");
        assert!(!second.contains("<a class=\"button\""), "{second}");
    }
}

async fn hears_a_change(stream: &mut Response) {
    let mut heard = String::new();
    while !heard.contains("event: changed") {
        let chunk = stream.chunk().await.unwrap().expect("the stream goes on");
        heard.push_str(&String::from_utf8_lossy(&chunk));
    }
}

story! {
    /// The console shows a turn as a timeline, with the guard's verdicts, times and tokens.
    async fn a_turn_is_shown_as_a_timeline(world: &mut World) {
        staffed(world);
        world.clock.advance(TimeDelta::seconds(3));
        let served = Served::of(world).await;
        let oli = Operator::signed_in(&served, "oli").await;
        world.model_will(call("delete", json!({ "path": "<b>a</b>.txt" })));
        world.ann_says("delete <i>it</i>").await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        let list = oli.reads("/conversations?channel=room").await;
        let link = between(&list, "<td><a href=\"/console", "\"");
        let page = oli.reads(link).await;
        for wanted in ["delete &lt;i&gt;it&lt;&#x2f;i&gt;", "&lt;b&gt;a&lt;"] {
            assert!(page.contains(wanted), "{wanted} in {page}");
        }
        let durations = regex::Regex::new(r"\d[\d.]* (?:ms|s)\b").unwrap();
        let timeline = visible(&page);
        let told: Vec<_> = timeline.lines().filter(|line| line.contains(": ") || line.contains(" · ")).collect();
        assert_snapshot!(durations.replace_all(&told.join("\n"), "<time>"), @r#"
        room/7 · Countersign
        · <time> · model requests: 2 · calls: 1 · tokens: 200 in, 20 out
        in: 100 out: 10
        "path": "<b>a</b>.txt"
        delete: approval requested
        guard: delete makes changes, and no rule allows it.
        Sent: an approval
        delete: allowed by Ann
        Sent: the outcome of an approval
        delete: done
        guard: allowed by Ann
        in: 100 out: 10
        Sent: an answer
        "#);
        assert!(!page.contains("<b>a</b>"), "{page}");
    }
}

story! {
    /// Tools are disabled and moved between tiers.
    /// Proves MC-07, MC-52.
    async fn tools_are_set_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let oli = Operator::signed_in(&served, "oli").await;
        let vic = Operator::signed_in(&served, "vic").await;
        let shell = between(&vic.reads("/tools").await, "<code>shell</code>", "</tr>").to_owned();
        assert_snapshot!(visible(&shell), @"
        | Runs a command with /bin/sh in a sandbox without network. Unavailable: this story has none. | at most once |
        extension
        |
        on
        ");
        for (reader, sets) in [(&vic, false), (&oli, true)] {
            let page = reader.reads("/tools").await;
            assert_eq!(page.contains("<button name=\"enabled\""), sets, "a viewer has no buttons");
        }
        let row = |page: &str| between(page, "<code>rare</code>", "</tr>").to_owned();
        assert_snapshot!(visible(&row(&oli.reads("/tools").await)), @"
        | Is seldom needed | read only |
        extension
        [To core rare]
        |
        on
        [Turn off rare]
        ");
        let page = oli.presses("/tools/rare", &[("tier", "core")]).await;
        assert_snapshot!(visible(&row(&page)), @"
        | Is seldom needed | read only |
        core
        [To extension rare]
        |
        on
        [Turn off rare]
        ");
        let page = oli.presses("/tools/rare", &[("enabled", "false")]).await;
        assert_snapshot!(visible(&row(&page)), @"
        | Is seldom needed | read only |
        core
        [To extension rare]
        |
        off
        [Turn on rare]
        ");
        assert_eq!(oli.sends("/tools/nothing", &[("tier", "core")]).await.status(), StatusCode::NOT_FOUND);
        assert_snapshot!(records(&oli.reads("/settings").await), @"
        2026-05-04 10:00:00 | oli | tool set rare |
        2026-05-04 10:00:00 | oli | tool set rare |
        ");
    }
}

story! {
    /// Rules are added, tested, disabled and removed.
    async fn rules_are_tried_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let owner = Operator::signed_in(&served, "owner").await;
        let tried = "/rules?tool=delete&agent=default&arguments=%7B%22path%22%3A%22a.txt%22%7D";
        let verdict = |page: &str| {
            visible(between(page, "<div role=\"status\" class=\"stack\">", "</div>"))
        };
        let alert = "<p class=\"notice bad\"";
        assert_snapshot!(verdict(&owner.reads(tried).await), @"
        asks Test only; nothing was run.
        The guard asks.
        why delete makes changes, and no rule allows it.
        rule none matches
        ");
        let rule = [
            ("name", "never <delete>"),
            ("tool", "delete"),
            ("severity", "high"),
            ("action", "deny"),
        ];
        let page = owner.presses("/rules", &rule).await;
        assert!(page.contains("never &lt;delete&gt;"), "{page}");
        assert_snapshot!(verdict(&owner.reads(tried).await), @"
        refuses Test only; nothing was run.
        The guard refuses.
        why Denied: the rule “never <delete>” forbids this call of delete. Do not try again.
        rule never <delete> (database), which forbids
        severity high
        ");
        let again = owner.sends("/rules", &rule).await;
        assert_eq!(again.status(), StatusCode::CONFLICT);
        let late =
            [("name", "late"), ("tool", "*"), ("severity", "high"), ("action", "allow")];
        let page = owner.presses("/rules", &late).await;
        let late = between(&page, "<bdi>late</bdi>", "</tr>");
        assert_snapshot!(visible(between(late, "<p class=\"quiet\">", "</p>")), @"never <delete> takes precedence when both match. Increase the priority or severity of this rule to change that.");
        owner.presses("/rules/late", &[("then", "remove")]).await;
        owner.presses("/rules/never%20%3Cdelete%3E", &[("then", "off")]).await;
        assert_snapshot!(verdict(&owner.reads(tried).await), @"
        asks Test only; nothing was run.
        The guard asks.
        why delete makes changes, and no rule allows it.
        rule none matches
        ");
        assert!(!owner.reads("/rules").await.contains(alert));
        owner.presses("/rules/never%20%3Cdelete%3E", &[("then", "remove")]).await;
        assert!(!owner.reads("/rules").await.contains("never &lt;delete&gt;"));
        let nonsense = owner.reads("/rules?tool=delete&arguments=%7Bx").await;
        assert_snapshot!(visible(between(&nonsense, alert, "</p>")), @"The arguments are not valid JSON: key must be a string at line 1 column 2.");
    }
}

story! {
    /// Operators are warned if the shipped rules are the only protection of the shell.
    async fn an_open_default_is_warned_of_in_the_console(world: &mut World) {
        staffed(world);
        world.sandbox = std::sync::Arc::new(crate::support::program::sandbox().await);
        world.config.guard.default = countersign::testing::agent::policy::Action::Allow;
        let served = Served::of(world).await;
        let owner = Operator::signed_in(&served, "owner").await;
        let page = owner.reads("/rules").await;
        assert_snapshot!(visible(between(&page, "<p class=\"notice bad\"", "</p>")), @r#"guard.default is "allow", and `shell` is available: every command that no rule matches runs. The shipped rules catch accidents and known tricks; they are not a security boundary. Set guard.default to "ask", or add a rule that asks about `shell`."#);
    }
}

story! {
    /// A dead letter is replayed, a person added and removed, a schedule paused, a permission
    /// revoked, the halt activated: through the same functions as the API, and with audit records.
    async fn the_rest_is_done_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let owner = Operator::signed_in(&served, "owner").await;
        world.room.breaks("7", SendError::Rejected("<i>too long</i>".into()));
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        let letters = owner.reads("/dead-letters").await;
        assert!(letters.contains("&lt;i&gt;too long"), "{letters}");
        assert_snapshot!(table(&letters), @r#"
        2026-05-04 10:00:00 | room |
        text: Hello.
        {
        "kind": "text",
        "markdown": "Hello.",
        "reply_to": null
        }
        | refused <i>too long</i> | 1 |
        [Replay] [Drop]
        "#);
        let action = form(&letters, "/dead-letters/");
        assert_snapshot!(visible(&owner.presses(&action, &[("then", "drop")]).await), @"
        Dead letters · Countersign
        Dropped. It will not be sent.
        Dead letters
        Messages that could not be delivered: the platform rejected them, or the chat no longer exists.
        Since | Channel | What | Problem | Attempts | Actions
        None yet.
        ");

        let eve = [("channel", "room"), ("person", "<eve>"), ("role", "viewer")];
        assert!(owner.presses("/people", &eve).await.contains("&lt;eve&gt;"));
        let people = owner.presses("/people", &eve[..2]).await;
        assert_snapshot!(visible(between(&people, "<tbody>", "</tbody>")), @"Nobody yet.");
        let nowhere = [("channel", "nowhere"), ("person", "5"), ("role", "viewer")];
        assert_eq!(owner.sends("/people", &nowhere).await.status(), StatusCode::NOT_FOUND);
        let code = owner.presses("/pairing-codes", &[("channel", "room"), ("hours", "2")]).await;
        let (_, offer) = code.split_once("<p class=\"code\">").expect("a code");
        assert_snapshot!(visible(between(offer, "</p>", "</section>")), @"Gives access to one person who sends it to the bot, as owner (visitors of a widget always as member), until 2026-05-04 12:00:00 UTC. It is shown only once.");

        let halted = owner.presses("/panic", &[("halt", "on")]).await;
        assert_snapshot!(visible(between(&halted, "<p class=\"banner\"", "</p>")), @"All tools are halted, by owner, since 2026-05-04 10:00:00.");
        let lifted = owner.presses("/panic", &[("halt", "off")]).await;
        assert!(!lifted.contains("<p class=\"banner\""), "{lifted}");
        assert_snapshot!(records(&owner.reads("/audit?person=owner").await), @"
        2026-05-04 10:00:00 | lifted | owner | |
        2026-05-04 10:00:00 | halted | owner | |
        2026-05-04 10:00:00 | pairing offered | owner | |
        2026-05-04 10:00:00 | person removed | owner | |
        2026-05-04 10:00:00 | role set | owner | |
        2026-05-04 10:00:00 | letter dropped | owner | |
        ");
    }
}

story! {
    /// A session that is ended and a token that is revoked in the console are rejected at once.
    async fn access_is_ended_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let token = served.token("ci", Role::Approver).await;
        let owner = Operator::signed_in(&served, "owner").await;
        let amy = Operator::signed_in(&served, "amy").await;
        let reads = async || served.ask(&token, Method::GET, "/approvals", None).await.0;
        assert_eq!((amy.looks("").await.status(), reads().await), (StatusCode::OK, StatusCode::OK));

        let page = owner.reads("/access").await;
        let row = page.split("<tr>").find(|row| row.contains("amy")).expect("Amy is signed in");
        let ended = owner.presses(&form(row, "/sessions/"), &[]).await;
        assert_snapshot!(table(&ended), @"
        owner owner | session | link | 2026-05-04 10:00:00 | 2026-05-04 11:00:00 |
        [End the session of owner]
        ");
        assert_eq!(amy.looks("").await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(reads().await, StatusCode::OK);
        let revoked = owner.presses(&form(&page, "/tokens/"), &[]).await;
        assert!(!revoked.contains("action=\"/console/tokens/"), "{revoked}");
        assert_eq!(reads().await, StatusCode::UNAUTHORIZED);
        assert_snapshot!(records(&owner.reads("/audit?person=owner").await), @"
        2026-05-04 10:00:00 | token revoked | owner | |
        2026-05-04 10:00:00 | session ended | owner | |
        ");
    }
}

story! {
    /// An owner creates a token in the console: its secret is shown once and works, with its role,
    /// until the token expires. Others may not.
    async fn an_owner_creates_a_token_in_the_console(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let owner = Operator::signed_in(&served, "owner").await;
        let oli = Operator::signed_in(&served, "oli").await;
        let ci = [("name", "ci <1>"), ("role", "viewer"), ("days", "2")];
        assert_eq!(oli.sends("/tokens", &ci).await.status(), StatusCode::FORBIDDEN);
        let mut alerts = Vec::new();
        for (name, role, days) in
            [("", "viewer", "2"), ("ci", "viewer", "0"), ("ci", "viewer", "soon"), ("ci", "boss", "2")]
        {
            let form = [("name", name), ("role", role), ("days", days)];
            let sent = owner.sends("/tokens", &form).await;
            assert_eq!(sent.status(), StatusCode::UNPROCESSABLE_ENTITY, "{form:?}");
            let page = sent.text().await.unwrap();
            alerts.push(alert(&page));
            assert!(page.contains(&format!("value=\"{days}\"")), "what was typed is kept: {page}");
        }
        assert_snapshot!(alerts.join("\n"), @"
        `name` must have 1 to 64 characters, without control characters or leading or trailing spaces.
        `days` must be a number from 1 to 3650.
        `days` must be a number from 1 to 3650.
        The form is not valid.
        ");
        let created = owner.presses("/tokens", &ci).await;
        let secret = between(&created, "<code class=\"secret\">", "</code>").to_owned();
        assert!(secret.starts_with("cs_") && created.contains("ci &lt;1&gt;"), "{created}");
        let listed = owner.reads("/access").await;
        assert!(listed.contains("ci &lt;1&gt;") && !listed.contains(&secret), "shown once: {listed}");
        let again = owner.sends("/tokens", &ci).await;
        assert_eq!(again.status(), StatusCode::CONFLICT, "an active token has the name");

        let reads = async |path: &str| served.ask(&secret, Method::GET, path, None).await.0;
        assert_eq!(reads("/channels").await, StatusCode::OK);
        assert_eq!(reads("/approvals").await, StatusCode::FORBIDDEN, "a viewer decides nothing");
        let audit = owner.reads("/audit?kind=token_created").await;
        assert!(audit.contains("ci &lt;1&gt;") && !audit.contains(&secret), "{audit}");
        world.clock.advance(TimeDelta::days(3));
        assert_eq!(reads("/channels").await, StatusCode::UNAUTHORIZED, "it has expired");
    }
}

/// Adds a message to the conversation's outbox.
async fn shows(served: &Served, what: Outgoing) {
    let (place, now) = (World::place(), served.app.gateway.clock.now());
    let put = served.app.gateway.store.write("test", move |tx| {
        Box::pin(async move {
            let here = journal::find_conversation(tx, "room", &place).await?.unwrap();
            outbox::put(tx, &here, vec![what], now).await
        })
    });
    put.await.unwrap();
}

story! {
    /// Every page shows its data, and no user or program content is interpreted. A template
    /// variable without a value is an error, so each page is rendered in full here.
    async fn every_page_shows_what_there_is(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let owner = Operator::signed_in(&served, "owner").await;
        let hostile = "<script>x</script>";
        let topics = [Topic::ApprovalRequested, Topic::TurnFinished];
        subscribe(world, "https://ops.example/hook", &topics, None);
        world.model_will(call("remind", json!({ "text": hostile, "every": "1h" })));
        world.model_will(say("Noted."));
        world.ann_says("later").await;
        world.model_will(call("delete", json!({ "path": "notes/a.txt" })));
        world.ann_says(hostile).await;
        world.model_will(say(hostile));
        world.ann_presses("Always…").await;
        world.ann_presses("Grant").await;
        let file = Outgoing::File {
            name: format!("{hostile}.pdf"),
            media_type: "application/pdf".into(),
            size_bytes: 4,
            digest: "0".repeat(64),
            caption: None,
            reply_to: None,
        };
        shows(&served, file).await;
        for (page, wanted) in [
            ("/grants", "notes"),
            ("/people", "action=\"/console/pairing-codes\""),
            ("/schedules", "every 1h"),
            ("/artifacts", ".pdf"),
            ("/webhooks", "turn.finished"),
            ("/channels", "<summary><strong>default</strong>"),
            ("/usage?days=7", "<rect"),
            ("/usage?days=7", "<bdi>default</bdi>"),
            ("/audit", "delete"),
            ("/settings", "approval_timeout"),
            ("/approvals/history", "Ann"),
        ] {
            let text = owner.reads(page).await;
            assert!(text.contains(wanted), "{page}: {text}");
            assert!(!text.contains(hostile), "{page}: {text}");
        }
        let gone = owner.reads("/artifacts").await;
        let link = between(&gone, "<a href=\"/console/artifacts", "\"");
        let answer = owner.looks(&format!("/artifacts{link}")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "its bytes were never there");
        every_button_works(world, &owner).await;
    }
}

/// Presses the buttons of the pages: a grant is revoked, a schedule paused and deleted, a webhook
/// sent again.
async fn every_button_works(world: &World, owner: &Operator<'_>) {
    let grant = form(&owner.reads("/grants").await, "/grants/");
    let table = |page: &str| visible(between(page, "<tbody>", "</tbody>"));
    assert_snapshot!(table(&owner.presses(&grant, &[]).await), @"None yet.");
    let later = form(&owner.reads("/schedules").await, "/schedules/");
    assert_snapshot!(table(&owner.presses(&later, &[("then", "pause")]).await), @"
    2026-05-04 11:00:00 | Reminder: <script>x</script> | every 1h UTC | Ann | paused |
    Edit <script>x</script> [Resume] [Delete]
    ");
    assert_snapshot!(table(&owner.presses(&later, &[("then", "delete")]).await), @"No schedules.");
    world.tampers("UPDATE notices SET status = 'dead' WHERE topic = 'approval.asked'").await;
    let dead = form(&owner.reads("/webhooks?status=dead").await, "/webhooks/");
    let replayed = owner.presses(&dead, &[("then", "replay")]).await;
    assert_snapshot!(visible(between(&replayed, "<p class=\"notice\"", "</p>")), @"Queued for another attempt.");
    let again = owner.sends(&dead, &[("then", "drop")]).await;
    assert_eq!(again.status(), StatusCode::NOT_FOUND, "it is not dead any more");
}

story! {
    /// An operator reads a server's description of its tool and trusts it; a viewer has no buttons.
    /// Proves S16.
    async fn an_operator_trusts_a_tool_in_the_console(world: &mut World) {
        staffed(world);
        FaultyServer::with(world, &json!([tool("shirt")]));
        let served = Served::of(world).await;
        world.config.mcp.clear();
        let page = Operator::signed_in(&served, "vic").await.reads("/tools").await;
        assert!(!page.contains("action=\"/console/mcp-servers/"), "{page}");
        let oli = Operator::signed_in(&served, "oli").await;
        let page = oli.reads("/tools").await;
        let pin = |page: &str| {
            visible(between(page, "<th scope=\"row\"><code>shirt</code></th>", "</tr>"))
        };
        assert_snapshot!(pin(&page), @r#"
        m |
        Show
        {
        "annotations": {
        "readOnlyHint": true
        },
        "description": null,
        "inputSchema": {
        "type": "object"
        },
        "name": "shirt"
        }
        | as first seen
        [Trust shirt]
        "#);
        let digest = between(&page, "name=\"digest\" value=\"", "\"");
        let trust = "/mcp-servers/m/trust";
        let wrong = oli.sends(trust, &[("tool", "shirt"), ("digest", "other")]).await;
        assert_eq!(wrong.status(), StatusCode::CONFLICT);
        let page = oli.presses(trust, &[("tool", "shirt"), ("digest", digest)]).await;
        assert_snapshot!(pin(&page), @r#"
        m |
        Show
        {
        "annotations": {
        "readOnlyHint": true
        },
        "description": null,
        "inputSchema": {
        "type": "object"
        },
        "name": "shirt"
        }
        | trusted by oli
        "#);
    }
}

story! {
    /// The first page shows what is wrong: a failed turn with its cause, and what waits for a
    /// decision. Failed turns can be listed.
    async fn the_overview_shows_what_needs_attention(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let oli = Operator::signed_in(&served, "oli").await;
        let fresh = oli.reads("/overview").await;
        let failures = |page: &str| {
            let failures = between(page, "Failed turns of the last 7 days", "</main>");
            visible(&format!("<h2>{failures}"))
        };
        assert_snapshot!(failures(&fresh), @"
        All
        None.
        ");
        assert_snapshot!(table(&oli.reads("/conversations?failed=true").await), @"None yet.");
        world.model_will(fail(ModelError::Rejected("401 <b>wrong key</b>".into())));
        world.ann_says("hello").await;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete it").await;
        let page = oli.reads("/overview").await;
        assert!(page.contains("401 &lt;b&gt;wrong key"), "{page}");
        let tile = between(&page, "<dt>Open approvals</dt>", "</div>");
        assert_eq!(visible(tile).trim(), "1");
        assert_snapshot!(failures(&page), @"
        All
        2026-05-04 10:00:00 room/7
        The language model rejects my requests. The operator can find the cause in the console.
        Cause: 401 <b>wrong key</b>
        ");
        let listed = between(&page, "Failed turns of the last 7 days", "</ul>");
        let link = between(listed, "<a href=\"/console/conversations/", "\"");
        assert!(oli.reads(&format!("/conversations/{link}")).await.contains("wrong key"));
        assert_snapshot!(table(&oli.reads("/conversations?failed=true").await), @"2026-05-04 10:00:00 | room | 7 | private | 5 | idle failed turn");

        let vic = Operator::signed_in(&served, "vic").await;
        let little = vic.reads("/overview").await;
        assert!(!little.contains("wrong key"), "{little}");
        assert_snapshot!(visible(&little).replace(env!("CARGO_PKG_VERSION"), "<version>"), @"
        Overview · Countersign
        Overview
        Health
        runningVersion <version>, demo model
        Open approvals
        1
        Working on
        0conversations
        Waiting messages
        0nothing to send
        Channels
        Channel | State | Last problem
        room | connected | none
        web | connected | none
        ");
        let begins = vic.looks("").await;
        assert_eq!(begins.url().path(), "/console/overview");
    }
}

story! {
    /// After an outage, all dead letters are sent again at once.
    async fn all_dead_letters_are_replayed_at_once(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let oli = Operator::signed_in(&served, "oli").await;
        world.room.breaks("7", SendError::Rejected("the platform is ill".into()));
        for n in 0..3 {
            world.model_will(say(format!("Answer {n}.")));
            world.ann_says("hello").await;
        }
        assert_eq!(oli.reads("/dead-letters").await.matches("the platform is ill").count(), 3);
        let nothing = oli.presses("/dead-letters", &[("channel", "nowhere")]).await;
        assert_eq!(nothing.matches("the platform is ill").count(), 3);
        world.room.mends("7");
        let left = oli.presses("/dead-letters", &[("channel", "room")]).await;
        assert_snapshot!(visible(&left), @"
        Dead letters · Countersign
        Queued for another attempt.
        Dead letters
        Messages that could not be delivered: the platform rejected them, or the chat no longer exists.
        Since | Channel | What | Problem | Attempts | Actions
        None yet.
        ");
        settles(world).await;
        for n in 0..3 {
            assert_eq!(world.shown().matches(&format!("Answer {n}.")).count(), 1, "{}", world.shown());
        }
        let owner = Operator::signed_in(&served, "owner").await;
        assert_snapshot!(records(&owner.reads("/audit?kind=letters_replayed").await), @"2026-05-04 10:00:00 | letters replayed | oli | |");
    }
}

story! {
    /// A form that is not accepted is shown again with what was typed, and the reason above it.
    async fn a_form_keeps_what_was_typed(world: &mut World) {
        staffed(world);
        let served = Served::of(world).await;
        let owner = Operator::signed_in(&served, "owner").await;
        let rule = [
            ("name", "my <rule>"), ("tool", "shell"), ("arg_pattern", "("), ("command", "ls"),
            ("severity", "high"), ("action", "deny"),
        ];
        let answer = owner.sends("/rules", &rule).await;
        assert!(answer.status().is_client_error(), "{}", answer.status());
        let page = answer.text().await.unwrap();
        let form = between(&page, "<h2 id=\"new\">", "</form>");
        for kept in ["role=\"alert\"", "value=\"my &lt;rule&gt;\"", "value=\"(\"", "value=\"high\" selected", "value=\"deny\" selected"] {
            assert!(form.contains(kept), "{kept} in {form}");
        }
        let person = [("channel", "room"), ("person", " "), ("role", "viewer")];
        let answer = owner.sends("/people", &person).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let page = answer.text().await.unwrap();
        let form = between(&page, "<h2 id=\"let-in\">", "</form>");
        assert_snapshot!(alert(form), @"Enter the person’s id on their platform.");
        assert!(form.contains("<option selected>viewer"), "{form}");
        let code = [("channel", "room"), ("hours", "0"), ("role", "member")];
        let page = owner.sends("/pairing-codes", &code).await.text().await.unwrap();
        let form = between(&page, "<h2 id=\"pair\">", "</form>");
        assert_snapshot!(alert(form), @"`hours` must be a number from 1 to 8760.");
        assert!(form.contains("value=\"0\""), "{form}");
        let nowhere = owner.looks("/nope").await;
        assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
        assert!(nowhere.text().await.unwrap().contains("<html"), "a page, not JSON");
    }
}
