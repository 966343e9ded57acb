//! The roles that pairing codes give.

use crate::support::world::World;
use countersign::testing::{
    gateway::pairing::new_code,
    journal::role::Role,
    store::people::pairing::{self, PairingOffer, PairingRole},
};

const FIRST: PairingRole = PairingRole::FirstOwner;
const VISITOR: &str = "visitor:1f";

async fn offer(world: &World, makes: PairingRole) -> String {
    let (code, expires_at) = (new_code(), "2026-05-05T10:00:00Z".parse().unwrap());
    let offer = PairingOffer { channel: String::new(), code: code.clone(), makes, expires_at };
    let store = world.node().await.gateway.store.clone();
    let offering = store.write("offer", move |tx| {
        let offer = offer.clone();
        Box::pin(async move { pairing::offer_pairing(tx, &offer).await })
    });
    offering.await.unwrap();
    code
}

/// The role of the person after redeeming a code.
async fn becomes(owner: Option<&str>, person: &str, makes: PairingRole) -> String {
    let mut world = World::on_sqlite();
    world.allow = vec![];
    // The web chat of a default configuration has an owner.
    world.config.channels.iter_mut().for_each(|channel| channel.owners.clear());
    world.settings.roles = owner.map(|id| (id.to_owned(), Role::Owner)).into_iter().collect();
    let code = offer(&world, makes).await;
    let redeems = world.said(&code);
    world.happens(person, redeems).await;
    let asks = world.said("/whoami");
    world.happens(person, asks).await;
    world.last().rsplit(", ").next().unwrap().trim_end_matches('.').to_owned()
}

/// 14 ways to redeem a code: nobody gets a higher role than the code's, a visitor never more than
/// member, and no code makes an owner if the gateway has one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pairing_code_gives_only_its_own_role() {
    for (owner, person, makes, expected) in [
        (None, "1", FIRST, "owner"),
        (Some("boss"), "1", FIRST, "member"),
        (None, VISITOR, FIRST, "member"),
        (Some("boss"), VISITOR, FIRST, "member"),
        (None, "1", PairingRole::Role(Role::Member), "member"),
        (Some("boss"), "1", PairingRole::Role(Role::Member), "member"),
        (None, "1", PairingRole::Role(Role::Approver), "approver"),
        (Some("boss"), "1", PairingRole::Role(Role::Operator), "operator"),
        (None, "1", PairingRole::Role(Role::Owner), "owner"),
        (None, VISITOR, PairingRole::Role(Role::Member), "member"),
        (None, VISITOR, PairingRole::Role(Role::Approver), "member"),
        (None, VISITOR, PairingRole::Role(Role::Operator), "member"),
        (None, VISITOR, PairingRole::Role(Role::Owner), "member"),
        (Some("boss"), VISITOR, PairingRole::Role(Role::Owner), "member"),
    ] {
        let found = becomes(owner, person, makes).await;
        assert_eq!(found, expected, "{owner:?} {person} {makes:?}");
    }
}

/// A code for an owner makes a member once there is an owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_codes_one_makes_an_owner() {
    let mut world = World::on_sqlite();
    world.allow = vec![];
    world.config.channels.iter_mut().for_each(|channel| channel.owners.clear());
    let codes = [offer(&world, FIRST).await, offer(&world, FIRST).await];
    let mut welcomes = vec![];
    for (person, code) in [("1", &codes[0]), ("2", &codes[1])] {
        let redeems = world.said(code);
        world.happens(person, redeems).await;
        welcomes.push(world.last());
    }
    insta::assert_snapshot!(welcomes.join("\n"), @"
    Welcome! You're the first person here, so you are my owner. /help shows how to talk to me.
    Welcome! You can talk to me now. /help shows how.
    ");
}

/// Nor does an operator raise a visitor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_is_not_given_a_role() {
    use crate::support::http::Served;
    use reqwest::{Method, StatusCode};
    use serde_json::json;
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let token = served.token("boss", Role::Owner).await;
    for role in ["approver", "operator", "owner"] {
        let (path, body) = (format!("/people/room/{VISITOR}"), json!({ "role": role }));
        let (status, _) = served.ask(&token, Method::PUT, &path, Some(body)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{role}");
    }
    let (status, offer) = served
        .ask(&token, Method::POST, "/pairing-codes", Some(json!({ "role": "approver" })))
        .await;
    assert_eq!((status, &offer["role"]), (StatusCode::CREATED, &json!("approver")), "{offer}");
}
