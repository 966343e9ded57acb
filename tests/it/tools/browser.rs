//! The browser, with real Chromium and difficult pages.

use countersign::testing::{
    journal::ids::{CallId, ConversationId},
    tools::{
        Context, Output, Tool, ToolError,
        browser::{
            BrowserSettings, browser_open::BrowserOpen, browser_use::BrowserUse, browsers::Browsers,
        },
        web::client::WebClient,
    },
};
use fakes::web::FakeWeb;
use serde_json::{Value, json};
use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::support::{documents::DocumentFixture, process::eventually, program::sandbox};

/// A conversation with a browser, and a web server that it may reach.
pub struct BrowserFixture {
    pub tool: Arc<BrowserUse>,
    pub server: FakeWeb,
    /// Another origin, which it may reach as well.
    other: FakeWeb,
    documents: DocumentFixture,
}

impl BrowserFixture {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut BrowserSettings)) -> Self {
        let (server, other) = (FakeWeb::start().await, FakeWeb::start().await);
        let place = |server: &FakeWeb| server.url().trim_start_matches("http://").to_owned();
        let mut settings = BrowserSettings {
            program: None,
            sandbox: Arc::new(sandbox().await),
            web_client: WebClient::new([place(&server), place(&other)].into()).unwrap(),
            idle_for: Duration::from_mins(10),
            max_open: 4,
            memory_bytes: 2 << 30,
            page_bytes: 5 << 20,
            download_bytes: 1 << 20,
            shows_pictures: true,
        };
        change(&mut settings);
        assert_eq!(settings.unavailable(), None, "tests/run installs chromium");
        let tool = Arc::new(BrowserUse { browsers: Browsers::new(settings) });
        Self { tool, server, other, documents: DocumentFixture::new().await }
    }

    pub fn page(&self, path: &str, html: &str) {
        self.server.says(path, "text/html; charset=utf-8", format!("<!doctype html>{html}"));
    }

    fn context(&self) -> &Context {
        &self.documents.context
    }

    async fn call(&self, arguments: Value) -> Result<Output, ToolError> {
        self.tool.run(arguments, self.context()).await
    }

    async fn does(&self, arguments: Value) -> String {
        let text = self.call(arguments.clone()).await;
        text.unwrap_or_else(|error| panic!("{arguments}: {error}")).text
    }

    async fn fails(&self, arguments: Value) -> String {
        match self.call(arguments.clone()).await {
            Err(error) => error.to_string(),
            Ok(output) => panic!("{arguments}: {}", output.text),
        }
    }

    async fn goes(&self, path: &str) -> String {
        self.does(navigate(&format!("{}{path}", self.server.url()))).await
    }

    async fn snapshot(&self) -> String {
        self.does(json!({ "action": "snapshot" })).await
    }

    async fn clicks(&self, snapshot: &str, line: &str) -> String {
        self.does(json!({ "action": "click", "ref": reference(snapshot, line) })).await
    }
}

pub fn navigate(url: &str) -> Value {
    json!({ "action": "navigate", "url": url })
}

/// The reference of the first line that contains this text.
fn reference(snapshot: &str, line: &str) -> String {
    let found = snapshot.lines().find(|found| found.contains(line) && found.contains("[ref="));
    let found = found.unwrap_or_else(|| panic!("no {line} in {snapshot}"));
    let (_, rest) = found.split_once("[ref=").unwrap();
    rest.split(']').next().unwrap().to_owned()
}

/// The processes of browsers that this test has started.
fn children() -> Vec<i32> {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let child = |entry: fs::DirEntry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let state = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, rest) = state.rsplit_once(") ")?;
        let mut rest = rest.split(' ');
        let (state, parent) = (rest.next()?, rest.next()?);
        (name.ends_with("(bwrap") && state != "Z" && parent == own).then_some(id)
    };
    processes.filter_map(child).collect()
}

const FORM: &str = r#"<title>Order</title><h1>Order</h1>
<form onsubmit="event.preventDefault(); out.textContent = `Ordered ${what.value}, ${size.value}`">
<label>What <input id=what value=tea></label>
<label>Size <select id=size><option>small<option value=l>large</select></label>
<label><input type=checkbox id=box> Gift</label>
<button>Order</button></form>
<p id=out></p><a href="/next">Next <b>page</b></a>
<div style="height: 3000px"></div><button onclick="out.textContent = 'bottom'">Bottom</button>"#;

/// Pages are read and used: navigation, snapshots, inputs, Markdown, pictures, history.
/// Proves MC-36.
#[tokio::test]
async fn a_page_is_read_and_used() {
    let browser = BrowserFixture::new().await;
    browser.page("/order", FORM);
    browser.page("/next", "<title>Next</title><p>The end");
    let page = browser.goes("/order").await;
    assert!(page.starts_with("[Order · http://127.0.0.1:"), "{page}");
    assert!(page.contains("heading \"Order\" [level=1]"), "{page}");
    let field = reference(&page, "textbox \"What\"");
    assert!(page.contains("value=\"tea\""), "{page}");
    browser.does(json!({ "action": "type", "ref": field, "text": "coffee ☕" })).await;
    let size = reference(&page, "combobox \"Size\"");
    let error = browser.fails(json!({ "action": "select", "ref": size, "text": "huge" })).await;
    assert!(error.contains("\"small\", \"large\""), "{error}");
    browser.does(json!({ "action": "select", "ref": size, "text": "large" })).await;
    let ticked = browser.clicks(&page, "checkbox \"Gift\"").await;
    assert!(
        ticked.contains("checkbox \"Gift\" [ref=") && ticked.contains("[checked=true]"),
        "{ticked}"
    );
    let sent = browser.does(json!({ "action": "press", "ref": field, "key": "Enter" })).await;
    assert!(sent.contains("text \"Ordered coffee ☕, l\""), "{sent}");
    browser.does(json!({ "action": "type", "ref": field, "text": "" })).await;
    let sent = browser.clicks(&page, "button \"Order\"").await;
    assert!(sent.contains("text \"Ordered , l\""), "{sent}");
    let bottom = browser.clicks(&page, "button \"Bottom\"").await;
    assert!(bottom.contains("text \"bottom\""), "{bottom}");
    browser.does(json!({ "action": "scroll", "direction": "up" })).await;
    browser.does(json!({ "action": "wait", "text": "bottom" })).await;
    let error = browser.fails(json!({ "action": "wait", "text": "nothing", "seconds": 1 })).await;
    assert!(error.contains("did not show the text"), "{error}");
    let next = browser.clicks(&page, "link \"Next page\"").await;
    assert!(next.starts_with("[Next · ") && next.contains("The end"), "{next}");
    assert!(browser.does(json!({ "action": "back" })).await.starts_with("[Order · "));
    let text = browser.does(json!({ "action": "extract" })).await;
    assert!(text.contains("# Order") && text.contains("[Next **page**]"), "{text}");
    let picture = browser.call(json!({ "action": "screenshot" })).await.unwrap();
    assert_eq!(picture.views.len(), 1);
    let path = browser.context().workspace.join("downloads/call1/screenshot.jpg");
    assert!(fs::read(path).unwrap().starts_with(b"\xff\xd8"));
}

/// A page that moves the focus while a key goes down does not get the key elsewhere.
/// Proves MC-36.
#[tokio::test]
async fn a_key_reaches_only_the_element_that_was_approved() {
    let browser = BrowserFixture::new().await;
    browser.page(
        "/trap",
        "<title>Trap</title><label>Search <input id=field onkeydown=\"pay.focus()\"></label>
        <label>Plain <input onkeypress=\"out.textContent = 'pressed ' + event.key\"></label>
        <button id=pay onclick=\"out.textContent = 'paid'\">Pay</button><p id=out></p>",
    );
    let page = browser.goes("/trap").await;
    let (field, plain) = (reference(&page, "\"Search\""), reference(&page, "\"Plain\""));
    let error = browser.fails(json!({ "action": "press", "ref": field, "key": "Enter" })).await;
    assert!(error.contains("moved the focus"), "{error}");
    let page = browser.does(json!({ "action": "snapshot" })).await;
    assert!(!page.contains("paid"), "{page}");
    let page = browser.does(json!({ "action": "press", "ref": plain, "key": "x" })).await;
    assert!(page.contains("pressed x") && page.contains("value=\"x\""), "{page}");
}

/// Frames do not multiply the memory of a snapshot.
/// Proves MC-36.
#[tokio::test]
async fn the_trees_of_all_frames_together_are_limited() {
    let browser = BrowserFixture::new().await;
    let long = "long ".repeat(900_000);
    browser.page("/frame", &format!("<p style=\"white-space: nowrap\">{long}"));
    browser.page("/frames", &"<iframe src=/frame></iframe>".repeat(2));
    let page = browser.goes("/frames").await;
    assert_eq!(page.matches("The page is too large for a snapshot").count(), 1, "{page}");
}

/// Dialogs are closed and reported, whenever they open.
/// Proves MC-36.
#[tokio::test]
async fn dialogs_do_not_block_the_page() {
    let browser = BrowserFixture::new().await;
    browser.page(
        "/dialogs",
        "<title>Dialogs</title><script>alert('on load')</script>
        <button onclick=\"out.textContent = 'confirmed ' + confirm('Delete all?')\">Ask</button>
        <button onclick=\"out.textContent = 'named ' + prompt('Name?')\">Name</button>
        <button onclick=\"onbeforeunload = event => event.preventDefault()\">Stay</button>
        <p id=out></p>",
    );
    browser.page("/away", "<title>Away</title>");
    let page = browser.goes("/dialogs").await;
    assert!(page.contains("dialog (alert), which was dismissed: on load"), "{page}");
    let asked = browser.clicks(&page, "\"Ask\"").await;
    assert!(asked.contains("(confirm), which was dismissed: Delete all?"), "{asked}");
    assert!(asked.contains("confirmed false"), "{asked}");
    assert!(browser.clicks(&page, "\"Name\"").await.contains("named null"));
    browser.clicks(&page, "\"Stay\"").await;
    let away = browser.goes("/away").await;
    assert!(away.starts_with("[Away · ") && away.contains("whether to leave it"), "{away}");
}

/// Elements of frames of any origin and of closed shadow roots are part of the page.
/// Proves MC-36.
#[tokio::test]
async fn frames_and_shadow_roots_are_part_of_the_page() {
    let browser = BrowserFixture::new().await;
    let inner = "<!doctype html><button onclick=\"this.textContent = 'Used'\">Inner</button><p>in the frame</p>";
    browser.page("/inner", inner);
    browser.other.says("/foreign", "text/html", inner.replace("Inner", "Foreign"));
    browser.page(
        "/outer",
        &format!(
            "<title>Outer</title><div style='height: 900px'>top</div><iframe src=/inner></iframe>
            <iframe src='{}/foreign'></iframe><div id=host></div><script>
            const root = host.attachShadow({{ mode: 'closed' }});
            root.innerHTML = '<button>Shadow</button><p>in the shadow</p>';
            root.querySelector('button').onclick = event => event.target.textContent = 'Lit'</script>",
            browser.other.url()
        ),
    );
    let page = browser.goes("/outer").await;
    for (name, after) in [("Inner", "Used"), ("Foreign", "Used"), ("Shadow", "Lit")] {
        let page = browser.clicks(&page, &format!("button \"{name}\"")).await;
        assert!(page.contains(&format!("button \"{after}\"")), "{name}: {page}");
    }
    let text = browser.does(json!({ "action": "extract" })).await;
    assert!(text.contains("in the shadow") && text.matches("in the frame").count() == 2, "{text}");
}

/// A download that was asked for becomes a file with a safe name; any other is refused.
/// Proves MC-36.
#[tokio::test]
async fn downloads_land_in_the_workspace() {
    let browser = BrowserFixture::new().await;
    browser.server.says("/data", "application/octet-stream", vec![7; 1000]);
    browser.server.says("/huge", "application/octet-stream", vec![7; 2 << 20]);
    browser.page(
        "/files",
        "<title>Files</title><a href=/data download='..\\..\\a\u{202e}fdp.sh'>Data</a>
        <a href=/huge>Huge</a><button>Nothing</button>",
    );
    let page = browser.goes("/files").await;
    let download = |line: &str| json!({ "action": "download", "ref": reference(&page, line) });
    let refused = browser.clicks(&page, "\"Data\"").await;
    assert!(refused.contains("was not saved") && refused.starts_with("[Files"), "{refused}");
    let saved = browser.does(download("\"Data\"")).await;
    let path = saved.strip_prefix("Saved as ").unwrap().split(' ').next().unwrap();
    assert!(path.starts_with("downloads/call1/") && !path.contains(['\u{202e}', '\\']), "{path}");
    assert!(path.split('/').all(|part| part != ".."), "{path}");
    assert_eq!(fs::read(browser.context().workspace.join(path)).unwrap(), vec![7; 1000]);
    let error = browser.fails(download("\"Huge\"")).await;
    assert!(error.contains("larger than 1.0MB"), "{error}");
    let error = browser.fails(download("\"Nothing\"")).await;
    assert!(error.contains("sent no file"), "{error}");
    let error = browser.fails(navigate(&format!("{}/data", browser.server.url()))).await;
    assert!(error.contains("is a file, not a page"), "{error}");
    assert!(browser.goes("/files").await.starts_with("[Files"));
}

/// A file of the workspace goes to the field, or to the button that opens a file chooser.
/// Proves MC-36.
#[tokio::test]
async fn files_are_uploaded_from_the_workspace() {
    let browser = BrowserFixture::new().await;
    browser.documents.has("notes.txt", "from the workspace");
    browser.page(
        "/upload",
        "<title>Upload</title><label>File <input type=file onchange=show(this)></label>
        <button onclick=picker.click()>Choose</button><button>Nothing</button>
        <input type=file id=picker style='display: none' onchange=show(this)><p id=out></p>
        <script>const show = async field => out.textContent =
            `${field.files[0].name}: ${await field.files[0].text()}`</script>",
    );
    for line in ["button \"File\"", "button \"Choose\""] {
        let page = browser.goes("/upload").await;
        let field = reference(&page, line);
        browser.does(json!({ "action": "upload", "ref": field, "path": "notes.txt" })).await;
        browser.does(json!({ "action": "wait", "text": "notes.txt: from the workspace" })).await;
    }
    let page = browser.goes("/upload").await;
    let upload = |path: &str| {
        let nothing = reference(&page, "button \"Nothing\"");
        json!({ "action": "upload", "ref": nothing, "path": path })
    };
    assert!(browser.fails(upload("notes.txt")).await.contains("did not ask for a file"));
    let error = browser.fails(upload("../../etc/passwd")).await;
    assert!(error.contains("Path not allowed"), "{error}");
}

/// No page leads to a private address: not by an address, a redirect, a frame or a script.
/// Proves MC-36, S8.
#[tokio::test]
async fn private_addresses_are_not_reached() {
    let private = FakeWeb::start().await;
    let browser = BrowserFixture::new().await;
    for url in [private.url(), "http://169.254.169.254/latest".into(), "http://localhost/".into()] {
        let error = browser.fails(navigate(&url)).await;
        assert!(error.contains("not on the public internet"), "{url}: {error}");
    }
    let redirect = format!("{}/redirect?to={}/echo", browser.server.url(), private.url());
    let error = browser.fails(navigate(&redirect)).await;
    assert!(error.contains("Blocked a connection to 127.0.0.1:"), "{error}");
    assert!(error.contains("not on the public internet"), "{error}");
    browser.page(
        "/page",
        &format!(
            "<title>Probe</title><iframe src='{0}/frame'></iframe><p id=out>waiting</p><script>
            fetch('{0}/script').then(() => out.textContent = 'reached', () => out.textContent = 'failed');
            new WebSocket('{1}/socket'); navigator.sendBeacon('{0}/beacon', 'x')</script>",
            private.url(),
            private.url().replace("http", "ws")
        ),
    );
    let page = browser.goes("/page").await;
    assert!(page.contains("Blocked a connection to"), "{page}");
    let page = browser.does(json!({ "action": "wait", "text": "failed" })).await;
    assert!(!page.contains("reached"), "{page}");
    for url in [
        "file:///etc/passwd",
        "chrome://version",
        "view-source:http://127.0.0.1/",
        "data:text/html,x",
    ] {
        let error = browser.fails(navigate(url)).await;
        assert!(
            error.contains("only http and https") || error.contains("not a web URL"),
            "{error}"
        );
    }
    assert_eq!(private.asked(), Vec::<String>::new());
}

/// Windows that a page opens are tabs. Their number is limited, and so is what they do.
/// Proves MC-36.
#[tokio::test]
async fn popups_are_tabs() {
    let browser = BrowserFixture::new().await;
    browser.page("/popup", "<title>Popup</title><script>alert('from the popup')</script><p>popped");
    browser.page(
        "/opener",
        "<title>Opener</title><a href=/popup target=_blank>Open</a>
        <button onclick=\"for (let i = 0; i < 20; i++) window.open('/popup')\">Many</button>",
    );
    let page = browser.goes("/opener").await;
    let opened = browser.clicks(&page, "\"Open\"").await;
    assert!(
        opened.contains("The page has opened tab 2") && opened.starts_with("[Opener"),
        "{opened}"
    );
    let popup = browser.does(json!({ "action": "tabs", "tab": 2 })).await;
    assert!(popup.starts_with("[Popup") && popup.contains("popped"), "{popup}");
    let tabs = browser.does(json!({ "action": "close_tab", "tab": 2 })).await;
    assert!(tabs.contains("1. Opener") && !tabs.contains("2. Popup"), "{tabs}");
    let page = browser.snapshot().await;
    browser.clicks(&page, "\"Many\"").await;
    let tabs = browser.does(json!({ "action": "tabs" })).await;
    assert!(tabs.matches("· http").count() <= 8, "{tabs}");
    let error = browser.fails(json!({ "action": "tabs", "tab": 99 })).await;
    assert!(error.contains("There is no tab 99"), "{error}");
}

/// An element is used only if it is still what the snapshot showed, and can be reached.
/// Proves MC-36.
#[tokio::test]
async fn an_element_that_has_changed_is_not_used() {
    let browser = BrowserFixture::new().await;
    browser.page(
        "/changing",
        "<title>Changing</title><p id=out>untouched</p>
        <button id=a onclick=\"out.textContent = 'deleted'\">Cancel</button>
        <button id=b onclick=\"out.textContent = 'deleted'\">Replaced</button>
        <div style='position: relative; width: 200px'><button onclick=\"out.textContent = 'covered'\">Covered</button>
        <div style='position: absolute; inset: 0'></div></div>
        <button onclick=\"a.textContent = 'Delete'; b.outerHTML = b.outerHTML\">Change</button>
        <input id=moving aria-label=Moving onfocus=other.focus()><input id=other aria-label=Other>",
    );
    let page = browser.goes("/changing").await;
    let error = browser.fails(json!({ "action": "click", "ref": "e999" })).await;
    assert!(error.contains("take a new snapshot"), "{error}");
    let click = |line: &str| json!({ "action": "click", "ref": reference(&page, line) });
    assert!(browser.fails(click("\"Covered\"")).await.contains("covers this one"));
    let typed =
        json!({ "action": "type", "ref": reference(&page, "\"Moving\""), "text": "secret" });
    assert!(browser.fails(typed).await.contains("moved the focus"));
    // References of the earlier snapshot that has been replaced are the same for the same elements.
    let (cancel, replaced) = (click("\"Cancel\""), click("\"Replaced\""));
    let bound = browser.tool.bound(&cancel, browser.context()).await.unwrap();
    let mut later = browser.context().clone();
    let changed = browser.clicks(&page, "\"Change\"").await;
    assert_eq!(reference(&changed, "button \"Delete\""), reference(&page, "button \"Cancel\""));
    // The snapshot after the click has shown the new name to the model, but not to the person.
    later.approved = Some(bound);
    let error = browser.tool.run(cancel.clone(), &later).await.unwrap_err().to_string();
    assert!(error.contains("changed since the approval, so nothing was done"), "{error}");
    assert!(browser.fails(replaced).await.contains("take a new snapshot"));
    assert!(browser.snapshot().await.contains("untouched"));
    browser.goes("/changing").await;
    assert!(browser.fails(cancel).await.contains("take a new snapshot"));
}

/// The name changes without a new snapshot: nobody is asked about it, and nothing happens.
/// Proves MC-36.
#[tokio::test]
async fn a_late_change_is_noticed_before_anybody_is_asked() {
    let browser = BrowserFixture::new().await;
    browser.page(
        "/late",
        "<title>Late</title><button id=a>Keep</button>
        <script>setTimeout(() => { a.textContent = 'Delete'; document.title = 'Now' }, 5000)</script>",
    );
    let page = browser.goes("/late").await;
    let click = json!({ "action": "click", "ref": reference(&page, "button \"Keep\"") });
    let shown = browser.tool.preview(&click, browser.context()).await.unwrap().shown();
    assert!(shown.contains("button “Keep”") && shown.contains("/late"), "{shown}");
    eventually("a late change", async || {
        browser.does(json!({ "action": "tabs" })).await.contains("Now").then_some(())
    })
    .await;
    let error = browser.tool.bound(&click, browser.context()).await.unwrap_err().to_string();
    assert!(error.contains("was the button “Keep”, and is now the button “Delete”"), "{error}");
    assert!(browser.fails(click).await.contains("Take a new snapshot"));
}

/// Pages without end are shown as far as they are there, and large ones are cut.
/// Proves MC-36.
#[tokio::test]
async fn endless_and_huge_pages_are_bounded() {
    let browser = BrowserFixture::with(|settings| settings.page_bytes = 1 << 17).await;
    browser.server.hangs("/never");
    browser.page("/slow", "<title>Slow</title><p>there</p><img src=/never>");
    let page = browser.goes("/slow").await;
    assert!(page.contains("still loading") && page.contains("there"), "{page}");
    let error = browser.fails(navigate(&format!("{}/never", browser.server.url()))).await;
    assert!(error.contains("did not answer within 20 s"), "{error}");
    browser.page("/huge", &"<p>a paragraph of a long page".repeat(8_000));
    let page = browser.goes("/huge").await;
    assert!(page.chars().count() < 10_000, "{}", page.len());
    let error = browser.fails(json!({ "action": "extract" })).await;
    assert!(error.contains("browser.max_page_mb"), "{error}");
    browser.page("/busy", "<title>Busy</title><button onclick='for (;;);'>Hang</button>");
    let page = browser.goes("/busy").await;
    let started = Instant::now();
    let click = json!({ "action": "click", "ref": reference(&page, "\"Hang\"") });
    let _ = browser.call(click).await;
    assert!(started.elapsed() < Duration::from_secs(65), "{:?}", started.elapsed());
}

/// A browser that has ended is reported, and the next call starts another.
/// Proves MC-36.
#[tokio::test]
async fn a_browser_that_has_ended_is_replaced() {
    let browser = BrowserFixture::new().await;
    browser.page("/page", "<title>Page</title>");
    browser.goes("/page").await;
    for id in children() {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(id).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
    let error = eventually("the end of the browser", async || {
        browser.call(json!({ "action": "snapshot" })).await.err().map(|error| error.to_string())
    })
    .await;
    assert!(error.contains("ended unexpectedly") || error.contains("No page is open"), "{error}");
    assert!(browser.goes("/page").await.starts_with("[Page"));
    assert_eq!((children().len(), browser.tool.browsers.count()), (1, 1));
}

/// A browser that nobody uses is closed with all its processes.
/// Proves MC-36.
#[tokio::test]
async fn an_idle_browser_is_closed() {
    let browser = BrowserFixture::with(|settings| settings.idle_for = Duration::from_secs(2)).await;
    browser.page("/page", "<title>Page</title>");
    browser.goes("/page").await;
    assert_eq!(children().len(), 1);
    eventually("a closed browser", async || (browser.tool.browsers.count() == 0).then_some(()))
        .await;
    eventually("the end of its processes", async || children().is_empty().then_some(())).await;
    let error = browser.fails(json!({ "action": "snapshot" })).await;
    assert!(error.contains("closed because it was idle"), "{error}");
}

/// Many conversations at once stay within the limit; each gets its page or is told to wait.
/// Proves MC-36.
#[tokio::test(flavor = "multi_thread")]
async fn forty_conversations_at_once_stay_within_the_limit() {
    let browser = Arc::new(BrowserFixture::with(|settings| settings.max_open = 3).await);
    browser.page("/page", "<title>Page</title>");
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (browser, url) = (browser.clone(), format!("{}/page", browser.server.url()));
        calls.spawn(async move {
            let mut context = browser.context().clone();
            context.conversation = ConversationId::from(format!("c{number}").as_str());
            context.call = CallId::from(format!("call{number}").as_str());
            browser.tool.run(navigate(&url), &context).await
        });
    }
    let (mut done, mut peak) = (0, 0);
    while !calls.is_empty() {
        peak = peak.max(children().len());
        let ended = tokio::time::timeout(Duration::from_millis(100), calls.join_next()).await;
        let Ok(Some(ended)) = ended else { continue };
        match ended.unwrap() {
            Ok(page) => {
                assert!(page.text.starts_with("[Page"), "{}", page.text);
                done += 1;
            }
            // A page that crashes under this load counts as one that was refused.
            Err(error) => {
                let error = error.to_string();
                let is_expected =
                    ["browser.max_open", "has crashed"].map(|why| error.contains(why));
                assert!(is_expected.contains(&true), "{error}");
            }
        }
    }
    assert!(done >= 3 && peak <= 3, "{done} were done, {peak} browsers at once");
    assert!(browser.tool.browsers.count() <= 3);
}

/// Proves CV-09.
#[tokio::test]
async fn browser_open_returns_title_and_text() {
    let browser = BrowserFixture::new().await;
    browser.page(
        "/rendered",
        "<title>Rivers</title><p id=out></p><script>out.textContent = 'Written by a script'</script>",
    );
    let open = BrowserOpen { browsers: browser.tool.browsers.clone() };
    let url = format!("{}/rendered", browser.server.url());
    let text = open.run(json!({ "url": url }), browser.context()).await.unwrap().text;
    assert_eq!(text, format!("[Rivers · {url}]\n\n# Rivers\n\nWritten by a script"));
}
