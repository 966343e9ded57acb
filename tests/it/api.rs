//! The HTTP API from outside: access control, and agreement with the OpenAPI document.

use countersign::testing::journal::role::Role;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::{fs, path::Path};

use crate::support::{
    http::{Operation, Served, answered, operations},
    world::World,
};

/// Without a token 401, with a lower role 403, with the role any other status.
/// Proves S10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_takes_its_role_and_no_less() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let roles = [Role::Viewer, Role::Approver, Role::Operator, Role::Owner];
    let mut tokens = Vec::new();
    for role in roles {
        tokens.push((role, served.token(role.as_str(), role).await));
    }
    let stranger = served.session("ann").await;
    let operations = operations(&served.document().await);
    assert!(operations.len() >= 12, "{}", operations.len());
    for operation in &operations {
        let named = format!("{} {}", operation.method, operation.path);
        let (status, problem) = answered(operation.request(&served)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{named}");
        assert_eq!(problem["status"], 401, "{named}");
        let guess = operation.request(&served).bearer_auth("cs_guess");
        assert_eq!(answered(guess).await.0, StatusCode::UNAUTHORIZED, "{named}");
        let member = operation.request(&served).header("cookie", &stranger);
        assert_eq!(answered(member).await.0, StatusCode::FORBIDDEN, "{named}");
        for (role, token) in &tokens {
            let (status, answer) = answered(operation.request(&served).bearer_auth(token)).await;
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status);
            assert_eq!(refused, *role < operation.least, "{named} for {role:?}: {answer}");
            assert!(!status.is_server_error(), "{named}: {answer}");
        }
    }
}

/// A token with the role member is for OpenAI clients only, although the role is above viewer.
/// Proves S10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_token_can_use_nothing_else() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let token = served.token("editor", Role::Member).await;
    let operations = operations(&served.document().await);
    assert!(operations.len() >= 12, "{}", operations.len());
    for operation in &operations {
        let (status, answer) = answered(operation.request(&served).bearer_auth(&token)).await;
        assert_eq!(
            status,
            StatusCode::FORBIDDEN,
            "{} {}: {answer}",
            operation.method,
            operation.path
        );
    }
}

/// Every list has pages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_list_takes_a_limit() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let owner = served.token("owner", Role::Owner).await;
    let document = served.document().await;
    let lists = document["paths"].as_object().unwrap().iter().filter(|(_, item)| {
        let schema = &item["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        schema["$ref"].as_str().is_some_and(|name| name.contains("Page_"))
    });
    let lists: Vec<_> = lists.map(|(path, _)| path.replace("{id}", "nothing")).collect();
    assert!(lists.len() > 15, "{lists:?}");
    for path in lists {
        let request = served.request(Method::GET, &format!("{path}?limit=0")).bearer_auth(&owner);
        assert_eq!(answered(request).await.0, StatusCode::BAD_REQUEST, "{path}");
    }
}

/// Generators of clients need a description of each response and unique ids. Examples of bodies fit
/// their schemas.
#[test]
fn the_document_is_complete() {
    let document = countersign::testing::admin::api::openapi();
    let mut ids = std::collections::BTreeSet::new();
    let mut bodies = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{method} {path}: {id} is not unique");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let described =
                    response["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(described, "{method} {path}: {status}");
            }
            let Some(body) = operation.get("requestBody") else { continue };
            let body = &body["content"]["application/json"];
            let mut schema = body["schema"].clone();
            schema["components"] = document["components"].clone();
            let validator = jsonschema::validator_for(&schema).unwrap();
            assert!(body["example"].is_object(), "{method} {path} has no example");
            let wrong: Vec<_> =
                validator.iter_errors(&body["example"]).map(|e| e.to_string()).collect();
            assert!(wrong.is_empty(), "{method} {path}: {wrong:?}");
            bodies += 1;
        }
    }
    assert!(ids.contains("get_approvals_by_id") && bodies > 10, "{ids:?}");
}

/// Errors that all operations share are added; those of one operation keep their own description.
#[test]
fn the_document_has_the_errors_of_each_operation() {
    let document = countersign::testing::admin::api::openapi();
    for (path, method, status, description) in [
        ("/people/{channel}/{person}/content", "delete", "404", "Not found"),
        (
            "/people/{channel}/{person}/content",
            "delete",
            "409",
            "An approval of theirs is open, or a turn is running",
        ),
        ("/settings/reload", "put", "409", "The reason why nothing changes"),
        (
            "/approvals/{id}/decision",
            "post",
            "503",
            "The platform does not report roles; send the request again",
        ),
    ] {
        let responses = &document["paths"][format!("/api/v1{path}")][method]["responses"];
        let error = &responses[status];
        assert_eq!(error["description"], description, "{method} {path}: {responses}");
        assert!(error["content"]["application/problem+json"].is_object(), "{error}");
    }
}

/// The declared operations are documented and served, and no others.
/// Proves O7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_equals_the_routes() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let owner = served.token("owner", Role::Owner).await;
    let document = served.document().await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let operations = operations(&document);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/api");
    let declared: usize = fs::read_dir(folder)
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .map(|text| text.matches("#[utoipa::path(").count())
        .sum();
    assert_eq!(operations.len(), declared, "a resource is declared and not mounted");
    for operation in &operations {
        let named = format!("{} {}", operation.method, operation.path);
        let (status, answer) = answered(operation.request(&served).bearer_auth(&owner)).await;
        assert_ne!(answer["detail"], "Page not found.", "{named}");
        assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{named}");
        let known: Vec<_> = operations.iter().filter(|o| o.path == operation.path).collect();
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            if known.iter().any(|o| o.method == method) {
                continue;
            }
            let other = Operation { method, path: operation.path.clone(), ..*operation };
            let answer = other.request(&served).bearer_auth(&owner).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{named}");
            let allowed = answer.headers()["allow"].to_str().unwrap().to_owned();
            assert!(allowed.contains(operation.method.as_str()), "{named}: {allowed}");
        }
    }
    let page = answered(served.request(Method::GET, "/api")).await.1;
    for operation in &operations {
        let shown = operation.path.replace('/', "&#x2f;");
        assert!(page.as_str().unwrap().contains(&shown), "{}", operation.path);
    }
}

/// A signed-in browser may use the API, but not for a request from another site.
/// Proves S10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_counts_from_our_own_pages_only() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let owner = served.session("owner").await;
    let panic = |method| served.request(method, "/api/v1/panic").header("cookie", &owner);
    assert_eq!(answered(panic(Method::GET)).await.1["halted"], false);
    let foreign = panic(Method::PUT).header("origin", "https://evil.example");
    assert_eq!(answered(foreign).await.0, StatusCode::FORBIDDEN);
    let cross = panic(Method::PUT).header("sec-fetch-site", "cross-site");
    assert_eq!(answered(cross).await.0, StatusCode::FORBIDDEN);
    assert_eq!(answered(panic(Method::GET)).await.1["halted"], false);
    let own = panic(Method::PUT).header("origin", &served.base);
    let (status, state) = answered(own).await;
    assert_eq!((status, &state["by"]["name"]), (StatusCode::OK, &json!("owner")));
}
