//! `browser_open`: the title and the text of a page, as a browser shows it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

use super::{
    arguments,
    browser_use::{TIMEOUT, extracted, finished},
    browsers::Browsers,
};
use crate::{
    agent::catalog::{Confinement, Domain, Subject, Tier, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
    },
};

/// `browser_open`
pub struct BrowserOpen {
    pub browsers: Arc<Browsers>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenArguments {
    /// The address, such as https://example.org/page.
    url: String,
}

#[async_trait]
impl Tool for BrowserOpen {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            subject: Some(Subject::Text("url")),
            timeout: TIMEOUT,
            untrusted: true,
            outward: true,
            domain: Domain::Container(Confinement::OWN),
            unavailable: self.browsers.settings.unavailable(),
            ..ToolSpec::read_only(
                "browser_open",
                "Opens a web page in the browser of this conversation and reads its title and \
                 text.\nFor pages that need scripts. Use web_fetch for others, and browser_use to \
                 click and type.",
                schema::<OpenArguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let OpenArguments { url } = parse(arguments)?;
        let url = arguments::address(&url)?;
        let settings = &self.browsers.settings;
        let mut locked = self.browsers.open(&context.conversation).await?;
        let browser = locked.get()?;
        browser.end_download().await?;
        let done = match browser.navigate(&url).await {
            Ok(()) => extracted(browser, settings.page_bytes, &settings.sandbox).await,
            Err(error) => Err(error),
        };
        finished(&mut locked, done).await
    }
}
