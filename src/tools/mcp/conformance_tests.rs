//! The client that the official conformance suite tests.

use super::{
    login::{self, NOWHERE},
    testing::{McpFixture, config},
    *,
};
use crate::{
    encryption::Encryption,
    texts::Language,
    tools::{
        ToolError,
        contract::elicit::{ElicitationAnswer, ElicitationRequest, Elicitor},
        testing::ToolFixture,
    },
};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::sync::mpsc;

fn variable(name: &str) -> Option<String> {
    std::env::vars().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder().redirect(Policy::none()).build().expect("a client")
}

/// A person who signs in at once.
async fn signs_in(config: &McpConfig) -> Result<(), ToolError> {
    let begun = login::begin(config, NOWHERE).await?;
    let page = browser().get(begun.address()).send().await.expect("an answer");
    let back = page.headers()["location"].to_str().expect("text").to_owned();
    begun.end(config, &back).await
}

/// What an operator would configure for client credentials.
async fn credentials(server: &Url, context: &Value) -> Credentials {
    let read = async |url: Url| -> Value {
        let answer = browser().get(url).send().await.expect("an answer");
        answer.json().await.expect("metadata")
    };
    let about = server.join("/.well-known/oauth-protected-resource/mcp").expect("a URL");
    let issuer = read(about).await["authorization_servers"][0].as_str().expect("one").to_owned();
    let issuer: Url = issuer.parse().expect("a URL");
    let about = issuer.join("/.well-known/oauth-authorization-server").expect("a URL");
    let token_url = read(about).await["token_endpoint"].as_str().expect("one").to_owned();
    let text = |name: &str| context[name].as_str().unwrap_or_default().to_owned();
    Credentials {
        token_url: token_url.parse().expect("a URL"),
        client_id: text("client_id"),
        proof: match context["private_key_pem"].as_str() {
            Some(pem) => ClientProof::Key(ClientKey::read(&pem.into(), None).expect("a key")),
            None => ClientProof::Secret(text("client_secret").into()),
        },
        scopes: vec![],
    }
}

async fn configured(fixture: &McpFixture, url: Url, scenario: &str) -> McpConfig {
    let context = variable("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let usual = McpConfig { url: Some(url.clone()), ..config("t") };
    if scenario.starts_with("auth/client-credentials") {
        return McpConfig { oauth: Some(credentials(&url, &context).await), ..usual };
    }
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let metadata = "https://conformance-test.local/client-metadata.json";
    let login = Login {
        file: fixture.folder.path().join("t.json"),
        encryption: Encryption::default(),
        client_id: text("client_id"),
        client_secret: text("client_secret").map(Into::into),
        client_metadata: Some(metadata.to_owned()).filter(|_| scenario == "auth/basic-cimd"),
        scopes: vec![],
        private_hosts: <_>::default(),
    };
    McpConfig { login: Some(login).filter(|_| scenario.starts_with("auth/")), ..usual }
}

/// Uses every tool once, with a person who skips what can be skipped.
async fn uses(fixture: &McpFixture, config: &McpConfig) -> Result<(), ToolError> {
    for tool in fixture.tools(config.clone()).await? {
        let mut place = ToolFixture::new();
        let (requests, mut received) = mpsc::unbounded_channel();
        place.context.people = Elicitor::reached_by(requests, Language::English);
        let answers = async {
            while let Some(request) = received.recv().await {
                let ElicitationRequest::Prompt(elicitation) = request else { continue };
                let skip = Language::English.words().elicitation.skip.to_owned();
                let answer = elicitation.prompt.options.last().cloned().unwrap_or(skip);
                let _ = elicitation.answer.send(ElicitationAnswer::Given(answer));
            }
            std::future::pending::<()>().await;
        };
        let arguments = if tool.spec().parameters["properties"]["a"].is_object() {
            json!({ "a": 5, "b": 3 })
        } else {
            json!({})
        };
        tokio::select! {
            result = tool.run(arguments, &place.context) => result?,
            () = answers => unreachable!(),
        };
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a server of the suite: tests/peers/mcp_conformance.sh starts it and this"]
async fn the_client_of_the_conformance_suite() {
    let url = variable("COUNTERSIGN_TEST_MCP_URL").expect("the script sets it");
    let scenario = variable("MCP_CONFORMANCE_SCENARIO").expect("the suite sets it");
    let fixture = McpFixture::new().await;
    let config = configured(&fixture, url.parse().expect("a URL"), &scenario).await;
    let mut used = uses(&fixture, &config).await;
    // Signs in, and once more if a call needs further scopes.
    for _ in 0..2 {
        if used.is_ok() || config.login.is_none() {
            break;
        }
        signs_in(&config).await.expect("signed in");
        used = uses(&fixture, &config).await;
    }
    used.expect("it can be used");
}
