//! Who may talk.

use countersign::{gateway::people::new_code, llm::scripted::say, store::people};

use crate::{story, world::World};

async fn offer(world: &World, code: &str) {
    let (code, until) = (code.to_owned(), "2026-05-05T10:00:00Z".parse().unwrap());
    let store = world.node().await.gateway.store.clone();
    store
        .write("offer", move |tx| {
            Box::pin(async move { people::offer_pairing(tx, "", &code, until).await })
        })
        .await
        .unwrap();
}

story! {
    /// S5: a stranger reaches no model; a pairing code lets one person in, once.
    async fn a_pairing_code_works_once(world: &mut World) {
        world.allow = vec![];
        world.ann_says("hello").await;
        assert!(world.last().starts_with("I do not know you yet."), "{}", world.last());
        let code = new_code();
        offer(world, &code).await;
        world.ann_says(&format!("/start {code}")).await;
        assert!(world.last().starts_with("Welcome!"));
        world.bob_says(&code).await;
        assert!(world.last().starts_with("That code is not valid."));
        world.model_will(say("Hello Ann."));
        world.ann_says("hello").await;
        assert_eq!(world.last(), "Hello Ann.");
        assert_eq!(world.prompts().len(), 1);
    }
}

story! {
    /// Five wrong codes lock the sixth, even if it is right.
    async fn guessing_codes_locks(world: &mut World) {
        world.allow = vec![];
        let code = new_code();
        offer(world, &code).await;
        for _ in 0..5 {
            world.ann_says(&new_code()).await;
        }
        world.ann_says(&code).await;
        assert!(world.last().starts_with("Too many wrong codes."));
        world.clock.advance(chrono::TimeDelta::minutes(16));
        world.ann_says(&code).await;
        assert!(world.last().starts_with("Welcome!"));
    }
}
