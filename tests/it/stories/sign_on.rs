//! Operators sign in through their own OpenID provider, over real sockets.

use chrono::TimeDelta;
use countersign::testing::{
    admin::auth::oidc::BACK,
    config::{Config, secret::Secret},
    journal::role::Role,
};
use fakes::issuer::{CLIENT, FakeIssuer, SECRET, Wrong};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode, header, redirect::Policy};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{
    story,
    support::{
        http::{Served, operations},
        stable_output::visible,
        world::World,
    },
};

const HERE: &str = "https://gate.example";

/// Configures a provider: groups and addresses with their roles.
async fn believes(world: &mut World, roles: &[(&str, Role)]) -> FakeIssuer {
    let now = countersign::testing::clock::Clock::now(&*world.clock).timestamp();
    let issuer = FakeIssuer::start(&format!("{HERE}{BACK}"), now).await;
    world.config.admin.public_url = Some(HERE.parse().unwrap());
    let oidc = &mut world.config.admin.oidc;
    oidc.issuer = Some(issuer.url());
    oidc.client_id = Some(CLIENT.into());
    oidc.client_secret = Some(Secret::Plain(SECRET.into()));
    oidc.roles = roles.iter().map(|(claim, role)| ((*claim).to_owned(), *role)).collect();
    issuer
}

/// A browser that does not follow redirects.
struct Browser {
    http: reqwest::Client,
    base: String,
}

/// A started sign-in: the provider's callback URL and the browser's cookie.
#[derive(Clone)]
struct Begun {
    back: String,
    cookie: String,
}

impl Browser {
    fn on(served: &Served) -> Self {
        let http = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
        Self { http, base: served.base.clone() }
    }

    async fn get(&self, path: &str, cookie: &str) -> reqwest::Response {
        let request = self.http.get(format!("{}{path}", self.base)).header("cookie", cookie);
        request.send().await.unwrap()
    }

    /// To the provider, and up to its response.
    async fn begins(&self) -> Begun {
        let sent = self.get("/sign-in/oidc", "").await;
        assert_eq!(sent.status(), StatusCode::SEE_OTHER);
        let [cookie] = &cookies(&sent)[..] else { panic!("one cookie") };
        for attribute in ["HttpOnly", "SameSite=Lax", "Secure", "Max-Age=600"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        let there = sent.headers()[header::LOCATION].to_str().unwrap();
        let consented = self.http.get(there).send().await.unwrap();
        let status = consented.status();
        assert_eq!(status, StatusCode::SEE_OTHER, "{}", consented.text().await.unwrap());
        let back = consented.headers()[header::LOCATION].to_str().unwrap();
        let back = back.strip_prefix(HERE).unwrap().to_owned();
        Begun { back, cookie: pair(cookie) }
    }

    async fn ends(&self, begun: &Begun) -> reqwest::Response {
        self.get(&begun.back, &begun.cookie).await
    }
}

fn cookies(answer: &reqwest::Response) -> Vec<String> {
    let all = answer.headers().get_all(header::SET_COOKIE).into_iter();
    all.map(|cookie| cookie.to_str().unwrap().to_owned()).collect()
}

fn pair(cookie: &str) -> String {
    cookie.split(';').next().unwrap().to_owned()
}

/// The session cookie, if there is one.
fn session(answer: &reqwest::Response) -> Option<String> {
    let all = cookies(answer).into_iter();
    all.filter(|cookie| cookie.starts_with("countersign_session=")).map(|c| pair(&c)).next()
}

/// A person signs in.
async fn signs_in(served: &Served, issuer: &FakeIssuer, claims: Value) -> Option<String> {
    issuer.knows(claims);
    let browser = Browser::on(served);
    let begun = browser.begins().await;
    session(&browser.ends(&begun).await)
}

story! {
    /// A member of a group with a role opens the console, is named there and in the audit, and has
    /// no access after signing out.
    async fn a_group_opens_the_console(world: &mut World) {
        let issuer = believes(world, &[("group:ops", Role::Owner)]).await;
        let served = Served::of(world).await;
        let browser = Browser::on(&served);
        let door = browser.get("/console", "").await;
        assert_eq!(door.status(), StatusCode::UNAUTHORIZED);
        assert!(door.text().await.unwrap().contains("href=\"/sign-in/oidc\""));
        issuer.knows(json!({
            "sub": "248", "email": "ann@example.com", "email_verified": true,
            "groups": ["staff", "ops"],
        }));
        let begun = browser.begins().await;
        let ended = browser.ends(&begun).await;
        assert_eq!(ended.status(), StatusCode::OK, "a strict cookie survives no redirect");
        let cookie = cookies(&ended).into_iter().find(|c| c.contains("session")).unwrap();
        for attribute in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/", "Max-Age=43200"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        assert!(ended.text().await.unwrap().contains("url=&#x2f;console\""));
        let cookie = pair(&cookie);
        let audit = browser.get("/console/audit", &cookie).await;
        assert_eq!(audit.status(), StatusCode::OK);
        let audit = audit.text().await.unwrap();
        assert!(audit.contains("signed in") && audit.contains("oidc:248"), "{audit}");
        assert!(browser.get("/", &cookie).await.text().await.unwrap().contains("ann@example.com"));
        let out = served.request(Method::POST, "/sign-out").header("cookie", &cookie);
        assert_eq!(out.send().await.unwrap().status(), StatusCode::NO_CONTENT);
        assert_eq!(browser.get("/console", &cookie).await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(issuer.problems(), [""; 0]);
    }
}

story! {
    /// An ID token that is wrong in any respect is rejected.
    async fn a_wrong_token_is_rejected(world: &mut World) {
        let issuer = believes(world, &[("sub:1", Role::Owner)]).await;
        let served = Served::of(world).await;
        let browser = Browser::on(&served);
        issuer.knows(json!({ "sub": "1" }));
        for wrong in [
            Wrong::Nonce, Wrong::Audience, Wrong::Audiences, Wrong::Issuer, Wrong::Expired,
            Wrong::Signature, Wrong::Changed, Wrong::Unsigned, Wrong::Algorithm, Wrong::Missing,
        ] {
            issuer.is_wrong(Some(wrong));
            let begun = browser.begins().await;
            let ended = browser.ends(&begun).await;
            assert_eq!(ended.status(), StatusCode::FORBIDDEN, "{wrong:?}");
            assert_eq!(session(&ended), None, "{wrong:?}");
        }
        assert_eq!(issuer.exchanged(), 10, "each was looked at");
        issuer.is_wrong(None);
        let begun = browser.begins().await;
        assert!(session(&browser.ends(&begun).await).is_some(), "it is the fault that is refused");
    }
}

story! {
    /// A sign-in can be completed once, in the browser that started it, within ten minutes, and
    /// with its own code.
    async fn a_sign_in_ends_once_and_where_it_began(world: &mut World) {
        let issuer = believes(world, &[("sub:1", Role::Owner)]).await;
        issuer.knows(json!({ "sub": "1" }));
        let served = Served::of(world).await;
        let browser = Browser::on(&served);
        let refused = async |begun: &Begun| {
            let answer = browser.ends(begun).await;
            assert_eq!((answer.status(), session(&answer)), (StatusCode::FORBIDDEN, None));
        };
        let mine = browser.begins().await;
        let theirs = browser.begins().await;
        refused(&Begun { cookie: String::new(), ..mine.clone() }).await;
        refused(&Begun { cookie: theirs.cookie.clone(), ..mine.clone() }).await;
        refused(&Begun { back: BACK.to_owned(), ..mine.clone() }).await;
        assert_eq!(issuer.exchanged(), 0, "the issuer is not even asked");
        assert!(session(&browser.ends(&mine).await).is_some());
        refused(&mine).await;
        assert_eq!(issuer.exchanged(), 1, "a state that was used is not looked at");

        // A used code, and one started by another browser.
        let code = |begun: &Begun| begun.back.split(['=', '&']).nth(1).unwrap().to_owned();
        let next = browser.begins().await;
        let with = |code: &str, begun: &Begun| {
            let state = begun.back.split("state=").nth(1).unwrap();
            Begun { back: format!("{BACK}?code={code}&state={state}"), ..begun.clone() }
        };
        refused(&with(&code(&mine), &next)).await;
        let next = browser.begins().await;
        refused(&with(&code(&theirs), &next)).await;
        assert_eq!(issuer.problems(), ["token: invalid_grant", "token: invalid_grant"]);

        let said_no = browser.begins().await;
        let state = said_no.back.split("state=").nth(1).unwrap();
        let back = format!("{BACK}?error=access_denied&state={state}");
        refused(&Begun { back, ..said_no.clone() }).await;
        let late = browser.begins().await;
        world.clock.advance(TimeDelta::minutes(10));
        refused(&late).await;
    }
}

story! {
    /// Only mapped identities are admitted, with their role; an unverified address is ignored.
    async fn sign_in_without_a_role_mapping_is_refused(world: &mut World) {
        let roles = [("group:ops", Role::Owner), ("email:Bob@Example.com", Role::Approver)];
        let issuer = believes(world, &roles).await;
        let served = Served::of(world).await;
        for claims in [
            json!({ "sub": "1" }),
            json!({ "sub": "1", "groups": ["staff"] }),
            json!({ "sub": "group:ops", "groups": { "ops": true } }),
            json!({ "sub": "1", "roles": ["ops"] }),
            json!({ "sub": "1", "email": "bob@example.com" }),
            json!({ "sub": "1", "email": "bob@example.com", "email_verified": false }),
        ] {
            assert_eq!(signs_in(&served, &issuer, claims.clone()).await, None, "{claims}");
        }
        let bob = json!({ "sub": "2", "email": "bob@example.com", "email_verified": true });
        let bob = signs_in(&served, &issuer, bob).await.expect("he is an approver");
        let browser = Browser::on(&served);
        assert_eq!(browser.get("/console/approvals", &bob).await.status(), StatusCode::OK);
        assert_eq!(browser.get("/console/audit", &bob).await.status(), StatusCode::FORBIDDEN);
        let one = json!({ "sub": "3", "groups": "ops" });
        assert!(signs_in(&served, &issuer, one).await.is_some());
    }
}

story! {
    /// The role of the provider admits people to a web chat whose `allow` names nobody.
    async fn a_role_of_the_issuer_opens_the_web_chat(world: &mut World) {
        let roles = [("group:staff", Role::Member), ("group:guests", Role::Viewer)];
        let issuer = believes(world, &roles).await;
        for channel in &mut world.config.channels {
            channel.allow.clear();
        }
        let served = Served::of(world).await;
        for (group, conversations) in [("staff", 1), ("guests", 0)] {
            let claims = json!({ "sub": group, "groups": [group] });
            let cookie = signs_in(&served, &issuer, claims).await.unwrap();
            let message = json!({ "id": uuid::Uuid::new_v4(), "text": "hello" });
            let said = served.request(Method::POST, "/chat/messages").header("cookie", &cookie);
            assert_eq!(said.json(&message).send().await.unwrap().status(), StatusCode::NO_CONTENT);
            let own = Browser::on(&served).get("/chat/conversations", &cookie).await;
            let own: Value = own.json().await.unwrap();
            assert_eq!(own["items"].as_array().unwrap().len(), conversations, "{group}: {own}");
        }
    }
}

story! {
    /// A session lives as long as the mapping, and at most half a day.
    /// Proves O3.
    async fn a_session_ends_when_its_role_mapping_is_removed(world: &mut World) {
        let roles = [("group:ops", Role::Operator), ("group:staff", Role::Viewer)];
        let issuer = believes(world, &roles).await;
        let served = Served::of(world).await;
        let claims = json!({ "sub": "1", "groups": ["ops", "staff"] });
        let cookie = signs_in(&served, &issuer, claims).await.unwrap();
        let sees = async |world: &World, path: &str| {
            let served = Served::of(world).await;
            Browser::on(&served).get(path, &cookie).await.status()
        };
        assert_eq!(sees(world, "/console/audit").await, StatusCode::OK, "on every node");
        world.config.admin.oidc.roles.remove("group:ops");
        assert_eq!(sees(world, "/console/audit").await, StatusCode::FORBIDDEN);
        assert_eq!(sees(world, "/console/channels").await, StatusCode::OK);
        world.config.admin.oidc.roles = [("sub:9".to_owned(), Role::Owner)].into();
        assert_eq!(sees(world, "/console/channels").await, StatusCode::UNAUTHORIZED);
        world.config.admin.oidc.roles = [("group:staff".to_owned(), Role::Viewer)].into();
        world.clock.advance(TimeDelta::hours(12));
        assert_eq!(sees(world, "/console/channels").await, StatusCode::UNAUTHORIZED);
    }
}

/// The API admits sessions of a provider by their role only.
/// Proves S10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_takes_the_role_of_the_issuer() {
    let mut world = World::on_sqlite();
    let roles = [Role::Viewer, Role::Member, Role::Approver, Role::Operator, Role::Owner];
    let groups = roles.map(|role| (format!("group:{}", role.as_str()), role));
    let groups: Vec<_> = groups.iter().map(|(group, role)| (group.as_str(), *role)).collect();
    let issuer = believes(&mut world, &groups).await;
    let served = Served::of(&world).await;
    let document = served.document().await;
    for role in roles {
        let claims = json!({ "sub": role.as_str(), "groups": [role.as_str()] });
        let cookie = signs_in(&served, &issuer, claims).await.unwrap();
        for operation in operations(&document) {
            let answer = operation.request(&served).header("cookie", &cookie).send().await.unwrap();
            let refused =
                [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&answer.status());
            let expected = role == Role::Member || role < operation.least;
            assert_eq!(refused, expected, "{} {} for {role:?}", operation.method, operation.path);
        }
    }
}

/// A provider that does not respond is reported as such; without configuration there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_does_not_answer_is_reported() {
    let mut world = World::on_sqlite();
    let none = Served::of(&world).await;
    let browser = Browser::on(&none);
    assert_eq!(browser.get("/sign-in/oidc", "").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(browser.get(BACK, "").await.status(), StatusCode::NOT_FOUND);
    assert!(!browser.get("/", "").await.text().await.unwrap().contains("/sign-in/oidc"));

    drop(believes(&mut world, &[("sub:1", Role::Owner)]).await);
    let served = Served::of(&world).await;
    let silent = Browser::on(&served).get("/sign-in/oidc", "").await;
    assert_eq!(silent.status(), StatusCode::BAD_GATEWAY);
    let said = silent.text().await.unwrap();
    assert!(!said.contains(SECRET), "{said}");
    let shown = visible(&said);
    assert_snapshot!(shown.lines().nth(2).unwrap(), @"The sign-in service is not responding. Try again in a moment.");
}

/// The number of sign-ins per address and minute is limited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_ins_from_one_address_are_slowed_down() {
    let mut world = World::on_sqlite();
    let _issuer = believes(&mut world, &[("sub:1", Role::Owner)]).await;
    let served = Served::of(&world).await;
    let browser = Browser::on(&served);
    for _ in 0..20 {
        browser.begins().await;
    }
    let slowed = browser.get("/sign-in/oidc", "").await;
    assert_eq!(slowed.status(), StatusCode::TOO_MANY_REQUESTS);
    world.clock.advance(TimeDelta::minutes(1));
    browser.begins().await;
}

/// The provider's secret is redacted everywhere.
/// Proves S11.
#[test]
fn the_secret_for_the_issuer_is_a_secret() {
    let mut config = Config::load(None, &BTreeMap::new()).unwrap();
    config.admin.oidc.client_secret = Some(Secret::Plain(SECRET.into()));
    let none = BTreeMap::new();
    assert!(countersign::testing::app::secrets(&config, &none).contains(SECRET));
    assert!(
        !countersign::testing::cli::configuration::printed(&config, &none)
            .unwrap()
            .contains(SECRET)
    );
    assert!(!format!("{config:?}").contains(SECRET));
}
