//! A node that serves HTTP, requests to it, and the operations that its OpenAPI document lists.

use countersign::testing::{
    admin::api::tokens,
    app::App,
    journal::role::Role,
    store::{
        audit::{AuditKind, Fact},
        people::{self, AccessTokenKind},
    },
};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;

use super::world::World;

/// A node that only serves HTTP.
pub struct Served {
    pub app: App,
    pub base: String,
    http: reqwest::Client,
}

impl Served {
    pub async fn of(world: &World) -> Self {
        Self::on(world.node().await).await
    }

    pub async fn on(app: App) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        app.serve(listener);
        let http = reqwest::Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
        Self { app, base, http }
    }

    /// A token with that role and name.
    pub async fn token(&self, name: &str, role: Role) -> String {
        let now = self.app.gateway.clock.now();
        let token = tokens::new(name, role, None, "test", now);
        let fact = Fact::new(AuditKind::TokenCreated, "test");
        tokens::create_token(&self.app.gateway.store, token, fact, now).await.unwrap().unwrap()
    }

    /// The cookie of a session.
    pub async fn session(&self, person: &str) -> String {
        let token = uuid::Uuid::new_v4().to_string();
        let (name, own, now) = (person.to_owned(), token.clone(), self.app.gateway.clock.now());
        let ends = now + chrono::TimeDelta::hours(1);
        let begin = self.app.gateway.store.write("test", move |tx| {
            Box::pin(async move {
                people::grant_access(
                    tx,
                    people::NewAccess { kind: AccessTokenKind::Session, name: &name, token: &own },
                    now,
                    ends,
                )
                .await
            })
        });
        begin.await.unwrap();
        format!("countersign_session={token}")
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base))
    }

    /// Sends a request with a token; returns the status and the response.
    pub async fn ask(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let mut request = self.request(method, &format!("/api/v1{path}")).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        answered(request).await
    }

    pub async fn get(&self, token: &str, path: &str) -> Value {
        let (status, answer) = self.ask(token, Method::GET, path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    pub async fn document(&self) -> Value {
        answered(self.request(Method::GET, "/openapi.json")).await.1
    }
}

pub async fn answered(request: RequestBuilder) -> (StatusCode, Value) {
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// An operation of the OpenAPI document.
pub struct Operation {
    pub method: Method,
    pub path: String,
    pub least: Role,
    pub has_body: bool,
}

pub fn operations(document: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let role = operation["x-role"].as_str();
            let role = role.unwrap_or_else(|| panic!("{method} {path} says no x-role"));
            found.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                least: Role::parse(role).unwrap(),
                has_body: operation.get("requestBody").is_some(),
            });
        }
    }
    found
}

impl Operation {
    /// With unknown ids, and nothing to do.
    pub fn request(&self, served: &Served) -> RequestBuilder {
        let path = regex::Regex::new(r"\{\w+\}").unwrap().replace_all(&self.path, "nothing");
        let request = served.request(self.method.clone(), &path);
        if self.has_body { request.json(&json!({ "nothing": true })) } else { request }
    }
}
