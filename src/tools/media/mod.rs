//! Media generation through vendor services. The operator configures a service for each kind; an agent without
//! it does not have the tool.
//!
//! - [`service`]: a configured service: requests, and what its errors mean; `form`: bodies with
//!   files; [`audio`]: recordings
//! - [`transcription`]: `speech_to_text`, and recordings that people send
//! - [`images`] has `image_generate`, [`speech`] `text_to_speech`
//! - [`generation`] has `video_generate`, `music_generate`, `model3d_generate`, by services that
//!   work on jobs ([`queue`])

pub mod audio;
mod form;
pub mod generation;
pub mod images;
pub mod queue;
pub mod service;
pub mod speech;
#[cfg(test)]
pub(super) mod testing;
pub mod transcription;

use std::{fmt::Write as _, sync::Arc};

use super::{Context, Output, Tool, ToolError, send, workspace};
use crate::store::Store;
use generation::{GenerateMedia, GeneratedKind, Generator};
use images::ImageGenerate;
use service::MediaEndpoint;
use speech::TextToSpeech;
use transcription::{SpeechToText, Transcriber};

/// The configured services.
#[derive(Debug, Clone, Default)]
pub struct MediaConfig {
    pub transcription: Option<Transcriber>,
    pub images: Option<MediaEndpoint>,
    pub speech: Option<TextToSpeech>,
    pub video: Option<Generator>,
    pub music: Option<Generator>,
    pub model3d: Option<Generator>,
}

/// The tools of the configured services.
pub fn tools(config: MediaConfig, store: &Store) -> Vec<Arc<dyn Tool>> {
    let MediaConfig { transcription, images, speech, video, music, model3d } = config;
    let mut tools = Vec::<Arc<dyn Tool>>::new();
    if let Some(transcriber) = transcription {
        tools.push(Arc::new(SpeechToText(transcriber)));
    }
    if let Some(service) = images {
        tools.push(Arc::new(ImageGenerate(service)));
    }
    if let Some(speech) = speech {
        tools.push(Arc::new(speech));
    }
    let generators = [
        (GeneratedKind::Video, video),
        (GeneratedKind::Music, music),
        (GeneratedKind::Model3d, model3d),
    ];
    for (kind, generator) in generators {
        if let Some(generator) = generator {
            tools.push(Arc::new(GenerateMedia { kind, generator, store: store.clone() }));
        }
    }
    tools
}

/// What the model reads about a failed request.
const ASK_OPERATOR: &str = "tell the person that the operator has to look into it";

/// A file that a service has made. Its type was checked by its bytes.
struct DeliveredFile {
    name: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

/// Attaches a file for the people, and keeps it in the workspace for further calls.
async fn deliver(
    file: DeliveredFile,
    context: &Context,
    output: &mut Output,
) -> Result<(), ToolError> {
    let DeliveredFile { name, media_type, bytes } = file;
    let folder: String =
        context.call.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
    // `downloads` is the folder for external content, which readers treat as untrusted.
    let path = format!("downloads/{folder}/{name}");
    let (kept, contents) = (path.clone(), bytes.clone());
    workspace::beneath(context, move |workspace, cancelled| {
        workspace.replace(&kept, &contents, cancelled)
    })
    .await?;
    let attachment = send::keep(context, &name, media_type, bytes).await?;
    if !output.text.is_empty() {
        output.text.push('\n');
    }
    let _ = write!(output.text, "{} The file is also {path}.", send::receipt(&attachment, ""));
    output.attachments.push(attachment);
    Ok(())
}
