//! Shows pictures to the model: prepares them when they arrive, and adds them to prompts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hashlink::LinkedHashMap;
use parking_lot::{Mutex, MutexGuard};
use renderers::read::limits;
use std::sync::Arc;

use super::turn::Turn;
use crate::{
    agent::prompt::{Message, Picture, Prompt},
    journal::event::Attachment,
    llm::Model,
    tools::view_image,
};

/// Prepares a file for the model. `None` if the model does not support images or the file is not a
/// supported image. The file is stored in the workspace in any case.
pub(super) async fn at(
    turn: &Turn<'_>,
    model: &dyn Model,
    path: &str,
    bytes: &Bytes,
) -> Option<Attachment> {
    if !model.sees() || !infer::is_image(bytes) || bytes.len() > limits::INPUT_BYTES {
        return None;
    }
    let _turn = turn.worker.fetching.vision_permits.acquire().await.expect("never closed");
    let (sandbox, artifacts) = (&turn.worker.hook_sandbox.sandbox, &turn.worker.gateway.artifacts);
    view_image::view(sandbox, path, bytes.to_vec(), artifacts)
        .await
        .inspect_err(|why| tracing::info!(%why, "could not prepare a picture for the model"))
        .ok()
}

/// Adds the pictures to a prompt. A picture that no longer exists stays a line of text.
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
    let pictures = &turn.worker.fetching.pictures;
    if let Some(known) = pictures.find(&picture.digest) {
        return Some(known);
    }
    let read = turn.worker.gateway.artifacts.read(&picture.digest).await;
    match read {
        Ok(bytes) => {
            let base64: Arc<str> = STANDARD.encode(bytes).into();
            pictures.keep(&picture.digest, &base64);
            Some(base64)
        }
        Err(problem) => {
            tracing::warn!(problem = format!("{problem:#}"), "a picture no longer exists");
            None
        }
    }
}

/// The maximum size of all encoded pictures in memory, in bytes.
const PICTURE_BYTES: usize = 64 * 1024 * 1024;

/// The most recently shown pictures, encoded, by digest. Prompts with the same picture share it.
#[derive(Default)]
pub(super) struct Pictures(Mutex<LinkedHashMap<String, Arc<str>>>);

impl Pictures {
    fn find(&self, digest: &str) -> Option<Arc<str>> {
        self.kept().to_back(digest).cloned()
    }

    fn keep(&self, digest: &str, base64: &Arc<str>) {
        if base64.len() > PICTURE_BYTES {
            return;
        }
        let mut kept = self.kept();
        kept.insert(digest.to_owned(), base64.clone());
        let mut bytes = kept.values().map(|picture| picture.len()).sum::<usize>();
        while bytes > PICTURE_BYTES {
            let Some((_, oldest)) = kept.pop_front() else { break };
            bytes -= oldest.len();
        }
    }

    fn kept(&self) -> MutexGuard<'_, LinkedHashMap<String, Arc<str>>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_in_memory_are_bounded_and_the_longest_unused_goes_first() {
        let (pictures, third) = (Pictures::default(), "x".repeat(PICTURE_BYTES / 3));
        let third: Arc<str> = third.into();
        for digest in ["a", "b", "c"] {
            pictures.keep(digest, &third);
        }
        assert!(pictures.find("a").is_some());
        pictures.keep("d", &third);
        assert!(pictures.find("b").is_none(), "it was not used since");
        for digest in ["a", "c", "d"] {
            assert!(pictures.find(digest).is_some(), "{digest}");
        }
        pictures.keep("e", &"x".repeat(PICTURE_BYTES + 1).into());
        assert!(pictures.find("e").is_none() && pictures.find("a").is_some());
    }

    #[test]
    fn the_whole_memory_for_pictures_is_used() {
        let pictures = Pictures::default();
        let [all, half] = [1, 2].map(|parts| Arc::<str>::from("x".repeat(PICTURE_BYTES / parts)));
        let kept = || ["a", "b", "c"].map(|digest| pictures.kept().contains_key(digest));
        pictures.keep("a", &half);
        pictures.keep("b", &half);
        assert_eq!(kept(), [true, true, false]);
        pictures.keep("c", &all);
        assert_eq!(kept(), [false, false, true], "both others had to go");
    }
}
