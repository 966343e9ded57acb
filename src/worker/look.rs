//! Pictures before the eyes of the model: made ready when they come, and put into its prompts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use renderers::read::limits;
use std::sync::Arc;

use super::turn::Turn;
use crate::{
    agent::prompt::{Message, Picture, Prompt},
    journal::event::Attachment,
    llm::Model,
    tools::look,
};

/// What the model is shown of a file that somebody has sent; nothing where it sees no pictures, or
/// the file is none that can be shown. The file itself lies in the workspace either way.
pub(super) async fn at(
    turn: &Turn<'_>,
    model: &dyn Model,
    (path, bytes): (&str, &Bytes),
) -> Option<Attachment> {
    if !model.sees() || !infer::is_image(bytes) || bytes.len() > limits::INPUT_BYTES {
        return None;
    }
    let _turn = turn.worker.fetching.eyes.acquire().await.expect("never closed");
    let (sandbox, artifacts) = (&turn.worker.walls.sandbox, &turn.worker.gateway.artifacts);
    look::view(sandbox, path, bytes.to_vec(), artifacts)
        .await
        .inspect_err(|why| tracing::info!(%why, "a picture is not shown to the model"))
        .ok()
}

/// The prompt with its pictures. One that is not there any more stays the line that it also is.
pub(super) async fn shown(turn: &Turn<'_>, model: &dyn Model, mut prompt: Prompt) -> Prompt {
    if !model.sees() {
        return prompt;
    }
    for message in &mut prompt.messages {
        if let Message::Picture(picture) = message {
            picture.base64 = encoded(turn, picture).await;
        }
    }
    prompt
}

async fn encoded(turn: &Turn<'_>, picture: &Picture) -> Option<Arc<str>> {
    let read = turn.worker.gateway.artifacts.read(&picture.digest).await;
    match read {
        Ok(bytes) => Some(STANDARD.encode(bytes).into()),
        Err(problem) => {
            tracing::warn!(problem = format!("{problem:#}"), "a picture is gone");
            None
        }
    }
}
