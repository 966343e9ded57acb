//! Vision models: pictures of people and of the workspace in the prompt, and nowhere else.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use countersign::testing::{
    agent::{
        policy::Action as Verdict,
        prompt::{Message, Picture, Prompt},
        rules::RuleEntry,
    },
    config::hooks::{HookAction, HookEntry},
    journal::event::{Event, HookPoint},
    scripted::{call, say},
};
use fakes::web::FakeWeb;
use insta::assert_snapshot;
use serde_json::json;

use super::{hooks::hook, messages::with_file};
use crate::{
    story,
    support::{stable_output::stable, world::World},
};

const PHOTO: &[u8] = include_bytes!("../../../renderers/tests/corpus/img/photo.jpg");
const CHART: &[u8] = include_bytes!("../../../renderers/tests/corpus/img/chart.png");

/// The model supports vision, and the configuration says so.
fn open_eyes(world: &mut World) {
    world.config.models[0].vision = Some(true);
    world.model.enable_vision();
}

async fn sends(world: &mut World, text: &str, name: &str) {
    let what = with_file(world, text, ("f", name));
    world.happens("1", what).await;
}

fn pictures(prompt: &Prompt) -> Vec<&Picture> {
    let all = prompt.messages.iter().filter_map(|message| match message {
        Message::Picture(picture) => Some(picture),
        _ => None,
    });
    all.collect()
}

fn jpeg(picture: &Picture) -> Vec<u8> {
    STANDARD.decode(picture.base64.as_deref().expect("it is shown")).unwrap()
}

story! {
    /// A picture that a person sends is included in the prompt, identically in each further request
    /// of any node; its content is untrusted. No database row contains it.
    /// Proves CA-36, T1, S1.
    async fn a_picture_that_is_sent_is_seen_and_taints(world: &mut World) {
        open_eyes(world);
        world.config.guard.rules = vec![RuleEntry::of("*", Verdict::Allow)];
        world.room.has_file("f", PHOTO);
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        sends(world, "what is this?", "a.jpg").await;
        let question = world.room.messages().pop().unwrap().text;
        assert_snapshot!(stable(&question), @r"
        Allow **delete**?
        Deletes a file

        path: `a.txt`

        delete affects systems outside this chat\.
        ⚠️ This conversation contains untrusted content \(picture inbox\/a\.jpg\)\, which may have prompted this request\.
        “Allow in this conversation” covers every later call of delete that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        let prompts = world.prompts();
        let first = &prompts[0].messages;
        let line = "what is this?\n[file: inbox/a.jpg, image/jpeg, 23 kB]";
        assert_eq!(first[0], Message::User { text: line.into() });
        let shown = jpeg(pictures(&prompts[0])[0]);
        assert!(shown.starts_with(b"\xff\xd8\xff"));
        assert_eq!(prompts[1].messages[..first.len()], first[..]);
        assert!(!format!("{:?}", prompts[0]).contains("/9j/"), "a prompt that is logged");
        let encoded = STANDARD.encode(&shown[..48]);
        for table in ["events", "outbox", "audit"] {
            assert!(!world.rows_of(table).await.concat().contains(&encoded), "{table}");
        }
    }
}

story! {
    /// A model without vision is told of a file, and nothing is tainted.
    async fn without_vision_a_picture_is_a_file(world: &mut World) {
        world.room.has_file("f", PHOTO);
        world.model_will(say("A file."));
        sends(world, "look", "a.jpg").await;
        assert_eq!(world.prompts()[0].messages.len(), 1);
        let tainted = |event: &Event| matches!(event, Event::Tainted { .. });
        assert!(!world.journal().await.iter().any(|entry| tainted(&entry.event)));
        assert!(!format!("{:?}", world.prompts()[0]).contains("look_at"));
    }
}

story! {
    /// A damaged or mislabelled picture is stored in the workspace; the conversation continues.
    /// Proves S14.
    async fn unsupported_pictures_are_sent_as_files(world: &mut World) {
        open_eyes(world);
        for (bytes, kind) in [(&PHOTO[..400], "image/jpeg"), (b"hello", "text/plain")] {
            world.ann_says("/new").await;
            world.room.has_file("f", bytes);
            world.model_will(say("I cannot see it."));
            sends(world, "look", "b.jpg").await;
            let prompt = world.prompts().pop().unwrap();
            let Message::User { text } = &prompt.messages[0] else { panic!("{prompt:?}") };
            assert!(text.contains("[file: inbox/b") && text.contains(kind), "{text}");
            assert_eq!(prompt.messages.len(), 1);
            assert_eq!(world.last(), "I cannot see it.");
        }
    }
}

story! {
    /// A tool that is enabled by its first call shows a picture of the workspace to the model, with
    /// its question; other files are an error.
    /// Proves CA-36.
    async fn the_model_looks_at_a_picture_of_the_workspace(world: &mut World) {
        open_eyes(world);
        world.room.has_file("f", CHART);
        world.model_will(say("Seen."));
        sends(world, "keep it", "c.png").await;
        world.ann_says("/new").await;
        let look = |path: &str| call("look_at", json!({ "path": path, "question": "How many bars?" }));
        world.model_will(look("inbox/c.png")).will(look("inbox/none.png")).will(say("Three."));
        world.ann_says("how many bars has it?").await;
        let prompt = world.prompts().pop().unwrap();
        let results = world.results().await;
        assert_snapshot!(stable(&results[0]), @"inbox/c.png follows as a picture. How many bars?");
        assert_snapshot!(stable(&results[1]), @"Not found: inbox/none.png. list_dir shows the files");
        let shown = pictures(&prompt);
        assert_eq!((shown.len(), shown[0].path.as_str()), (1, "inbox/c.png"));
        assert!(jpeg(shown[0]).starts_with(b"\xff\xd8\xff"));
        let before = prompt.messages.iter().position(|m| matches!(m, Message::Picture(_))).unwrap();
        assert!(matches!(&prompt.messages[before - 1], Message::Tool { .. }));
        let tainted = |event: &Event| matches!(event, Event::Tainted { source } if source == "look_at inbox/c.png");
        assert!(world.journal().await.iter().any(|entry| tainted(&entry.event)));
    }
}

story! {
    /// A picture from the web is shown to the model by its URL, with the default request. The host
    /// is checked as for other requests, and content that is not a picture is an error.
    /// Proves CA-36, S8.
    async fn the_model_looks_at_a_picture_of_the_web(world: &mut World) {
        open_eyes(world);
        let server = FakeWeb::start().await;
        let look = |path: &str| {
            call("look_at_url", json!({ "image_url": format!("{}{path}", server.url()) }))
        };
        world.model_will(look("/picture.png")).will(say("I may not."));
        world.ann_says("look at the chart").await;
        assert!(world.results().await[0].starts_with("Not authorized: "));
        assert!(server.asked().is_empty());
        world.ann_says("/new").await;
        world.config.web.allowed_private_hosts = vec!["127.0.0.1".into()];
        world.model_will(look("/picture.png")).will(say("Three bars."));
        world.ann_says("look at the chart").await;
        let shown = world.results().await[1].replace(&server.url(), "<web>");
        assert_snapshot!(shown, @"<web>/picture.png follows as a picture. Analyze this image");
        let prompt = world.prompts().pop().unwrap();
        assert_eq!(pictures(&prompt).len(), 1);
        assert!(jpeg(pictures(&prompt)[0]).starts_with(b"\xff\xd8\xff"));
        let tainted = |event: &Event| matches!(event, Event::Tainted { .. });
        assert!(world.journal().await.iter().any(|entry| tainted(&entry.event)));
        for path in ["/gone", "/report.pdf"] {
            world.ann_says("/new").await;
            world.model_will(look(path)).will(say("Nothing."));
            world.ann_says("and this?").await;
        }
        let results = world.results().await;
        assert!(results[2].contains("answered 410"), "{}", results[2]);
        assert!(results[3].contains("cannot be shown"), "{}", results[3]);
    }
}

story! {
    /// A picture withheld by a hook is not shown to the model.
    /// Proves MC-46.
    async fn a_hook_withholds_a_picture(world: &mut World) {
        open_eyes(world);
        world.room.has_file("f", CHART);
        world.model_will(say("Seen."));
        sends(world, "keep it", "c.png").await;
        world.ann_says("/new").await;
        let (pattern, text) = (Some("as a picture".into()), Some("nobody may see it".into()));
        let withholds = hook("discreet", HookPoint::AfterTool, HookAction::Filter);
        world.config.hooks = vec![HookEntry { pattern, text, ..withholds }];
        world.model_will(call("look_at", json!({ "path": "inbox/c.png" }))).will(say("I may not."));
        world.ann_says("look at it").await;
        assert_snapshot!(stable(&world.results().await[0]), @"The call has run, but its result is withheld. Stopped by the hook “discreet”: nobody may see it");
        assert!(pictures(&world.prompts().pop().unwrap()).is_empty());
    }
}

story! {
    /// A picture counts towards the prompt budget; the summary request still includes it, and the
    /// summary says that it is no longer shown.
    async fn a_summary_leaves_pictures_out_and_says_so(world: &mut World) {
        open_eyes(world);
        world.config.agents[0].context_tokens = Some(1_900);
        world.room.has_file("f", PHOTO);
        world.model_will(say("x".repeat(2_000)));
        sends(world, "what is this?", "a.jpg").await;
        world.model_will(say("It was a street.")).will(say("Yes."));
        world.ann_says("are you sure?").await;
        let prompts = world.prompts();
        assert_eq!(pictures(&prompts[1]).len(), 1, "the model that summarises sees it");
        assert!(pictures(&prompts[2]).is_empty());
        let Message::User { text } = &prompts[2].messages[0] else { panic!("{:?}", prompts[2]) };
        assert_snapshot!(stable(text), @"
        <summary of the conversation so far>
        It was a street.
        (The pictures of that part are not shown any more; `look_at` shows them again.)
        </summary>
        ");
    }
}
