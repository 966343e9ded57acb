//! Access control.

use channels::IncomingContent;
use countersign::testing::{
    gateway::pairing::new_code,
    journal::role::Role,
    scripted::say,
    store::people::pairing::{self, PairingOffer, PairingRole},
};
use insta::assert_snapshot;
use std::collections::BTreeMap;

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

async fn offer(world: &World, code: &str) {
    let (code, until) = (code.to_owned(), "2026-05-05T10:00:00Z".parse().unwrap());
    let store = world.node().await.gateway.store.clone();
    store
        .write("offer", move |tx| {
            Box::pin(async move {
                let makes = PairingRole::FirstOwner;
                let offer = PairingOffer { channel: String::new(), code, makes, expires_at: until };
                pairing::offer_pairing(tx, &offer).await
            })
        })
        .await
        .unwrap();
}

story! {
    /// A stranger's messages do not reach the model; a pairing code admits one person, once.
    /// Proves S5.
    async fn a_pairing_code_works_once(world: &mut World) {
        world.allow = vec![];
        world.ann_says("hello").await;
        assert_snapshot!(world.last(), @"I don't know you yet. Ask the operator for a pairing code and send it to me, or ask them to add your id `1` to `allow`.");
        let code = new_code();
        offer(world, &code).await;
        world.ann_says(&format!("/start {code}")).await;
        assert_snapshot!(world.last(), @"Welcome! You're the first person here, so you are my owner. /help shows how to talk to me.");
        world.bob_says(&code).await;
        assert_snapshot!(world.last(), @"That code isn't valid. Ask the operator for a new one.");
        world.model_will(say("Hello Ann."));
        world.ann_says("hello").await;
        assert_eq!(world.last(), "Hello Ann.");
        assert_eq!(world.prompts().len(), 1);
    }
}

story! {
    /// A stranger's native platform command is answered, in groups visibly only to them; their
    /// other messages there are not.
    async fn a_stranger_is_answered_where_the_platform_waits(world: &mut World) {
        for (message, shown) in [("5", 0), ("i:5:9:token", 1)] {
            let mut what = world.said("/status");
            if let IncomingContent::Text { message: own, .. } = &mut what {
                *own = message.into();
            }
            world.happens_at(World::group(), ("3", &[]), what).await;
            assert_eq!(world.room.messages().len(), shown);
        }
        let answer = &world.room.messages()[0];
        assert_snapshot!(stable(&answer.text), @"I don't know you yet. Ask the operator for a pairing code and send it to me, or ask them to add your id `3` to `allow`.");
        assert_eq!(answer.reply_to.as_deref(), Some("i:5:9:token"));
    }
}

story! {
    /// After five wrong codes the sixth is rejected, even if it is right.
    async fn guessing_codes_locks(world: &mut World) {
        world.allow = vec![];
        let code = new_code();
        offer(world, &code).await;
        for _ in 0..5 {
            world.ann_says(&new_code()).await;
        }
        world.ann_says(&code).await;
        assert_snapshot!(world.last(), @"Too many wrong codes. Try again in 15 minutes.");
        world.clock.advance(chrono::TimeDelta::minutes(16));
        world.ann_says(&code).await;
        assert_snapshot!(world.last(), @"Welcome! You're the first person here, so you are my owner. /help shows how to talk to me.");
    }
}

story! {
    /// The first person to redeem a code becomes the owner, later ones are members. A platform role
    /// raises a person's role and admits nobody.
    async fn roles_come_from_codes_and_from_the_platform(world: &mut World) {
        world.allow = vec![];
        world.settings.roles = BTreeMap::from([("admin".into(), Role::Operator)]);
        world.roles = vec!["admin".into()];
        world.ann_says("/whoami").await;
        assert_snapshot!(world.last(), @"I don't know you yet. Ask the operator for a pairing code and send it to me, or ask them to add your id `1` to `allow`.");
        let mut welcomes = vec![];
        for person in ["1", "2"] {
            let code = new_code();
            offer(world, &code).await;
            let what = world.said(&code);
            world.happens(person, what).await;
            welcomes.push(world.last());
        }
        assert_snapshot!(welcomes.join("\n"), @"
        Welcome! You're the first person here, so you are my owner. /help shows how to talk to me.
        Welcome! You can talk to me now. /help shows how.
        ");
        world.ann_says("/whoami").await;
        assert_snapshot!(world.last(), @"You are Ann (`1`) on `room`, owner.");
        world.bob_says("/whoami").await;
        assert_snapshot!(world.last(), @"You are Bob (`2`) on `room`, operator.");
        world.roles = vec![];
        world.bob_says("/whoami").await;
        assert_snapshot!(world.last(), @"You are Bob (`2`) on `room`, member.");
    }
}

story! {
    /// `/model` lists the models; an operator switches, and the choice survives `/new`.
    async fn an_operator_chooses_the_model(world: &mut World) {
        world.bob_says("/model").await;
        assert_snapshot!(world.last(), @"This conversation uses `main`. Available models: `main`. `/model NAME` switches.");
        let other = world.config.models[0].id.clone();
        world.bob_says(&format!("/model {other}")).await;
        assert_snapshot!(world.last(), @"You need the role `operator` or higher for that. /whoami shows yours.");
        world.settings.roles = BTreeMap::from([("1".into(), Role::Operator)]);
        world.ann_says("/model nothing").await;
        assert_snapshot!(world.last(), @"There is no model nothing. Available models: `main`.");
        world.ann_says(&format!("/model {other}")).await;
        assert_snapshot!(world.last(), @"From now on this conversation uses `main`.");
        world.ann_says("/new").await;
        world.ann_says("/model").await;
        assert_snapshot!(world.last(), @"This conversation uses `main`. Available models: `main`. `/model NAME` switches.");
    }
}
