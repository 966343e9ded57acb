//! Pictures, speech and videos that the agent makes.

use channels::{FileRef, IncomingContent, SendError};
use countersign::testing::{
    agent::disclosure::Disclosure,
    app::App,
    config::Config,
    scripted::{call, say},
    store::usage::spent::UsageScope,
};
use fakes::media::{FakeMedia, Fault, KEY, PICTURE};
use insta::assert_snapshot;
use serde_json::json;
use std::time::Duration;

use crate::{
    story,
    support::{fake_channel::Fault as RoomFault, world::World},
};

/// Configures pictures, speech and videos by the fake.
fn configured(world: &mut World, fake: &FakeMedia) {
    let (openai, replicate) = (fake.base_url("openai/v1"), fake.base_url("replicate/v1"));
    let service = |provider: &str, model: &str, base_url: &str| {
        format!(
            "provider = \"{provider}\", model = \"{model}\", base_url = \"{base_url}\", \
                api_key = \"{KEY}\""
        )
    };
    let openai = service("openai", "a-model", &openai);
    let replicate = service("replicate", "an-owner/a-model", &replicate);
    let media = format!(
        "{{ images = {{ {openai}, price = 0.04 }}, speech = {{ {openai}, price = 15, voice = \
            \"alloy\" }}, video = {{ {replicate}, price = 0.5, input = {{ seconds = 5 }} }} }}"
    );
    let variables = [("COUNTERSIGN__MEDIA".to_owned(), media)].into();
    world.config.media = Config::load(None, &variables).unwrap().media;
    world.config.agents[0].disclosure = Disclosure::Legacy;
}

fn photo(world: &mut World, text: &str) -> IncomingContent {
    let mut what = world.said(text);
    if let IncomingContent::Text { files, .. } = &mut what {
        let media_type = Some("image/png".to_owned());
        let (id, name) = ("p1".to_owned(), "photo.png".to_owned());
        files.push(FileRef { id, name, media_type, size_bytes: None, is_voice: false });
    }
    what
}

async fn spent(world: &World) -> u64 {
    let store = world.node().await.gateway.store.clone();
    store.spent(UsageScope::All, world.clock_now()).await.unwrap().cost_micros
}

story! {
    /// A picture is asked for with its price, made from the photo that the person has sent, shown in
    /// the chat, and counted. Without the section, there is no such tool.
    /// Proves MC-34.
    async fn a_photo_is_changed_for_money_after_an_approval(world: &mut World) {
        let fake = FakeMedia::start().await;
        world.room.has_file("p1", PICTURE);
        let wanted = json!({ "prompt": "at night", "image": "inbox/photo.png" });
        world.model_will(call("image_generate", wanted.clone())).will(say("I can't."));
        let what = photo(world, "make it night");
        world.happens("1", what).await;
        assert!(world.results().await[0].contains("no tool"), "{:?}", world.results().await);
        configured(world, &fake);
        world.model_will(call("image_generate", wanted)).will(say("Here it is."));
        world.ann_says("again").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **image\_generate**?
        Make a picture, or change one.

        prompt: `at night`
        image: `inbox/photo.png`

        127\.0\.0\.1\, a\-model. Estimated cost\: 0\.04

        image\_generate makes changes\, and no rule allows it\.
        “Allow in this conversation” covers every later call of image\_generate that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        assert_eq!((fake.asked().len(), spent(world).await), (0, 0));
        world.ann_presses("Allow once").await;
        let shown = world.room.messages();
        let (name, bytes) = shown[shown.len() - 2].file.clone().expect("a picture");
        assert_eq!((name.as_str(), &bytes[..]), ("image-1.png", PICTURE));
        assert_eq!(world.last(), "Here it is.");
        assert_eq!(fake.asked()[0].files[0].bytes, PICTURE);
        assert_eq!((fake.problems(), spent(world).await), (vec![], 40_000));
        let all = format!("{:?}{}", world.prompts(), world.rows_of("events").await.join("\n"));
        assert!(!all.contains(KEY));
    }
}

story! {
    /// The reason of a refusal reaches the model, whose answer the person reads. The budget of the
    /// day holds, and a key that a vendor repeats is redacted.
    async fn a_refusal_and_an_empty_budget_are_reported(world: &mut World) {
        let fake = FakeMedia::start().await;
        configured(world, &fake);
        world.guard("{ default = \"allow\" }");
        let wanted = || call("image_generate", json!({ "prompt": "x" }));
        let message = format!("Rejected: violence. {KEY}");
        fake.fails_next(Fault::openai(400, "moderation_blocked", &message));
        world.model_will(wanted()).will(say("OpenAI refuses that: violence."));
        world.ann_says("draw").await;
        let result = world.results().await.remove(0);
        assert!(result.contains("content policy") && result.contains("Rejected: violence."), "{result}");
        assert!(!result.contains(KEY), "{result}");
        world.config.limits.person.cost = Some(0.03);
        world.model_will(wanted()).will(say("Tomorrow."));
        world.ann_says("another").await;
        assert_eq!(fake.asked().len(), 1);
        assert_eq!(world.last(), "Tomorrow.");
    }
}

story! {
    /// A voice note is one message, never an edited placeholder. If it is unknown whether it was
    /// shown, the second one says so.
    async fn an_answer_is_spoken_as_a_voice_note(world: &mut World) {
        let fake = FakeMedia::start().await;
        configured(world, &fake);
        world.guard("{ default = \"allow\" }");
        let wanted = || call("text_to_speech", json!({ "text": "Hello, Ann!" }));
        world.model_will(wanted()).will(say("Done."));
        world.ann_says("say hello").await;
        let shown = world.room.messages();
        let (name, bytes) = shown[0].file.clone().expect("a voice note");
        assert_eq!((name.as_str(), shown[0].text.as_str()), ("voice.ogg", ""));
        assert!(bytes.starts_with(b"OggS"));
        assert_eq!((shown.len(), spent(world).await), (2, 165));
        world.room.fails_next(RoomFault::After(SendError::Unknown("lost".into())));
        world.model_will(wanted()).will(say("Done again."));
        world.ann_says("say it again").await;
        world.time_passes(chrono::TimeDelta::minutes(10)).await;
        let notes: Vec<_> = world.room.messages().into_iter().filter(|m| m.file.is_some()).collect();
        assert_eq!(notes.len(), 3);
        assert!(!notes[2].text.is_empty(), "it is marked as a possible duplicate");
    }
}

/// A node that works until the fake has a job, and then dies.
async fn dies_after_submitting(world: &World, fake: &FakeMedia, app: &App) {
    // After the first request for its state, the reference to the job is recorded.
    let asked = async {
        while fake.asked().len() < 2 {
            let never = std::future::pending::<()>();
            let _ = tokio::time::timeout(Duration::from_millis(20), never).await;
        }
    };
    tokio::select! {
        () = world.settle(app) => panic!("the job runs"),
        () = asked => {}
    }
    app.gateway.store.release_all().await.unwrap();
}

story! {
    /// A video needs its own approval each time. A gateway that restarts while the job runs fetches
    /// it, and does not pay for another one.
    async fn a_video_survives_a_restart_and_is_paid_for_once(world: &mut World) {
        let fake = FakeMedia::start().await;
        configured(world, &fake);
        // Even so, the shipped rule asks.
        world.guard("{ default = \"allow\" }");
        let video = b"\0\0\0\x18ftypmp42 and so on".to_vec();
        fake.makes(u32::MAX, video.clone());
        world.model_will(call("video_generate", json!({ "prompt": "a river" })));
        world.ann_says("a video of a river").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **video\_generate**?
        Make a video.

        prompt: `a river`

        127\.0\.0\.1\, an\-owner\/a\-model. Estimated cost\: 0\.50

        The rule “generate videos\, music and 3D models” requires approval\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        let press = world.press("Allow once");
        let app = world.node().await;
        world.takes(&app, "1", press).await;
        dies_after_submitting(world, &fake, &app).await;
        drop(app);
        fake.makes(0, video.clone());
        world.model_will(say("Here it is."));
        let app = world.node().await;
        world.settle(&app).await;
        assert_eq!((fake.submitted(), fake.problems()), (1, vec![]));
        assert_eq!(world.last(), "Here it is.");
        let sent = world.room.messages().into_iter().find_map(|message| message.file);
        let (name, bytes) = sent.expect("a video");
        assert_eq!((name.as_str(), &bytes[..]), ("video.mp4", &video[..]));
        assert_eq!(spent(world).await, 500_000);
    }
}
