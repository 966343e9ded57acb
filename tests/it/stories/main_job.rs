//! The main use case: chat, approval, action, attachment.

use countersign::testing::{
    journal::{event::Event, role::Role},
    llm::ModelError,
    scripted::{call, calls, fail, say},
    texts::Language,
};
use insta::assert_snapshot;
use reqwest::Method;
use serde_json::json;

use crate::{
    story,
    support::{http::Served, stable_output::stable, world::World},
};

story! {
    /// The whole main use case.
    /// Proves MC-45, MC-55, A4.
    async fn a_report_is_written_after_a_press_and_arrives_as_a_file(world: &mut World) {
        let report = "# Rivers\n\nThey flow.";
        world.model_will(call("write_file", json!({ "path": "notes/a.md", "content": report })));
        world.model_will(call("render_pdf", json!({ "markdown": report, "fileName": "rivers" })));
        world.model_will(say("Here it is."));

        world.ann_says("write a report about rivers").await;
        let question = world.last();
        assert_snapshot!(stable(&question), @r"Allow **write\_file**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.ann_presses("Allow once").await;

        let messages = world.room.messages();
        let files: Vec<_> = messages.iter().filter_map(|m| m.file.clone()).collect();
        let [(first_page, png), (name, pdf)] = &files[..] else { panic!("{}", world.shown()) };
        assert_eq!((first_page.as_str(), name.as_str()), ("rivers.png", "rivers.pdf"));
        assert!(png.starts_with(b"\x89PNG") && pdf.starts_with(b"%PDF"));
        assert_snapshot!(world.last(), @"Here it is.");
        assert_snapshot!(world.shown(), @r"
        Allow **write\_file**? `notes/a.md` … ✅ Allowed by Ann.
        📎 rivers.png
        📎 rivers.pdf
        Here it is.
        ");
    }
}

story! {
    /// On a platform that shows pictures as files, the document is sent alone.
    async fn a_channel_without_pictures_gets_no_picture_of_a_page(world: &mut World) {
        world.room.limits.pictures = false;
        world.model_will(call("render_pdf", json!({ "markdown": "# Rivers" })));
        world.model_will(say("Here it is."));
        world.ann_says("a report, please").await;
        let files = world.room.messages().into_iter().filter_map(|m| m.file);
        let names: Vec<_> = files.map(|(name, _)| name).collect();
        assert_eq!(names, ["document.pdf"]);
    }
}

story! {
    /// A failing tool does not end the turn.
    /// Proves MC-51.
    async fn the_model_learns_of_a_failed_call(world: &mut World) {
        world.model_will(call("read_file", json!({ "path": "missing.txt" })));
        world.model_will(say("There is no such file."));
        world.ann_says("read it").await;
        assert_eq!(world.last(), "There is no such file.");
        assert_eq!(world.results().await.len(), 1);
    }
}

story! {
    /// The calls of a reply that are allowed run, although another waits for an approval.
    /// Proves MC-47.
    async fn a_call_that_waits_does_not_delay_others(world: &mut World) {
        world.model_will(calls(vec![
            ("delete".into(), json!({ "path": "a.txt" })),
            ("get_current_datetime".into(), json!({})),
        ]));
        world.ann_says("delete a.txt and tell the time").await;
        assert_eq!(world.results().await, ["2026-05-04T10:00:00 (Monday, UTC, 2026-05-04T10:00:00+00:00)"]);
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!((world.last().as_str(), world.deletions()), ("Done.", 1));
    }
}

story! {
    /// A failure is reported once, and the next message works again.
    /// Proves M2.
    async fn people_are_told_that_the_model_is_unavailable(world: &mut World) {
        world.model_will(fail(ModelError::Retry { after: None, reason: "overloaded".into() }));
        world.ann_says("hello").await;
        assert_snapshot!(world.last(), @"I couldn't reach the language model after several attempts. Please try again later. … Reference: `<reference>`");
        world.model_will(say("Hello again."));
        world.ann_says("hello?").await;
        assert_eq!(world.last(), "Hello again.");
    }
}

story! {
    /// The cause of a failed turn is kept for operators, without secrets, and shown in the chat only
    /// to an owner who is alone with the bot. Its reference finds the turn.
    async fn the_cause_of_a_failed_turn_is_for_operators(world: &mut World) {
        let key = "sk-abcdefghijklmnopqrstuvwxyz";
        let reason = format!("api.example rejects the key {key} (401): check OPENAI_API_KEY");
        let fails = |world: &World| {
            world.model_will(fail(ModelError::Rejected(reason.clone())));
        };
        fails(world);
        world.ann_says("hello").await;
        assert!(!world.last_text().contains("401"), "a member: {}", world.last_text());
        world.make_owner("1").await;
        fails(world);
        let said = world.said("hello all");
        world.happens_at(World::group(), ("1", &[]), said).await;
        assert!(!world.last_text().contains("401"), "a group: {}", world.last_text());
        fails(world);
        world.ann_says("hello again").await;
        assert_snapshot!(world.last_text(), @r"
        The language model rejects my requests. The operator can find the cause in the console.

        Cause, shown to you as an owner: api\.example rejects the key \[redacted\: API key\] \(401\)\: check OPENAI\_API\_KEY

        Reference: `<reference>`
        ");
        fails(world);
        world.bob_says("hello").await;
        assert!(!world.last_text().contains("401"), "another person: {}", world.last_text());

        let failed: Vec<_> = world.journal().await.into_iter().filter_map(|entry| match entry.event {
            Event::Failed { reference, cause, .. } => Some((reference, cause.unwrap())),
            _ => None,
        }).collect();
        let [(first, cause), (second, _), _] = failed.as_slice() else { panic!("{failed:?}") };
        assert!(first != second && cause.contains("401") && !cause.contains(key), "{failed:?}");
        let served = Served::of(world).await;
        let operator = served.token("ops", Role::Operator).await;
        let found = served.get(&operator, &format!("/conversations?reference={second}")).await;
        let [conversation] = found["items"].as_array().unwrap().as_slice() else {
            panic!("{found}")
        };
        let path = format!("/conversations/{}/events", conversation["id"].as_str().unwrap());
        let events = served.get(&operator, &path).await.to_string();
        assert!(events.contains(second) && events.contains("(401)"), "{events}");
        let owner = served.session("owner").await;
        let search = format!("/console/conversations?reference={second}");
        let page = served.request(Method::GET, &search).header("cookie", &owner);
        let page = page.send().await.unwrap().text().await.unwrap();
        let (_, step) = page.split_once(&format!("id=\"{second}\"")).unwrap();
        let (step, _) = step.split_once("</li>").unwrap();
        assert!(step.contains("rejects the key") && !page.contains(key), "{step}");
        let nothing = served.get(&operator, "/conversations?reference=nothing-1").await;
        assert_eq!(nothing["items"], json!([]));
    }
}

story! {
    /// Each request starts with the previous one.
    /// Proves T1.
    async fn a_prompt_begins_with_the_last_one(world: &mut World) {
        world.model_will(call("get_current_datetime", json!({})));
        world.model_will(say("It is ten."));
        world.model_will(say("You are welcome."));
        world.ann_says("what time is it?").await;
        world.ann_says("thanks").await;
        let prompts = world.prompts();
        for (earlier, later) in prompts.iter().zip(&prompts[1..]) {
            assert_eq!((&earlier.system, &earlier.tools), (&later.system, &later.tools));
            assert_eq!(earlier.messages, later.messages[..earlier.messages.len()]);
        }
        assert_eq!(prompts.len(), 3);
    }
}

story! {
    /// A reply with neither text nor calls is a visible failure.
    async fn an_empty_reply_is_a_visible_failure(world: &mut World) {
        world.model_will(say(" \n"));
        world.ann_says("hello").await;
        let failure = world.last();
        assert!(failure.starts_with(Language::English.words().no_answer), "{failure}");
        world.model_will(say("Hello."));
        world.ann_says("hello?").await;
        assert_eq!(world.last(), "Hello.");
    }
}

story! {
    /// A long dialogue is summarised and continues.
    async fn a_long_dialogue_is_summarised(world: &mut World) {
        world.config.agents[0].context_tokens = Some(50);
        for n in 0..4 {
            world.model_will(say(format!("answer {n} {}", "long ".repeat(20))));
            world.ann_says(&format!("message {n}")).await;
        }
        let summaries = world.prompts().iter().filter(|p| p.tools.is_empty()).count();
        assert!(summaries > 0, "nothing was summarised");
    }
}

story! {
    /// If a dialogue is too long even for its summary, a shorter part is summarised first. Any other
    /// error ends the turn without further requests.
    async fn a_dialogue_that_is_too_long_is_summarised_in_parts(world: &mut World) {
        for n in 0..4 {
            let long = if n == 0 { "long ".repeat(400) } else { String::new() };
            world.model_will(say(format!("answer {n} {long}")));
            world.ann_says(&format!("message {n}")).await;
        }
        world.config.agents[0].context_tokens = Some(300);
        world.model_will(fail(ModelError::Rejected("no".into())));
        world.ann_says("message 4").await;
        assert!(world.last().starts_with(Language::English.words().model_refused));
        assert_eq!(world.prompts().len(), 5, "it is not asked again");
        world.model_will(fail(ModelError::TooLong("2,000 tokens".into())));
        world.model_will(say("It was long.")).will(say("Five."));
        world.ann_says("message 5").await;
        assert_eq!(world.last(), "Five.");
        let prompts = world.prompts().split_off(5);
        let summaries: Vec<_> = prompts.iter().filter(|prompt| prompt.tools.is_empty()).collect();
        let [whole, part] = summaries[..] else { panic!("{} summaries", summaries.len()) };
        assert!(part.messages.len() < whole.messages.len());
        let last = format!("{:?}", prompts.last().unwrap().messages);
        assert!(last.contains("It was long.") && last.contains("answer 3"), "{last}");
    }
}

story! {
    /// `/new` starts a new dialogue.
    async fn new_forgets_what_was_said(world: &mut World) {
        world.model_will(say("Noted."));
        world.ann_says("my dog is called Rex").await;
        world.ann_says("/new").await;
        world.model_will(say("I do not know."));
        world.ann_says("what is my dog called?").await;
        let last = world.prompts().pop().unwrap();
        assert_eq!(last.messages.len(), 1);
    }
}
