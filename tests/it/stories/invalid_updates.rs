//! A single invalid update or row does not block others.

use channels::{Batch, Incoming, IncomingContent, Place, PlaceKind};
use chrono::TimeDelta;
use countersign::testing::{
    gateway::receive,
    journal::{event::Event, role::Role},
    scripted::{call, say},
    texts::Language,
};
use insta::assert_snapshot;
use serde_json::json;

use super::messages::with_file;
use crate::{story, support::world::World};

/// Makes the database reject events that contain "poison" with that `SQLSTATE`, a number of times
/// (`-1`: always).
async fn refuses_poison(world: &World, code: &str, times: i64) {
    if world.is_on_sqlite() {
        let trigger = "
            CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.body LIKE '%poison%'
            BEGIN SELECT RAISE(ABORT, 'poison'); END";
        return world.tampers(trigger).await;
    }
    world.tampers("CREATE SEQUENCE refused").await;
    let function = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.body LIKE '%poison%' AND ({times} < 0 OR nextval('refused') <= {times}) THEN
                RAISE EXCEPTION 'poison' USING ERRCODE = '{code}';
            END IF;
            RETURN NEW;
        END $$"
    );
    world.tampers(&function).await;
    let trigger = "
        CREATE TRIGGER poison BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()";
    world.tampers(trigger).await;
}

fn said(world: &mut World, texts: &[&str]) -> Batch {
    let incomings = texts.iter().map(|text| {
        let what = world.said(text);
        world.incoming("1", what)
    });
    Batch { incomings: incomings.collect(), position: Some("p9".into()) }
}

async fn texts(world: &World) -> Vec<String> {
    let said = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::Said { text, .. } => Some(text),
        _ => None,
    });
    said.collect()
}

story! {
    /// An update that cannot be stored is set aside and its sender is told; the others and the
    /// position are stored, without duplicates.
    /// Proves I1.
    async fn an_update_that_cannot_be_stored_holds_up_no_other(world: &mut World) {
        let app = world.node().await;
        refuses_poison(world, "P0001", -1).await;
        let batch = said(world, &["one", "poison", "two"]);
        for _ in 0..2 {
            receive::receive(&app.gateway, "room", batch.clone()).await.unwrap();
        }
        assert_eq!(texts(world).await, ["one", "two"]);
        let unparsed = world.rows_of("unparsed").await;
        let [aside] = &unparsed[..] else { panic!("one is set aside: {unparsed:?}") };
        assert!(aside.contains("poison") && aside.contains(&batch.incomings[1].key), "{aside}");
        assert!(world.rows_of("positions").await[0].contains("p9"));
        app.gateway.tasks.close();
        app.gateway.tasks.wait().await;
        assert_snapshot!(world.last(), @"Something went wrong on my side, and I couldn't finish. … Reference: `k5`");
        assert!(world.last().contains(&batch.incomings[1].key));
        assert_eq!(world.room.messages().len(), 1);
    }
}

story! {
    /// Content that is not addressed to the bot, has no author, or is not text in a group is
    /// neither recorded nor answered.
    async fn messages_to_others_are_ignored(world: &mut World) {
        let unaddressed = |what: IncomingContent| match what {
            IncomingContent::Text { message, text, reply_to, files, album, quoted_author, .. } => {
                IncomingContent::Text { message, text, reply_to, addressed: false, files, album, quoted_author }
            }
            other => other,
        };
        let said = unaddressed(world.said("just between us"));
        world.happens_at(World::group(), ("1", &[]), said).await;
        let sticker = || IncomingContent::Unsupported { message: "x".into(), content: "sticker".into() };
        world.happens_at(World::group(), ("1", &[]), sticker()).await;
        assert_eq!(world.rows_of("conversations").await.len(), 0);

        world.model_will(say("Hello."));
        let said = world.said("hello");
        let IncomingContent::Text { message, .. } = said.clone() else { unreachable!("a text") };
        world.happens_at(World::group(), ("1", &[]), said).await;
        let events = world.journal_at(World::group()).await.len();
        let edited = IncomingContent::Edited { message, text: "between us".into(), addressed: false };
        world.happens_at(World::group(), ("1", &[]), edited).await;
        let app = world.node().await;
        let what = world.said("of a channel");
        let post = Incoming { person: None, place: World::group(), ..world.incoming("1", what) };
        let batch = Batch { incomings: vec![post], position: None };
        receive::receive(&app.gateway, "room", batch).await.unwrap();
        world.settle(&app).await;
        assert_eq!(world.journal_at(World::group()).await.len(), events);
        assert_eq!(world.prompts().len(), 1);
    }
}

story! {
    /// A command must be a separate message: as the caption of a file, it is text for the model.
    async fn a_caption_is_no_command(world: &mut World) {
        world.room.has_file("f1", "one\n");
        world.model_will(say("A file."));
        let what = with_file(world, "/whoami", ("f1", "a.txt"));
        world.happens("1", what).await;
        assert_eq!(texts(world).await, ["/whoami"]);
        assert_eq!(world.last(), "A file.");
    }
}

story! {
    /// A role below *member* does not admit anyone. A stranger's press is rejected, visible only to
    /// them.
    /// Proves S5.
    async fn a_viewer_of_the_console_is_a_stranger_in_the_chat(world: &mut World) {
        world.settings.roles = [("3".to_owned(), Role::Viewer)].into();
        let what = world.said("hello");
        world.happens("3", what).await;
        assert!(world.last().starts_with("I don't know you yet."), "{}", world.last());
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        let press = world.press("Allow once");
        world.happens("3", press).await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.room.toasts(), [Language::English.words().not_for_you]);
        assert_eq!(world.prompts().len(), 1);
    }
}

/// A short database outage loses neither the update nor the listener. The error is the one that
/// PostgreSQL returns at shutdown; SQLite has no statement that fails in this way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transient_error_is_retried_with_the_same_batch() {
    let mut world = World::on_postgres().await;
    let app = world.node().await;
    refuses_poison(&world, "57P01", 2).await;
    let batch = said(&mut world, &["one", "poison", "two"]);
    receive::receive(&app.gateway, "room", batch).await.unwrap();
    assert_eq!(texts(&world).await, ["one", "poison", "two"]);
    assert!(world.rows_of("unparsed").await.is_empty());
    world.end().await;
}

story! {
    /// An approval that only a newer release can read is skipped: people can still write, and other
    /// approvals still expire.
    async fn a_question_of_a_newer_release_affects_only_itself(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        world.tampers("UPDATE approvals SET asks = '\"riddle\"'").await;
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        let elsewhere = Place { chat: "8".into(), thread: None, kind: PlaceKind::Private };
        let what = world.said("delete b.txt");
        world.happens_at(elsewhere.clone(), ("2", &[]), what).await;
        world.ann_says("are you there?").await;
        assert_eq!(texts(world).await.last().unwrap(), "are you there?");
        world.model_will(say("I did not."));
        world.time_passes(TimeDelta::days(30)).await;
        let open = world.rows_of("approvals").await;
        let [first, second] = &open[..] else { panic!("{open:?}") };
        let (newer, known) = if first.contains("riddle") { (first, second) } else { (second, first) };
        assert!(newer.contains("pending"), "{newer}");
        assert!(known.contains("expired"), "{known}");
    }
}

story! {
    /// A node of this release releases a conversation with an event of a newer one and does not
    /// claim it again; others continue.
    async fn a_conversation_of_a_newer_release_is_left_to_others(world: &mut World) {
        world.model_will(say("One."));
        world.ann_says("one").await;
        let app = world.node().await;
        let what = world.said("two");
        world.takes(&app, "1", what).await;
        let newer = "UPDATE events SET body = '{\"kind\":\"of tomorrow\"}' WHERE body LIKE '%two%'";
        world.tampers(newer).await;
        let free = "
            CREATE VIEW free AS
            SELECT id FROM conversations WHERE lease_until = 0 AND ready_at IS NOT NULL";
        world.tampers(free).await;
        assert_eq!(app.worker.advance_ready().await.unwrap(), 1);
        assert_eq!(world.rows_of("free").await.len(), 1, "another node may take it at once");
        let now = app.gateway.clock.now();
        assert!(app.gateway.store.claim(9, now).await.unwrap().is_empty(), "this one does not");
        let elsewhere = Place { chat: "8".into(), thread: None, kind: PlaceKind::Private };
        world.model_will(say("Here."));
        let what = world.said("hello");
        world.happens_at(elsewhere, ("2", &[]), what).await;
        assert_eq!(world.last(), "Here.");
    }
}
