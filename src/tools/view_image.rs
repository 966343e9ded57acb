//! `look_at`, `look_at_url`: show a picture of the workspace or of the web to the model. The
//! picture is decoded in the sandbox, because it is untrusted, and stored as an artifact, so that
//! every prompt has the same bytes.

use async_trait::async_trait;
use renderers::read::limits;
use sandbox::{Sandbox, SandboxLimits, run};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
    documents::{blob::Blob, confined_jobs::ConfinedJob},
    web::{
        address,
        client::{WebClient, WebRequest},
    },
    workspace::{self, file_names},
};
use crate::{
    agent::catalog::{Confinement, Domain, Subject, Tier, ToolSpec},
    journal::event::Attachment,
    store::files::Artifacts,
};

/// The timeout for one picture.
const VIEW_FOR: Duration = Duration::from_secs(10);

/// `look_at`
pub struct LookAt {
    pub sandbox: Arc<Sandbox>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// Path of the picture in the workspace: PNG, JPEG, GIF, WebP or BMP.
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// What to find out about it.
    #[serde(default)]
    #[serde(rename = "question")]
    prompt: Option<String>,
}

/// `look_at_url`
pub struct LookAtUrl {
    pub web_client: WebClient,
    pub sandbox: Arc<Sandbox>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UrlArguments {
    /// The URL of the picture: PNG, JPEG, GIF, WebP or BMP.
    image_url: String,
    /// What to do with it.
    #[serde(default)]
    action: Option<String>,
}

/// The default question about a picture.
const ANALYZE: &str = "Analyze this image";

#[async_trait]
impl Tool for LookAtUrl {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            subject: Some(Subject::Text("image_url")),
            tier: Tier::Extension,
            untrusted: true,
            outward: true,
            domain: Domain::Container(Confinement::OWN),
            ..ToolSpec::read_only(
                "look_at_url",
                "Shows you a picture from the web.",
                schema::<UrlArguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let UrlArguments { image_url, action } = parse(arguments)?;
        let answer = self
            .web_client
            .send(WebRequest::get(address(&image_url)?, limits::INPUT_BYTES))
            .await?;
        let found = answer.url.to_string();
        if !answer.status.is_success() {
            return Err(ToolError::ExternalService(format!("{found} answered {}", answer.status)));
        }
        if answer.is_cut {
            let limit = file_names::size(limits::INPUT_BYTES as u64);
            return Err(ToolError::ExecutionFailed(format!("{found} is larger than {limit}")));
        }
        let view = view(&self.sandbox, &found, answer.body, &context.artifacts).await?;
        let action = action.unwrap_or_else(|| ANALYZE.to_owned());
        let text = format!("{found} follows as a picture. {action}");
        Ok(Output { views: vec![view], ..Output::text(text) })
    }
}

#[async_trait]
impl Tool for LookAt {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            subject: Some(Subject::Path("path")),
            tier: Tier::Extension,
            // The picture may contain untrusted content.
            untrusted: true,
            domain: Domain::Container(Confinement::OWN),
            ..ToolSpec::read_only(
                "look_at",
                "Shows you a picture of the workspace.\nPictures that people send are shown \
                    to you automatically.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { path, prompt } = parse(arguments)?;
        let opened = path.clone();
        let bytes = workspace::beneath(context, move |workspace, _| {
            workspace.bytes(&opened, limits::INPUT_BYTES as u64)
        })
        .await?;
        let view = view(&self.sandbox, &path, bytes, &context.artifacts).await?;
        let prompt = prompt.unwrap_or_else(|| ANALYZE.to_owned());
        let text = format!("{path} follows as a picture. {prompt}");
        Ok(Output { views: vec![view], ..Output::text(text) })
    }
}

/// Prepares a picture for the model, under the picture's path.
pub async fn view(
    sandbox: &Sandbox,
    path: &str,
    bytes: Vec<u8>,
    artifacts: &Artifacts,
) -> Result<Attachment, ToolError> {
    let failed = |why: &str| ToolError::ExecutionFailed(format!("{path} cannot be shown: {why}"));
    let viewer = ConfinedJob::View.command(sandbox, SandboxLimits::DOCUMENT)?;
    let ended = run::to_its_end(viewer, bytes, VIEW_FOR).await?;
    let Ok(drawn) = serde_json::from_slice::<Result<Blob, String>>(&ended.stdout.head) else {
        tracing::debug!(code = ended.code, said = ended.stderr.text(), "a picture decoder crashed");
        return Err(failed("it exceeds the limits for memory or time, or is damaged"));
    };
    let Blob(drawn) = drawn.map_err(|why| failed(&why))?;
    let media_type = file_names::media_type("picture.jpg", &drawn);
    artifacts.put(path, &media_type, drawn).await.map_err(|problem| {
        tracing::error!(%problem, "could not store a picture");
        failed("it could not be stored; try again later")
    })
}
