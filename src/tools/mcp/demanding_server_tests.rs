//! The MCP client against a server that asks people, and asks too much.

use super::testing::{McpFixture, cancelled_at_progress, named, run};
use crate::{
    texts::Language,
    tools::{
        Tool, ToolError,
        contract::elicit::{ElicitationAnswer, ElicitationRequest, Elicitor},
        testing::ToolFixture,
    },
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc::{self, UnboundedReceiver};

async fn tools_of(fixture: &McpFixture, names: &[&str]) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let config = fixture.moody(&names.iter().map(tool).collect());
    fixture.tools(config).await.expect("tools")
}

/// A place where a person can be asked.
fn attended() -> (ToolFixture, UnboundedReceiver<ElicitationRequest>) {
    let mut place = ToolFixture::new();
    let (requests, received) = mpsc::unbounded_channel();
    place.context.people = Elicitor::reached_by(requests, Language::English);
    (place, received)
}

fn nags(times: usize, unanswered: usize) -> Value {
    json!({ "times": times, "unanswered": unanswered })
}

/// If nobody can answer an elicitation, the model is told what was asked.
#[tokio::test]
async fn an_elicitation_that_nobody_can_answer_is_reported() {
    let fixture = McpFixture::new().await;
    let tools = tools_of(&fixture, &["ask"]).await;
    let told = run(&tools, "m_ask", json!({})).await.expect("a result");
    assert!(told.starts_with("cancel\n[The server asked, and got no answer"), "{told}");
    assert!(told.contains("Which colour?"));
}

/// After a call was cancelled, the server may still ask on its behalf. Nobody else gets the question.
#[tokio::test]
async fn the_elicitation_of_a_cancelled_call_reaches_nobody_else() {
    let fixture = McpFixture::new().await;
    let tools = tools_of(&fixture, &["slow", "ask"]).await;
    let mut cancelled = ToolFixture::new();
    cancelled.context.person.id = "bob".into();
    assert!(cancelled_at_progress(&tools, "m_slow", &cancelled).await.is_err());

    let asked = async |person: &str| {
        let mut place = ToolFixture::new();
        place.context.person.id = person.into();
        let result = named(&tools, "m_ask").run(json!({}), &place.context).await;
        result.expect("a result").text
    };
    assert_eq!(asked("ann").await, "decline", "declined without asking Ann");
    let same = asked("bob").await;
    assert!(same.starts_with("cancel\n[The server asked, and got no answer"), "{same}");
}

/// Few elicitations of a call wait at the same time. Further ones are declined without being queued,
/// and the model learns that.
#[tokio::test]
async fn elicitations_at_the_same_time_are_limited() {
    let fixture = McpFixture::new().await;
    let tools = tools_of(&fixture, &["nag", "flood", "echo"]).await;
    let (place, mut received) = attended();
    let call = named(&tools, "m_nag").run(nags(2_000, 4), &place.context);
    let result = call.await.expect("a result").text;
    let expected =
        "1996 decline\n[The server asked, and got no answer: more than one call may ask]";
    assert_eq!(result, expected);
    assert_eq!(std::iter::from_fn(|| received.try_recv().ok()).count(), 4);
}

/// A call cannot ask again and again, although it gets its answers.
#[tokio::test]
async fn the_elicitations_of_a_call_are_limited() {
    let fixture = McpFixture::new().await;
    let tools = tools_of(&fixture, &["nag", "flood", "echo"]).await;
    let (place, mut received) = attended();
    let answers = async {
        while let Some(request) = received.recv().await {
            let ElicitationRequest::Prompt(elicitation) = request else { continue };
            let _ = elicitation.answer.send(ElicitationAnswer::Given("red".into()));
        }
    };
    let result = tokio::select! {
        result = named(&tools, "m_nag").run(nags(25, 0), &place.context) => result,
        () = answers => unreachable!(),
    };
    let result = result.expect("a result").text;
    assert!(result.starts_with("20 accept 5 decline\n[The server asked, and"), "{result}");
}

/// A server may refuse a call until a person has opened a page: the person gets its address, and
/// the model learns what to do.
#[tokio::test]
async fn a_page_that_a_call_requires_is_shown_to_the_person() {
    let fixture = McpFixture::new().await;
    let tools = tools_of(&fixture, &["sign_in"]).await;
    let (place, mut received) = attended();
    let person = async {
        let Some(ElicitationRequest::Prompt(elicitation)) = received.recv().await else {
            panic!("nobody is asked");
        };
        let opens = elicitation.prompt.options[0].clone();
        elicitation.answer.send(ElicitationAnswer::Given(opens)).expect("somebody waits");
        elicitation.prompt.asked.address
    };
    let call = named(&tools, "m_sign_in").run(json!({}), &place.context);
    let (result, address) = tokio::join!(call, person);
    assert_eq!(address.as_deref(), Some("https://example.org/sign-in"));
    let refused = result.expect_err("it has not run").to_string();
    assert!(refused.contains("The call has not run: Not signed in."), "{refused}");
    assert!(refused.contains("Make the same call again"), "{refused}");
    let refused = run(&tools, "m_sign_in", json!({})).await.expect_err("nobody can open it");
    assert!(refused.to_string().contains("nobody has agreed to that"), "{refused}");
}

/// A server that sends requests and does not read the replies is disconnected, before they fill the
/// memory. Another call uses a new connection.
#[tokio::test]
async fn a_server_that_does_not_read_replies_is_disconnected() {
    let fixture = McpFixture::new().await;
    let tools = tools_of(&fixture, &["nag", "flood", "echo"]).await;
    assert_eq!(run(&tools, "m_flood", json!({})).await, Err(ToolError::Unknown));
    assert_eq!(run(&tools, "m_echo", json!({})).await.expect("a result"), "{}");
}
