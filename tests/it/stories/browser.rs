//! The browser in conversations: approvals that name the element, taint, and when the tools exist.

use axum::{Json, Router, http::HeaderMap, routing::post};
use countersign::testing::{
    agent::disclosure::Disclosure,
    config::Config,
    scripted::{call, say},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use tokio::net::TcpListener;

use crate::{
    story,
    support::{process::eventually, program::sandbox, world::World},
    tools::browser::{BrowserFixture, navigate},
};

/// A shop whose button is named as the server says at the moment.
const SHOP: &str = "<title>Shop</title>
    <button id=order onclick=\"out.textContent = 'ordered'\">Order</button><p id=out>nothing</p>
    <script>setInterval(async () => {
        const name = await (await fetch('/name')).text();
        if (name !== order.textContent) order.textContent = name;
    }, 100)</script>";

fn browser_use(arguments: Value) -> countersign::testing::scripted::ScriptStep {
    call("browser_use", arguments)
}

/// A conversation whose browser survives the restarts of a story.
async fn browsing(world: &mut World) -> BrowserFixture {
    let browser = BrowserFixture::new().await;
    browser.page("/shop", SHOP);
    browser.server.says("/name", "text/plain", "Order");
    world.config.agents[0].disclosure = Disclosure::Legacy;
    world.tools.push(browser.tool.clone());
    browser
}

story! {
    /// Opening a page needs no approval; an input does, and the request names the element. Looking
    /// at the page stays free although it taints; opening another address does not.
    /// Proves MC-36, S1.
    async fn an_input_is_approved_by_the_name_of_its_element(world: &mut World) {
        let browser = browsing(world).await;
        let url = format!("{}/shop", browser.server.url());
        world.model_will(browser_use(navigate(&url)))
            .will(browser_use(json!({ "action": "extract" })))
            .will(browser_use(json!({ "action": "click", "ref": "e1" })));
        world.ann_says("order it").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **browser\_use**?
        Use a web page in the browser: `click`.

        ref: `e1`

        Element of the page: button “Order”. Page: http\:\/\/127.0.0.1:<port>\/shop

        browser\_use makes changes\, and no rule allows it\.
        ⚠️ This conversation contains untrusted content \(browser\_use\, browser\_use http\:\/\/127.0.0.1:<port>\/shop\)\, which may have prompted this request\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        assert!(world.last().ends_with("[Allow once] [Deny]"), "{}", world.last());
        assert!(world.rows_of("events").await.iter().any(|row| row.contains("tainted")));
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "Done.");
        let result = world.results().await.pop().unwrap();
        assert!(result.contains("text \"ordered\""), "{result}");
        world.model_will(browser_use(navigate(&url)));
        world.ann_says("open it again").await;
        // An address can carry data.
        assert_snapshot!(world.last_text(), @r"
        Allow **browser\_use**?
        Use a web page in the browser: `navigate`.

        url: `http://127.0.0.1:<port>/shop`

        browser\_use affects systems outside this chat\.
        ⚠️ This conversation contains untrusted content \(browser\_use\, browser\_use http\:\/\/127.0.0.1:<port>\/shop\)\, which may have prompted this request\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
    }
}

story! {
    /// The element is renamed while the request is open: the click is not made.
    /// Proves MC-36.
    async fn an_approval_is_void_when_the_element_has_changed(world: &mut World) {
        let browser = browsing(world).await;
        let url = format!("{}/shop", browser.server.url());
        world.model_will(browser_use(navigate(&url)))
            .will(browser_use(json!({ "action": "click", "ref": "e1" })));
        world.ann_says("order it").await;
        browser.server.says("/name", "text/plain", "Cancel");
        let asked = || browser.server.asked().iter().filter(|path| path.ends_with("/name")).count();
        let before = asked();
        eventually("the new name", async || (asked() > before + 2).then_some(())).await;
        world.model_will(say("It has changed."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "It has changed.");
        world.model_will(browser_use(json!({ "action": "snapshot" }))).will(say("Nothing was ordered."));
        world.ann_says("was it ordered?").await;
        let page = world.results().await.pop().unwrap();
        assert!(page.contains("nothing") && page.contains("button \"Cancel\""), "{page}");
    }
}

/// A server that offers one tool to whom knows the key.
async fn connectors() -> String {
    async fn answer(headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
        assert_eq!(headers["x-api-key"], "the key");
        let result = match body["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "connectors", "version": "1" },
            }),
            "tools/list" => json!({
                "tools": [{ "name": "GMAIL_SEND_EMAIL", "inputSchema": { "type": "object" } }],
            }),
            _ => json!({}),
        };
        Json(json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }))
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// The tools of this world whose names begin with `browser_` or `composio_`.
async fn tools(world: &World) -> Vec<String> {
    let app = world.node().await;
    let specs = app.worker.toolbox.specs().into_iter();
    let available = specs.filter(|spec| spec.unavailable.is_none()).map(|spec| spec.name);
    available.filter(|name| name.starts_with("browser_") || name.starts_with("composio_")).collect()
}

/// The browser and the connectors of Composio exist only if they are configured.
/// Proves CV-09.
#[tokio::test(flavor = "multi_thread")]
async fn browser_and_connectors_are_absent_unless_configured() {
    let mut world = World::on_sqlite();
    world.sandbox = Arc::new(sandbox().await);
    assert_eq!(tools(&world).await, Vec::<String>::new());
    let url = connectors().await;
    let entry = format!(
        "[{{ name = \"composio\", url = \"{url}\", headers = {{ x-api-key = {{ env = \"KEY\" }} }} }}]"
    );
    let settings: BTreeMap<_, _> = [
        ("COUNTERSIGN__BROWSER__ENABLED".to_owned(), "true".to_owned()),
        ("COUNTERSIGN__MCP".to_owned(), entry),
        ("KEY".to_owned(), "the key".to_owned()),
    ]
    .into();
    let configured = Config::load(None, &settings).unwrap();
    world.config.browser = configured.browser;
    assert_eq!(tools(&world).await, ["browser_open", "browser_use"]);
    (world.config.mcp, world.variables) = (configured.mcp, settings);
    assert_eq!(tools(&world).await, ["browser_open", "browser_use", "composio_gmail_send_email"]);
}
