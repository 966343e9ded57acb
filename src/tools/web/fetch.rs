//! `web_fetch`: a page as Markdown; other content as a file in the workspace.

use async_trait::async_trait;
use renderers::read::charset;
use sandbox::Sandbox;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use url::Url;

use super::{
    address,
    client::{WebClient, WebRequest, WebResponse},
};
use crate::{
    agent::catalog::{Subject, Tier, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, confined_reader, file_names},
    },
};

/// The maximum size of a page or file.
const MAX_BYTES: usize = 20 * 1024 * 1024;
/// The maximum size of a page that is converted to Markdown.
const MAX_PAGE_BYTES: usize = 5 * 1024 * 1024;

/// `web_fetch`
pub struct WebFetch {
    pub web_client: WebClient,
    /// The sandbox in which pages are parsed.
    pub sandbox: Arc<Sandbox>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The URL, such as https://example.org/page.
    url: String,
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            subject: Some(Subject::Text("url")),
            untrusted: true,
            outward: true,
            ..ToolSpec::read_only(
                "web_fetch",
                "Reads a web page as Markdown.\nDocuments and pictures are put into the workspace \
                    instead.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { url } = parse(arguments)?;
        let answer = self.web_client.send(WebRequest::get(address(&url)?, MAX_BYTES)).await?;
        if !answer.status.is_success() {
            let (url, status) = (&answer.url, answer.status);
            return Err(ToolError::ExternalService(format!("{url} answered {status}")));
        }
        let media_type = answer.media_type();
        let found = format!("[{} · {media_type}]\n\n", answer.url);
        match media_type.as_str() {
            "text/html" | "application/xhtml+xml" => {
                let page = charset::decode_page(bounded(&answer)?, answer.charset()).into_bytes();
                let reading =
                    confined_reader::document(&self.sandbox, "page.html", &page, &[]).await?;
                Ok(Output::text(found + &reading.markdown))
            }
            text if is_text(text) => {
                let text = charset::decode_page(bounded(&answer)?, answer.charset());
                Ok(Output::text(found + &text))
            }
            _ => Ok(Output::text(found + &keep(answer, context).await?)),
        }
    }
}

fn bounded(answer: &WebResponse) -> Result<&[u8], ToolError> {
    if answer.is_cut || answer.body.len() > MAX_PAGE_BYTES {
        let limit = file_names::size(MAX_PAGE_BYTES as u64);
        return Err(ToolError::ExecutionFailed(format!(
            "{} is larger than {limit}, the limit for a page",
            answer.url
        )));
    }
    Ok(&answer.body)
}

fn is_text(media_type: &str) -> bool {
    let data = ["application/json", "application/xml", "application/javascript"];
    media_type.starts_with("text/")
        || data.contains(&media_type)
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml") && media_type != "image/svg+xml"
}

/// Stores the bytes in the workspace, where other tools can open them.
async fn keep(answer: WebResponse, context: &Context) -> Result<String, ToolError> {
    if answer.is_cut {
        let limit = file_names::size(MAX_BYTES as u64);
        return Err(ToolError::ExecutionFailed(format!(
            "{} is larger than {limit}, the limit for a download",
            answer.url
        )));
    }
    let name = file_name(&answer.url, &answer.media_type())?;
    let size = file_names::size(answer.body.len() as u64);
    let folder: String =
        context.call.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
    // Each call has a separate folder, so nothing is overwritten.
    let path = format!("downloads/{folder}/{name}");
    let kept = path.clone();
    workspace::beneath(context, move |workspace, cancelled| {
        workspace.replace(&path, &answer.body, cancelled)
    })
    .await?;
    Ok(format!("Not a page: {size}, stored as {kept}. Open it with extract_document or read_file."))
}

fn file_name(url: &Url, media_type: &str) -> Result<String, ToolError> {
    let last = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
    let last: String = last.chars().filter(|c| !matches!(c, '%' | '/' | '\\')).collect();
    let last = if last.is_empty() { "download".to_owned() } else { last };
    let ending = mime_guess::get_mime_extensions_str(media_type).and_then(|all| all.first());
    match ending {
        Some(ending) if !last.contains('.') => file_names::file_name(&format!("{last}.{ending}")),
        _ => file_names::file_name(&last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use fakes::web::FakeWeb;
    use serde_json::json;

    async fn fetched(
        server: &FakeWeb,
        path: &str,
        place: &mut ToolFixture,
    ) -> Result<String, ToolError> {
        let web_client = WebClient::new(["127.0.0.1".to_owned()].into()).unwrap();
        let fetch =
            WebFetch { web_client, sandbox: Arc::new(Sandbox::off("no page is read here")) };
        let arguments = json!({ "url": format!("{}{path}", server.url()) });
        Ok(place.runs(&fetch, arguments).await?.text)
    }

    #[tokio::test]
    async fn a_response_that_is_not_a_page_becomes_a_file() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        let text = fetched(&server, "/report.pdf", &mut place).await.unwrap();
        assert!(text.contains("downloads/call1/report.pdf"), "{text}");
        assert_eq!(place.content("downloads/call1/report.pdf"), "%PDF-1.7 not really");
    }

    #[tokio::test]
    async fn unreadable_content_is_reported() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        for (path, reason) in [
            ("/gone", "answered 410"),
            ("/large", "is larger than 5"),
            ("/page", "no page is read here"),
        ] {
            let error = fetched(&server, path, &mut place).await.unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let error = fetched(&server, ":x/", &mut place).await.unwrap_err();
        assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
    }
}
