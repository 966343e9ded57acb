//! A group in which each person has a separate conversation with the bot.

use channels::{IncomingContent, Place};
use countersign::testing::scripted::{call, say};
use insta::assert_snapshot;
use serde_json::json;

use super::messages::with_file;
use crate::{story, support::world::World};

async fn says(world: &mut World, person: &str, text: &str) -> String {
    let said = world.said(text);
    let IncomingContent::Text { message, .. } = &said else { unreachable!() };
    let message = message.clone();
    world.happens_at(World::group(), (person, &[]), said).await;
    message
}

async fn presses(world: &mut World, person: &str, label: &str) {
    let press = world.press(label);
    world.happens_at(World::group(), (person, &[]), press).await;
}

/// The dialogue in the model's last prompt.
fn prompted(world: &World) -> String {
    format!("{:?}", world.prompts().last().expect("it was asked"))
}

story! {
    /// Each of two people is answered from their own dialogue, in the group, with a reply to their
    /// message; `/new` resets only their own.
    async fn each_is_answered_from_their_own_dialogue(world: &mut World) {
        world.settings.per_person = true;
        for (person, word) in [("1", "apricot"), ("2", "beetroot")] {
            world.model_will(say(format!("Noted, {word}.")));
            let asked = says(world, person, &format!("my word is {word}")).await;
            let answer = world.room.messages().pop().unwrap();
            assert_eq!((answer.chat.as_str(), answer.reply_to), ("-70", Some(asked)));
        }
        assert!(!prompted(world).contains("apricot"), "Bob's is not Ann's");
        says(world, "1", "/new").await;
        world.model_will(say("Your word is beetroot."));
        says(world, "2", "what is my word?").await;
        assert!(prompted(world).contains("my word is beetroot"), "{}", prompted(world));
        world.model_will(say("I do not know."));
        says(world, "1", "what is my word?").await;
        assert!(!prompted(world).contains("apricot") && !prompted(world).contains("beetroot"));
    }
}

story! {
    /// By default a group is one dialogue; private chats are the same in both modes.
    async fn a_group_is_one_dialogue_otherwise(world: &mut World) {
        world.model_will(say("Noted."));
        says(world, "1", "my word is apricot").await;
        world.model_will(say("Noted."));
        says(world, "2", "my word is beetroot").await;
        assert!(prompted(world).contains("apricot"), "{}", prompted(world));
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        world.settings.per_person = true;
        world.model_will(say("You said hello."));
        world.ann_says("what did I say?").await;
        assert!(prompted(world).contains("hello"), "{}", prompted(world));
    }
}

story! {
    /// Two open approvals in one group: each is decided, by button or text, by its requester;
    /// others cannot, and the other approval is unchanged. Files and answers are sent to the group
    /// as replies to the requester.
    /// Proves A1, A2.
    async fn questions_of_two_people_do_not_mix(world: &mut World) {
        world.settings.per_person = true;
        world.tools = vec![];
        world.model_will(call("delete", json!({ "path": "anns.txt" })));
        let anns = says(world, "1", "delete anns.txt").await;
        world.model_will(call("delete", json!({ "path": "bobs.txt" })));
        let bobs = says(world, "2", "delete bobs.txt").await;
        let replies: Vec<_> = world.room.messages().into_iter().map(|m| m.reply_to).collect();
        assert_eq!(replies, [Some(anns), Some(bobs.clone())], "questions reply to who asked");

        presses(world, "1", "Allow once").await;
        assert_eq!(world.deletions(), 0, "the newest question is Bob's");
        assert_eq!(world.room.toasts().len(), 1);
        world.model_will(say("Ann's is gone."));
        says(world, "1", "/allow").await;
        assert_eq!(world.deletions(), 1);
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `anns.txt` … ✅ Allowed by Ann.
        Allow **delete**? … Requested by Bob. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]
        Allowed.
        Ann's is gone.
        ");
        assert!(world.press_if_there("Allow once").is_some(), "Bob's is open");

        world.model_will(say("Bob's is gone."));
        presses(world, "2", "Allow once").await;
        assert_eq!(world.deletions(), 2);
        let answer = world.room.messages().pop().unwrap();
        assert_eq!((answer.text.as_str(), answer.reply_to), ("Bob's is gone.", Some(bobs)));
    }
}

story! {
    /// Another person decides by button or text, although the approval belongs to a conversation
    /// that is not theirs.
    /// Proves A13.
    async fn another_decides_in_a_conversation_that_is_not_theirs(world: &mut World) {
        world.settings.per_person = true;
        world.guard("{ approvers = 'others' }");
        for path in ["a.txt", "b.txt"] {
            world.model_will(call("delete", json!({ "path": path })));
            says(world, "1", &format!("delete {path}")).await;
            world.model_will(say("Done."));
            if path == "a.txt" {
                presses(world, "2", "Allow once").await;
            } else {
                says(world, "2", "/allow").await;
            }
        }
        assert_eq!(world.deletions(), 2, "{}", world.shown());
    }
}

story! {
    /// `/new` keeps each person's files separate; a file and a notice after it are sent to the
    /// group as replies to the right person.
    async fn files_and_notices_find_their_person_after_new(world: &mut World) {
        world.settings.per_person = true;
        world.room.has_file("f", "one,two\n");
        world.model_will(say("Kept."));
        let sent = with_file(world, "keep it", ("f", "a.csv"));
        world.happens_at(World::group(), ("1", &[]), sent).await;
        says(world, "1", "/new").await;
        let back = || call("send_file", json!({ "filePath": "inbox/a.csv" }));
        world.model_will(back()).will(say("Bob has none."));
        says(world, "2", "send me a.csv").await;
        let files = |world: &World| {
            let all = world.room.messages().into_iter();
            all.filter(|m| m.file.is_some()).map(|m| (m.chat, m.reply_to)).collect::<Vec<_>>()
        };
        assert_eq!(files(world), []);
        world.model_will(back()).will(say("There it is."));
        let asked = says(world, "1", "send it back").await;
        assert_eq!(files(world), [("-70".to_owned(), Some(asked))]);

        says(world, "1", "/new").await;
        world.model_will(say("I see none."));
        let gone = with_file(world, "and this", ("gone", "b.txt"));
        let IncomingContent::Text { message, .. } = &gone else { unreachable!() };
        let message = message.clone();
        world.happens_at(World::group(), ("1", &[]), gone).await;
        let all = world.room.messages();
        let notice = all.iter().find(|m| m.text.starts_with("I couldn't download the file b"));
        assert_eq!(notice.expect("the notice is shown").reply_to, Some(message));
    }
}

story! {
    /// A group that changes its id keeps each person's conversation and open approvals.
    /// Proves A6.
    async fn own_conversations_move_with_the_group(world: &mut World) {
        world.settings.per_person = true;
        world.model_will(say("Noted."));
        says(world, "2", "my word is beetroot").await;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        says(world, "1", "delete a.txt").await;
        let moved = IncomingContent::Moved { to: "-1007".into() };
        world.happens_at(World::group(), ("1", &[]), moved).await;
        let there = Place { chat: "-1007".into(), ..World::group() };
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(there.clone(), ("1", &[]), press).await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
        world.model_will(say("Beetroot."));
        let said = world.said("what is my word?");
        world.happens_at(there, ("2", &[]), said).await;
        assert!(prompted(world).contains("my word is beetroot"), "{}", prompted(world));
    }
}
