//! The bot uses the language of its users.

use countersign::testing::scripted::{call, say};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

story! {
    /// Fixed texts are in the language of the person's client, or in the last known one if the
    /// client does not send it.
    async fn a_person_gets_texts_in_their_language(world: &mut World) {
        world.language = Some("de-AT".into());
        world.ann_says("/status").await;
        assert_snapshot!(world.last(), @"Es gibt keine offenen Anfragen.");
        world.language = None;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("lösch a.txt").await;
        assert_snapshot!(world.last(), @"**delete** erlauben? … Angefragt von Ann. Offen bis 2026-05-04 10:30 UTC, Code `<code>`. [Einmal erlauben] [In dieser Unterhaltung erlauben] [Immer…] [Ablehnen]");
        world.language = Some("es".into());
        world.model_will(say("Hecho."));
        world.ann_says("y ahora?").await;
        assert_snapshot!(world.last(), @"Sigo esperando una decisión sobre la solicitud de arriba. He guardado tu mensaje y lo leeré después. /stop retira la solicitud.");
        world.language = Some("zh-hans".into());
        world.ann_says("/stop").await;
        assert_snapshot!(world.shown(), @"
        Es gibt keine offenen Anfragen.
        **delete** erlauben? `a.txt` … Ann 已撤回。
        Sigo esperando una decisión sobre la solicitud de arriba. He guardado tu mensaje y lo leeré después. /stop retira la solicitud.
        已停止。
        ");
    }
}

story! {
    /// A stranger is addressed in the language of their client.
    async fn a_stranger_gets_texts_in_their_language(world: &mut World) {
        world.allow = vec![];
        world.language = Some("de".into());
        world.ann_says("hallo").await;
        assert_snapshot!(world.last(), @"Ich kenne dich noch nicht. Bitte die Person, die den Bot betreibt, um einen Kopplungscode und schick ihn mir, oder lass deine ID `1` in `allow` eintragen.");
    }
}

story! {
    /// A person who presses a button is answered in their own language. Messages to everybody use
    /// the language of the last author: the reason of an approval, and its outcome.
    async fn questions_and_their_ends_are_in_the_language_of_their_people(world: &mut World) {
        world.language = Some("de".into());
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("lösch a.txt").await;
        let question = world.room.messages().last().unwrap().text.clone();
        assert_snapshot!(stable(&question), @r"
        **delete** erlauben?
        Deletes a file

        path: `a.txt`

        delete nimmt Änderungen vor\, und keine Regel erlaubt es\.
        „In dieser Unterhaltung erlauben“ gilt hier für jeden späteren Aufruf von delete, den Ann anfragt, mit beliebigen Argumenten, bis /new.
        Angefragt von Ann. Offen bis 2026-05-04 10:30 UTC, Code `<code>`.
        ");
        world.language = Some("es".into());
        world.bob_presses("Einmal erlauben").await;
        world.language = Some("zh".into());
        world.model_will(say("Fertig."));
        world.ann_presses("Ablehnen").await;
        let decides = ["Solo la persona que lo solicitó puede permitirlo o denegarlo.", "已拒绝。"];
        assert_eq!(world.room.toasts(), decides);
        assert_snapshot!(world.shown(), @"
        **delete** erlauben? `a.txt` … 🚫 Abgelehnt von Ann.
        Fertig.
        ");
        world.language = Some("de".into());
        world.ann_says("/grants").await;
        assert_snapshot!(world.last(), @"Es sind keine Aufrufe im Voraus erlaubt.");
        world.ann_says("/panic").await;
        assert_snapshot!(world.last(), @"Das darf nur die Person, der dieser Bot gehört.");
    }
}

story! {
    /// Rate limit messages are translated.
    async fn limits_are_in_the_language_of_the_person(world: &mut World) {
        world.language = Some("de".into());
        world.config.limits.messages_per_minute = 1;
        world.model_will(say("Hallo."));
        world.ann_says("hallo").await;
        world.ann_says("und?").await;
        assert_snapshot!(world.last(), @"Du schreibst zu schnell, deshalb habe ich deine letzte Nachricht ignoriert. Versuch es in 61 s noch einmal.");
    }
}

story! {
    /// Daily limits are translated too, and the reason why no rule can judge a command.
    /// Proves S13.
    async fn reasons_are_in_the_language_of_the_person(world: &mut World) {
        world.language = Some("de".into());
        world.guard("{ rules = [{ tool = 'delete', action = 'allow', fields = { weight = 'x' } }] }");
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("lösch etwas").await;
        let question = world.room.messages().last().unwrap().text.clone();
        assert_snapshot!(stable(&question), @r"
        **delete** erlauben?
        Deletes a file

        path: `a.txt`

        Die Regel „rule 1“ kann nicht ausgewertet werden\: was sie prüft\, fehlt oder ist vorab nicht bekannt\.
        Angefragt von Ann. Offen bis 2026-05-04 10:30 UTC, Code `<code>`.
        ");
        world.ann_says("/stop").await;
        world.config.limits.person.messages = Some(1);
        world.language = Some("zh".into());
        world.ann_says("你好").await;
        assert_snapshot!(world.last(), @"你今天的消息额度已用完。14 h 后（UTC 00:00）重置，或由管理员提高额度。 … 参考编号：`<reference>`");
    }
}
