//! `browser_use`: looks at web pages and uses them.

use async_trait::async_trait;
use sandbox::Sandbox;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

use super::{
    arguments::{
        self, BrowserArguments, BrowserInput, BrowserLook, BrowserStep, Direction, InputKind,
    },
    browsers::{Browsers, LockedBrowser},
    open_browser::OpenBrowser,
    page_element::PageElement,
    snapshot::PageView,
    transfer,
};
use crate::{
    agent::{
        catalog::{
            ApprovalMode, CallTerms, Confinement, Domain, EffectClass, Subject, Tier, ToolSpec,
        },
        policy::FileDigests,
    },
    store::files::digest_of,
    texts::{PreviewNote, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::{arguments::schema, one_line::one_line},
        view_image,
        workspace::{self, file_binding},
    },
};

/// The time limit of a call.
pub const TIMEOUT: Duration = Duration::from_mins(1);
/// The length of the snapshot that follows an action.
const SHORT_CHARS: usize = 6_000;
/// The key of the element among the state that an approval is bound to; not a valid path.
const ELEMENT: &str = "/element";

/// `browser_use`
pub struct BrowserUse {
    pub browsers: Arc<Browsers>,
}

#[async_trait]
impl Tool for BrowserUse {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Text("url")),
            timeout: TIMEOUT,
            reads: &["/path"],
            untrusted: true,
            outward: true,
            domain: Domain::Container(Confinement::OWN),
            unavailable: self.browsers.settings.unavailable(),
            ..ToolSpec::read_only("browser_use", &self.about(), schema::<BrowserArguments>())
        }
    }

    fn terms(&self, arguments: &Value) -> CallTerms {
        arguments::terms(arguments)
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let BrowserStep::Input(input) = arguments::step(arguments.clone()).ok()? else {
            return None;
        };
        Some(match self.input_state(&input, context).await {
            Err(problem) => Preview::failure(problem),
            Ok((element, page)) => Preview::note(PreviewNote::PageElement {
                role: element.role,
                name: element.name,
                link: element.link,
                frame: (element.address != page).then_some(element.address),
                page,
            }),
        })
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let BrowserStep::Input(input) = arguments::step(arguments.clone())? else {
            return Ok(FileDigests::new());
        };
        let (element, page) = self.input_state(&input, context).await?;
        let mut bound = match &input.kind {
            InputKind::Upload(path) => {
                let names = vec![path.clone()];
                workspace::beneath(context, move |files, _| file_binding::bind(files, &names))
                    .await?
            }
            _ => FileDigests::new(),
        };
        bound.insert(ELEMENT.to_owned(), element.digest(&page));
        Ok(bound)
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let step = arguments::step(arguments)?;
        let mut locked = match &step {
            BrowserStep::Navigate(_) => self.browsers.open(&context.conversation).await?,
            _ => self.browsers.existing(&context.conversation).await?,
        };
        let browser = locked.get()?;
        browser.end_download().await?;
        let done = match step {
            BrowserStep::Navigate(url) => match browser.navigate(&url).await {
                Ok(()) => report(browser, "").await,
                Err(error) => Err(error),
            },
            BrowserStep::Look(look) => self.inspect(browser, look, context).await,
            BrowserStep::Input(input) => self.input(browser, input, context).await,
        };
        finished(&mut locked, done).await
    }
}

/// Adds the notices to an error, and the reason if the browser has ended.
pub async fn finished(
    locked: &mut LockedBrowser<'_>,
    done: Result<Output, ToolError>,
) -> Result<Output, ToolError> {
    let browser = locked.get()?;
    let error = match done {
        Ok(output) => return Ok(output),
        Err(error) => browser.explained(error).await,
    };
    let notices = browser.state.take_notices();
    if notices.is_empty() {
        return Err(error);
    }
    Err(ToolError::ExecutionFailed(format!("{error}\n{}", notices.join("\n"))))
}

impl BrowserUse {
    fn about(&self) -> String {
        let screenshot = if self.browsers.settings.shows_pictures {
            "screenshot (shows you the page, and saves it as a picture)"
        } else {
            "screenshot (saves the page as a picture)"
        };
        format!(
            "Uses web pages in a browser: navigates, reads, clicks, types, downloads.\n\
             Begin with navigate. It and every input show a snapshot: the elements of the page, with \
             references such as e12 for ref. Actions: navigate (url), snapshot, extract (the page \
             as Markdown), {screenshot}, scroll (direction or ref), wait (text or seconds), tabs \
             (lists tabs, or switches to tab), close_tab (tab), back; inputs, which a person has to \
             approve: click (ref), type (ref, text: replaces the text of a field), select (ref, \
             text: an option), press (ref, key), download (ref: saves the file behind a link or \
             button in the workspace), upload (ref of a file field or button, path in the \
             workspace). One call at a time. Cookies and sign-ins are kept for this conversation \
             until the browser is closed, which happens when it is not used for a while. To only \
             read a page, use web_fetch."
        )
    }

    /// The element that an input names, and the address of its page.
    async fn input_state(
        &self,
        input: &BrowserInput,
        context: &Context,
    ) -> Result<(PageElement, String), ToolError> {
        let mut locked = self.browsers.existing(&context.conversation).await?;
        element_and_page(locked.get()?, &input.reference).await
    }

    async fn inspect(
        &self,
        browser: &mut OpenBrowser,
        look: BrowserLook,
        context: &Context,
    ) -> Result<Output, ToolError> {
        match look {
            BrowserLook::Snapshot => return whole(browser).await,
            BrowserLook::Scroll(direction) => browser.scroll(direction == Direction::Down).await?,
            BrowserLook::ScrollTo(reference) => {
                let element = browser.element(&reference).await?;
                browser.scroll_to(&element).await?;
            }
            BrowserLook::Wait { text, limit } => browser.wait_for(text.as_deref(), limit).await?,
            BrowserLook::Tabs(None) => return tabs(browser).await,
            BrowserLook::Tabs(Some(number)) => browser.switch_to(number).await?,
            BrowserLook::CloseTab(number) => {
                browser.close_tab(number).await?;
                return tabs(browser).await;
            }
            BrowserLook::Back => browser.back().await?,
            BrowserLook::Extract => {
                let settings = &self.browsers.settings;
                return extracted(browser, settings.page_bytes, &settings.sandbox).await;
            }
            BrowserLook::Screenshot => return self.screenshot(browser, context).await,
        }
        report(browser, "").await
    }

    async fn screenshot(
        &self,
        browser: &mut OpenBrowser,
        context: &Context,
    ) -> Result<Output, ToolError> {
        let picture = browser.screenshot().await?;
        let page = browser.view().await?;
        let saved =
            transfer::keep("screenshot.jpg", "screenshot.jpg", picture.clone(), context).await?;
        let lead = format!("Saved as {} ({}).", saved.path, saved.size);
        let text = headed(browser, &page, &lead);
        if !self.browsers.settings.shows_pictures {
            return Ok(Output::text(text));
        }
        let sandbox = &self.browsers.settings.sandbox;
        let view = view_image::view(sandbox, &saved.path, picture, &context.artifacts).await?;
        Ok(Output { views: vec![view], ..Output::text(text) })
    }

    /// Acts on an element, if it is still the one that was approved.
    async fn input(
        &self,
        browser: &mut OpenBrowser,
        input: BrowserInput,
        context: &Context,
    ) -> Result<Output, ToolError> {
        let limit_bytes = self.browsers.settings.download_bytes;
        let upload = match &input.kind {
            InputKind::Upload(path) => {
                let path = path.clone();
                let read =
                    workspace::beneath(context, move |files, _| files.bytes(&path, limit_bytes));
                let bytes = read.await?;
                // The file may have changed while the call waited for the browser.
                let digest = digest_of(&bytes);
                let is_approved = |approved: &FileDigests| approved.values().any(|d| *d == digest);
                if !context.approved.as_ref().is_none_or(is_approved) {
                    return Err(ToolError::ExecutionFailed(
                        "The file has changed since the approval, so nothing was done".into(),
                    ));
                }
                bytes
            }
            _ => Vec::new(),
        };
        let (element, page) = element_and_page(browser, &input.reference).await?;
        let approved = context.approved.as_ref().and_then(|approved| approved.get(ELEMENT));
        if approved.is_some_and(|approved| *approved != element.digest(&page)) {
            return Err(ToolError::ExecutionFailed(
                "The element or its page has changed since the approval, so nothing was done. Take \
                 a new snapshot"
                    .into(),
            ));
        }
        let mut lead = String::new();
        match &input.kind {
            InputKind::Click => browser.click(&element).await?,
            InputKind::Type(text) => browser.enter(&element, text).await?,
            InputKind::Select(option) => browser.select(&element, option).await?,
            InputKind::Press(key) => browser.press(&element, key).await?,
            InputKind::Download => {
                let saved = browser.download(&element, limit_bytes, context).await?;
                lead = format!("Saved as {} ({}).", saved.path, saved.size);
            }
            InputKind::Upload(path) => {
                browser.upload(&element, path, upload).await?;
                lead = format!("{path} was given to the page.");
            }
        }
        browser.settle().await;
        // The input was made. A page that cannot be shown does not make it a failure.
        Ok(report(browser, &lead).await.unwrap_or_else(|problem| {
            Output::text(format!(
                "{lead} The input was made, but the page cannot be shown: {problem}"
            ))
        }))
    }
}

async fn element_and_page(
    browser: &OpenBrowser,
    reference: &str,
) -> Result<(PageElement, String), ToolError> {
    let element = browser.element(reference).await?;
    let page = browser.documents().await?.into_iter().next();
    Ok((element, page.map(|page| page.address).unwrap_or_default()))
}

/// The page and the beginning of its snapshot.
async fn report(browser: &mut OpenBrowser, lead: &str) -> Result<Output, ToolError> {
    let page = browser.view().await?;
    let head = headed(browser, &page, lead);
    let Some((cut, _)) = page.text.char_indices().nth(SHORT_CHARS) else {
        return Ok(Output::text(format!("{head}\n\n{}", page.text)));
    };
    let end = page.text[..cut].rfind('\n').unwrap_or(cut);
    let begin = &page.text[..end];
    Ok(Output::text(format!(
        "{head}\n\n{begin}\n(This is the beginning. Use snapshot for the rest.)"
    )))
}

/// The page and its whole snapshot.
async fn whole(browser: &mut OpenBrowser) -> Result<Output, ToolError> {
    let page = browser.view().await?;
    Ok(Output::text(format!("{}\n\n{}", headed(browser, &page, ""), page.text)))
}

/// The page as Markdown.
pub async fn extracted(
    browser: &mut OpenBrowser,
    page_bytes: usize,
    sandbox: &Sandbox,
) -> Result<Output, ToolError> {
    let markdown = browser.markdown(sandbox, page_bytes).await?;
    let page = browser.view().await?;
    Ok(Output::text(format!("{}\n\n{markdown}", headed(browser, &page, ""))))
}

/// Which page is shown, and what has happened.
fn headed(browser: &OpenBrowser, page: &PageView, lead: &str) -> String {
    let mut lines = Vec::new();
    if !lead.is_empty() {
        lines.push(lead.to_owned());
    }
    lines.push(if page.address.starts_with("chrome-error:") {
        "[The page could not be loaded]".to_owned()
    } else {
        format!("[{} · {}]", page.title, page.address)
    });
    if page.is_loading {
        lines.push("The page is still loading.".to_owned());
    }
    lines.extend(browser.state.take_notices());
    lines.join("\n")
}

async fn tabs(browser: &OpenBrowser) -> Result<Output, ToolError> {
    let targets = browser.on_browser("Target.getTargets", json!({})).await?;
    let targets = targets["targetInfos"].as_array().cloned().unwrap_or_default();
    let lines = browser.state.read(|state| {
        let line = |tab: &super::state::Tab| {
            let target = targets.iter().find(|target| target["targetId"] == tab.target.as_str());
            let field = |name: &str| {
                let text = target.and_then(|target| target[name].as_str()).unwrap_or_default();
                one_line(text)
            };
            let mark = if Some(&tab.session) == state.active.as_ref() { " (active)" } else { "" };
            format!("{}. {} · {}{mark}", tab.number, field("title"), field("url"))
        };
        state.tabs.iter().map(line).collect::<Vec<_>>()
    });
    let notices = browser.state.take_notices();
    Ok(Output::text([lines, notices].concat().join("\n")))
}

impl OpenBrowser {
    async fn switch_to(&mut self, number: u32) -> Result<(), ToolError> {
        let tab = self.numbered(number)?;
        self.state.change(|state| state.active = Some(tab.session));
        self.call("Page.bringToFront", json!({})).await.map(drop)
    }

    /// Closes a tab. The last one stays open.
    async fn close_tab(&self, number: u32) -> Result<(), ToolError> {
        let tab = self.numbered(number)?;
        if self.state.read(|state| state.tabs.len()) == 1 {
            return Err(ToolError::ExecutionFailed(
                "This is the last tab, which stays open".into(),
            ));
        }
        self.on_browser("Target.closeTarget", json!({ "targetId": tab.target })).await?;
        let closed = |state: &super::state::BrowserState| {
            state.tabs.iter().all(|other| other.session != tab.session)
        };
        self.state.wait(Duration::from_secs(5), closed).await;
        self.call("Page.bringToFront", json!({})).await.map(drop)
    }

    fn numbered(&self, number: u32) -> Result<super::state::Tab, ToolError> {
        let found =
            self.state.read(|state| state.tabs.iter().find(|tab| tab.number == number).cloned());
        found.ok_or_else(|| {
            ToolError::ExecutionFailed(format!("There is no tab {number}: use tabs"))
        })
    }
}
