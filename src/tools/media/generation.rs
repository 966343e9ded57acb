//! `video_generate`, `music_generate`, `model3d_generate`: jobs that take minutes. The call waits,
//! shows the progress, and continues after a restart with the job that it has submitted.

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};
use url::Url;

use super::{
    DeliveredFile,
    audio::Recording,
    deliver,
    images::PictureKind,
    queue::{JobProgress, JobReference, SubmitError},
    service::MediaEndpoint,
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Rate, Tier, ToolSpec},
        policy::FileDigests,
    },
    clock::pause,
    store::{
        Store,
        media_jobs::{self, MediaJob},
    },
    texts::{self, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, file_binding},
    },
};

/// The timeout of a request, downloads included.
pub const REQUEST_FOR: Duration = Duration::from_mins(2);
/// How often the state of a job is asked for.
pub const POLL_EVERY: Duration = Duration::from_secs(4);
/// How many requests in succession may fail while a job runs.
const MAX_FAILURES: u32 = 20;
/// Added to the timeout of the call, for the submission and the download.
const BEFORE_AND_AFTER: Duration = Duration::from_mins(5);
/// The maximum size of a file: that of a bot on Telegram.
const FILE_BYTES: usize = 50 * 1024 * 1024;
/// The maximum size of a picture that a job begins with. It becomes a part of the request.
const IMAGE_BYTES: u64 = 5 * 1024 * 1024;
const PROMPT_CHARS: usize = 8_000;

/// What a job makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratedKind {
    Video,
    Music,
    Model3d,
}

impl GeneratedKind {
    fn tool(self) -> &'static str {
        match self {
            Self::Video => "video_generate",
            Self::Music => "music_generate",
            Self::Model3d => "model3d_generate",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Video => {
                "Makes a video from a text or a picture, which takes minutes.\nThe people here \
                    get it as an attachment. Call it once and wait."
            }
            Self::Music => {
                "Makes music from a text, which takes minutes.\nThe people here get it as an \
                    attachment. Call it once and wait."
            }
            Self::Model3d => {
                "Makes a 3D model from a text or a picture, which takes minutes.\nThe people here \
                    get it as an attachment. Call it once and wait."
            }
        }
    }

    /// The name and media type for these bytes; `None` if they are something else.
    fn file(self, bytes: &[u8]) -> Option<FileKind> {
        let kind = |name, media_type| Some(FileKind { name, media_type });
        match self {
            Self::Video if bytes.get(4..8) == Some(b"ftyp") => kind("video.mp4", "video/mp4"),
            Self::Video if bytes.starts_with(b"\x1a\x45\xdf\xa3") => {
                kind("video.webm", "video/webm")
            }
            Self::Music => {
                let format = Recording::of(bytes, Some("audio/*"))?.format;
                let ending = format.file_name().rsplit('.').next().unwrap_or_default();
                let name = [
                    "music.ogg",
                    "music.mp3",
                    "music.flac",
                    "music.wav",
                    "music.aac",
                    "music.m4a",
                    "music.webm",
                ]
                .into_iter()
                .find(|name| name.ends_with(ending))?;
                kind(name, format.media_type())
            }
            Self::Model3d if bytes.starts_with(b"glTF") => kind("model.glb", "model/gltf-binary"),
            Self::Model3d if bytes.starts_with(b"ply\n") => kind("model.ply", "model/ply"),
            Self::Model3d if bytes.starts_with(b"PK\x03\x04") => {
                kind("model.zip", "application/zip")
            }
            Self::Video | Self::Model3d => None,
        }
    }
}

struct FileKind {
    name: &'static str,
    media_type: &'static str,
}

/// One of the three tools. Its service is priced by the job.
pub struct GenerateMedia {
    pub kind: GeneratedKind,
    pub generator: Generator,
    pub store: Store,
}

/// A service that works on jobs, and how its model wants to be asked.
#[derive(Debug, Clone)]
pub struct Generator {
    pub service: MediaEndpoint,
    /// The model's name of the field for the text.
    pub prompt_field: String,
    /// The model's name of the field for a picture; empty if it takes none.
    pub image_field: String,
    /// Further fields of the model.
    pub input: Map<String, Value>,
    /// How long a job may take.
    pub limit: Duration,
    pub poll_every: Duration,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to make.
    prompt: String,
    /// Path of a picture in the workspace to start from, such as inbox/photo.jpg: PNG, JPEG or
    /// WebP, up to 5 MB.
    #[serde(default)]
    image: Option<String>,
}

#[async_trait]
impl Tool for GenerateMedia {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            // A repeated call finds its job.
            effect: EffectClass::Idempotent,
            approval: ApprovalMode::UnlessAllowed,
            tier: Tier::Extension,
            timeout: self.generator.limit + BEFORE_AND_AFTER,
            rate: Some(Rate::new(2, 10)),
            reads: &["/image"],
            env: self.generator.service.variables(),
            ..ToolSpec::read_only(self.kind.tool(), self.kind.about(), schema::<Arguments>())
        }
    }

    /// A job that costs nothing needs no approval, unless a rule asks.
    fn approval(&self, _arguments: &Value) -> ApprovalMode {
        self.generator.service.approval()
    }

    fn estimated_cost(&self, _arguments: &Value) -> Option<u64> {
        self.generator.service.cost(1)
    }

    async fn preview(&self, _arguments: &Value, _context: &Context) -> Option<Preview> {
        Some(Preview::note(self.generator.service.terms(1)))
    }

    /// What is sent is what was approved.
    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let Arguments { image, .. } = parse(arguments.clone())?;
        let paths: Vec<_> = image.into_iter().collect();
        workspace::beneath(context, move |workspace, _| file_binding::bind(workspace, &paths)).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let wanted: Arguments = parse(arguments)?;
        let began = Instant::now();
        let job = self.job(wanted, context).await?;
        let files = self.wait(&job, began, context).await?;
        let mut output =
            Output { cost_micros: self.generator.service.cost(1), ..Output::default() };
        deliver(self.fetch(files).await?, context, &mut output).await?;
        Ok(output)
    }
}

impl GenerateMedia {
    /// The job of this call: the one that it has submitted before, or a new one.
    async fn job(&self, wanted: Arguments, context: &Context) -> Result<JobReference, ToolError> {
        let input = self.input(wanted, context).await?;
        let (call, now) = (context.call.clone(), context.now);
        let begin = self.store.write("begin media job", move |tx| {
            Box::pin(async move { media_jobs::begin(tx, &call, now).await })
        });
        let service = &self.generator.service;
        match begin.await.map_err(|error| broken(&error))? {
            MediaJob::Submitted(reference) => serde_json::from_str(&reference)
                .map_err(|_| service.failed("the reference to the job is damaged")),
            MediaJob::Interrupted => Err(unknown(service, "the gateway was interrupted")),
            MediaJob::Begun => self.submit(&input, context).await,
        }
    }

    async fn submit(&self, input: &Value, context: &Context) -> Result<JobReference, ToolError> {
        let Generator { service, limit, .. } = &self.generator;
        let call = context.call.clone();
        match service.submit(input, *limit).await {
            Ok(job) => {
                let reference = serde_json::to_string(&job).unwrap_or_default();
                let submitted = self.store.write("media job submitted", move |tx| {
                    Box::pin(async move { media_jobs::submitted(tx, &call, &reference).await })
                });
                submitted.await.map_err(|error| broken(&error))?;
                Ok(job)
            }
            Err(SubmitError::Refused(error)) => {
                let forget = self.store.write("forget media job", move |tx| {
                    Box::pin(async move { media_jobs::forget(tx, &call).await })
                });
                forget.await.map_err(|error| broken(&error))?;
                Err(error)
            }
            Err(SubmitError::Unknown(why)) => Err(unknown(service, &why)),
        }
    }

    /// The input of the model, with the picture as a data URL.
    async fn input(&self, wanted: Arguments, context: &Context) -> Result<Value, ToolError> {
        let Generator { prompt_field, image_field, input, .. } = &self.generator;
        let count = wanted.prompt.chars().count();
        if wanted.prompt.trim().is_empty() || count > PROMPT_CHARS {
            return Err(ToolError::InvalidParameters(format!(
                "prompt: 1 to {PROMPT_CHARS} characters"
            )));
        }
        let mut input = input.clone();
        input.insert(prompt_field.clone(), wanted.prompt.into());
        if let Some(path) = wanted.image {
            if image_field.is_empty() {
                return Err(ToolError::InvalidParameters(
                    "image: the configured model takes no picture; describe it instead".into(),
                ));
            }
            input.insert(image_field.clone(), picture(path, context).await?.into());
        }
        Ok(Value::Object(input))
    }

    /// Waits until the job has ended, and returns its files.
    async fn wait(
        &self,
        job: &JobReference,
        began: Instant,
        context: &Context,
    ) -> Result<Vec<Url>, ToolError> {
        let Generator { service, limit, poll_every, .. } = &self.generator;
        let mut failures = 0;
        loop {
            let state = match service.progress(job).await {
                Ok(JobProgress::Done(files)) => return Ok(files),
                Ok(JobProgress::Running(state)) => {
                    failures = 0;
                    state
                }
                Err(
                    error @ (ToolError::Timeout(_)
                    | ToolError::ExternalService(_)
                    | ToolError::RateLimited(_)),
                ) => {
                    failures += 1;
                    if failures == MAX_FAILURES {
                        return Err(error);
                    }
                    "the service does not answer".to_owned()
                }
                Err(error) => return Err(error),
            };
            let passed = began.elapsed();
            if passed >= *limit {
                service.cancel(job).await;
                return Err(service.failed(&format!(
                    "the job was not done after {} minutes and was cancelled; it may cost money \
                        nevertheless",
                    limit.as_secs() / 60
                )));
            }
            let seconds = passed.as_secs() as f64;
            context.progress.send_replace(texts::progress(
                self.kind.tool(),
                seconds,
                None,
                Some(&state),
            ));
            // In real time: this waits for a service.
            pause(*poll_every).await;
        }
    }

    /// Downloads the first file that is what was wanted. The addresses come from the service, so
    /// private ones are rejected, and the key is not sent.
    async fn fetch(&self, files: Vec<Url>) -> Result<DeliveredFile, ToolError> {
        let service = &self.generator.service;
        let mut problem = service.failed("sent no file of the right kind");
        for url in files {
            match service.fetched(url.as_str(), FILE_BYTES).await {
                Ok(bytes) => {
                    if let Some(FileKind { name, media_type }) = self.kind.file(&bytes) {
                        return Ok(DeliveredFile { name: name.to_owned(), media_type, bytes });
                    }
                }
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }
}

async fn picture(path: String, context: &Context) -> Result<String, ToolError> {
    let opened = path.clone();
    let read = move |workspace: &workspace::Workspace, _: &_| workspace.bytes(&opened, IMAGE_BYTES);
    let bytes = workspace::beneath(context, read).await?;
    let kind = PictureKind::of(&bytes).ok_or_else(|| {
        ToolError::ExecutionFailed(format!("{path} is not a PNG, JPEG or WebP picture"))
    })?;
    Ok(format!("data:{};base64,{}", kind.media_type(), STANDARD.encode(bytes)))
}

fn unknown(service: &MediaEndpoint, why: &str) -> ToolError {
    service.failed(&format!(
        "it is unknown whether the job was accepted ({why}). It may cost money, so do not repeat \
            it unless the person asks for it"
    ))
}

fn broken(error: &anyhow::Error) -> ToolError {
    tracing::error!(problem = format!("{error:#}"), "could not access the media jobs");
    ToolError::ExecutionFailed("The job could not be recorded: try again later".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::StoreOptions,
        tools::{
            media::{
                service::MediaProvider,
                testing::{generator, service},
            },
            testing::ToolFixture,
        },
    };
    use fakes::media::{FakeMedia, Fault, PICTURE, opus};
    use serde_json::json;

    const MP4: &[u8] = b"\0\0\0\x18ftypmp42 and so on";

    /// A conversation with a database.
    async fn place() -> (ToolFixture, Store) {
        let place = ToolFixture::new();
        let url = format!("sqlite://{}?mode=rwc", place.folder.path().join("x.db").display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        place.has("inbox/photo.png", PICTURE);
        (place, store)
    }

    fn tool(fake: &FakeMedia, provider: MediaProvider, store: &Store) -> GenerateMedia {
        let generator = generator(service(fake, provider));
        GenerateMedia { kind: GeneratedKind::Video, generator, store: store.clone() }
    }

    /// Each kind is made by either vendor, and checked by its bytes. The progress is shown, and the
    /// key is sent to nobody else.
    #[tokio::test]
    async fn a_job_is_submitted_waited_for_and_fetched() {
        for provider in [MediaProvider::Replicate, MediaProvider::Fal] {
            for (kind, made, name, media_type) in [
                (GeneratedKind::Video, MP4.to_vec(), "video.mp4", "video/mp4"),
                (GeneratedKind::Music, opus(3), "music.ogg", "audio/ogg"),
                (
                    GeneratedKind::Model3d,
                    b"glTF and so on".to_vec(),
                    "model.glb",
                    "model/gltf-binary",
                ),
            ] {
                let (mut place, store) = place().await;
                let fake = FakeMedia::start().await;
                fake.makes(2, made.clone());
                let tool = GenerateMedia { kind, ..tool(&fake, provider, &store) };
                let progress = place.context.progress.subscribe();
                let arguments = json!({ "prompt": "a river", "image": "inbox/photo.png" });
                let output = place.runs(&tool, arguments).await.unwrap();
                let [attachment] = &output.attachments[..] else { panic!("{output:?}") };
                assert_eq!(
                    (attachment.name.as_str(), attachment.media_type.as_str()),
                    (name, media_type)
                );
                assert_eq!(
                    std::fs::read(place.path(&format!("downloads/call1/{name}"))).unwrap(),
                    made
                );
                assert_eq!(output.cost_micros, Some(6_000));
                let shown = progress.borrow().clone();
                assert!(shown.contains(kind.tool()) && shown.contains("processing"), "{shown}");
                assert_eq!((fake.problems(), fake.submitted()), (vec![], 1));
                let first = fake.asked()[0].json.clone();
                let input = if provider == MediaProvider::Fal { &first } else { &first["input"] };
                let image = input["start_image"].as_str().unwrap();
                assert!(image.starts_with("data:image/png;base64,"), "{image}");
            }
        }
    }

    /// A gateway that restarts between the submission and the result fetches the job of the call
    /// instead of paying for another one. If it restarts during the submission, nothing is repeated.
    #[tokio::test]
    async fn a_restart_does_not_pay_twice() {
        for provider in [MediaProvider::Replicate, MediaProvider::Fal] {
            let (mut place, store) = place().await;
            let fake = FakeMedia::start().await;
            fake.makes(1_000_000, MP4);
            let arguments = json!({ "prompt": "a river" });
            let first = tool(&fake, provider, &store);
            // After the first request for its state, the reference to the job is recorded.
            let asked = async {
                while fake.asked().len() < 2 {
                    let never = std::future::pending::<()>();
                    let _ = tokio::time::timeout(Duration::from_millis(5), never).await;
                }
            };
            tokio::select! {
                _ = place.runs(&first, arguments.clone()) => panic!("the job runs"),
                () = asked => {}
            }
            assert_eq!(fake.submitted(), 1);
            drop(first);
            fake.makes(1, MP4);
            // The new process has a new tool, and the same call.
            let second = tool(&fake, provider, &store);
            let output = place.runs(&second, arguments.clone()).await.unwrap();
            assert_eq!(output.attachments.len(), 1);
            assert_eq!((fake.submitted(), fake.problems()), (1, vec![]));
            // Another call is another job.
            place.context.call = "call2".into();
            place.runs(&second, arguments.clone()).await.unwrap();
            assert_eq!(fake.submitted(), 2);
            // The process died while the request was under way.
            place.context.call = "call3".into();
            let (call, now) = (place.context.call.clone(), place.context.now);
            let begin = store.write("begin", move |tx| {
                Box::pin(async move { media_jobs::begin(tx, &call, now).await })
            });
            assert_eq!(begin.await.unwrap(), MediaJob::Begun);
            let error = place.runs(&second, arguments).await.unwrap_err().to_string();
            assert!(error.contains("unknown whether the job was accepted"), "{error}");
            assert_eq!(fake.submitted(), 2);
        }
    }

    /// A refusal is explained and costs nothing, so that the next call may try again; a lost
    /// response is not repeated; a temporary failure while the job runs is.
    #[tokio::test]
    async fn failures_are_explained_and_only_polls_are_repeated() {
        let (mut place, store) = place().await;
        let fake = FakeMedia::start().await;
        let replicate = tool(&fake, MediaProvider::Replicate, &store);
        let arguments = json!({ "prompt": "x" });
        let refused = Fault { body: json!({ "detail": "Invalid input" }), ..Fault::status(422) };
        fake.fails_next(refused);
        let error = place.runs(&replicate, arguments.clone()).await.unwrap_err().to_string();
        assert!(
            error.contains("rejected the request") && error.contains("Invalid input"),
            "{error}"
        );
        fake.fails_next(Fault { retry_after: Some(9), ..Fault::status(429) });
        let error = place.runs(&replicate, arguments.clone()).await.unwrap_err();
        assert_eq!(error, ToolError::RateLimited(Some(Duration::from_secs(9))));
        assert_eq!(fake.submitted(), 0);
        fake.fails_next(Fault::status(503));
        let error = place.runs(&replicate, arguments.clone()).await.unwrap_err().to_string();
        assert!(error.contains("unknown whether the job was accepted"), "{error}");
        let error = place.runs(&replicate, arguments.clone()).await.unwrap_err().to_string();
        assert!(error.contains("the gateway was interrupted"), "{error}");
        assert_eq!(fake.submitted(), 0, "the same call does not try again");
        place.context.call = "call2".into();
        fake.makes(1, MP4);
        fake.fails_next(Fault { body: json!({ "id": "job-1" }), ..Fault::status(201) });
        fake.fails_next(Fault::status(502));
        place.runs(&replicate, arguments.clone()).await.unwrap();
        for (provider, says) in [
            (
                MediaProvider::Replicate,
                "content policy. Tell the person so, with its reason: “NSFW content”",
            ),
            (
                MediaProvider::Fal,
                "content policy. Tell the person so, with its reason: “NSFW content”",
            ),
        ] {
            fake.fails_jobs("NSFW content");
            place.context.call = format!("call-{provider:?}").as_str().into();
            let tool = tool(&fake, provider, &store);
            let error = place.runs(&tool, arguments.clone()).await.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    /// A job that takes too long is cancelled. What is no video is not sent, and neither is anything
    /// fetched from a private address.
    #[tokio::test]
    async fn a_job_is_limited_in_time_and_its_file_is_checked() {
        let (mut place, store) = place().await;
        let arguments = json!({ "prompt": "x" });
        for provider in [MediaProvider::Replicate, MediaProvider::Fal] {
            let fake = FakeMedia::start().await;
            let mut slow = tool(&fake, provider, &store);
            fake.makes(1_000_000, MP4);
            place.context.call = format!("slow-{provider:?}").as_str().into();
            let submit = slow.generator.limit;
            slow.generator.limit = Duration::from_millis(100);
            let service = slow.generator.service.clone();
            let job =
                service.submit(&json!({ "prompt": "x", "seconds": 5 }), submit).await.unwrap();
            let error = slow.wait(&job, Instant::now(), &place.context).await.unwrap_err();
            assert!(error.to_string().contains("was cancelled"), "{error}");
            assert_eq!((fake.cancelled(), fake.problems()), (1, vec![]));
        }
        let fake = FakeMedia::start().await;
        fake.makes(0, "<html>");
        let tool = tool(&fake, MediaProvider::Replicate, &store);
        place.context.call = "html".into();
        let error = place.runs(&tool, arguments.clone()).await.unwrap_err().to_string();
        assert!(error.contains("no file of the right kind"), "{error}");
        let inside = "http://10.0.0.1/video.mp4".parse().unwrap();
        let error = tool.fetch(vec![inside]).await.err().unwrap().to_string();
        assert!(error.contains("public internet"), "{error}");
    }
}
