//! `image_generate`: pictures from a text, from other pictures, or by changing a part of one.
//!
//! - OpenAI and compatible servers: <https://platform.openai.com/docs/api-reference/images>
//! - Gemini: <https://ai.google.dev/gemini-api/docs/image-generation>

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

use super::{
    DeliveredFile, deliver,
    form::{Form, FormFile},
    service::{MediaEndpoint, MediaProvider, quoted},
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Rate, Tier, ToolSpec},
        policy::FileDigests,
    },
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, file_binding, file_names},
    },
};

/// The timeout of a request: large pictures take more than a minute.
pub const TIMEOUT: Duration = Duration::from_mins(4);
/// The maximum number of pictures that one call makes.
const MAX_PICTURES: u32 = 4;
/// The maximum number of pictures that one call reads, and the size of each and of all.
const MAX_INPUTS: usize = 8;
const INPUT_BYTES: u64 = 20 * 1024 * 1024;
const ALL_INPUT_BYTES: usize = 40 * 1024 * 1024;
/// Gemini takes requests of up to 20 MB, and Base64 adds a third.
const GEMINI_INPUT_BYTES: usize = 14 * 1024 * 1024;
/// The maximum size of a picture.
const PICTURE_BYTES: usize = 20 * 1024 * 1024;
/// The maximum size of a response with one picture in Base64.
const RESPONSE_BYTES: usize = PICTURE_BYTES / 3 * 4 + 1024 * 1024;
const PROMPT_CHARS: usize = 8_000;

/// `image_generate`. Its service is priced by the picture.
pub struct ImageGenerate(pub MediaEndpoint);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What the picture shows, or what to change in the given pictures.
    prompt: String,
    /// Path of a picture in the workspace to start from, such as inbox/photo.jpg: PNG, JPEG or
    /// WebP.
    #[serde(default)]
    image: Option<String>,
    /// Paths of further pictures, up to 8 in total.
    #[serde(default)]
    images: Vec<String>,
    /// Path of a PNG of the size of the first picture, whose transparent part is changed.
    #[serde(default)]
    mask: Option<String>,
    /// The shape of the picture; by default the service's.
    #[serde(default)]
    shape: Option<PictureShape>,
    /// Number of pictures, 1 to 4; default 1.
    #[serde(default)]
    count: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PictureShape {
    Square,
    Landscape,
    Portrait,
}

impl PictureShape {
    /// The sizes of OpenAI's image models.
    fn size(self) -> &'static str {
        match self {
            Self::Square => "1024x1024",
            Self::Landscape => "1536x1024",
            Self::Portrait => "1024x1536",
        }
    }

    fn aspect_ratio(self) -> &'static str {
        match self {
            Self::Square => "1:1",
            Self::Landscape => "3:2",
            Self::Portrait => "2:3",
        }
    }
}

/// A picture of the workspace.
struct InputPicture {
    kind: PictureKind,
    bytes: Vec<u8>,
}

/// The kinds of pictures that services read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureKind {
    Png,
    Jpeg,
    Webp,
}

impl PictureKind {
    /// By the first bytes.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        match infer::get(bytes)?.mime_type() {
            "image/png" => Some(Self::Png),
            "image/jpeg" => Some(Self::Jpeg),
            "image/webp" => Some(Self::Webp),
            _ => None,
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
        }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// What to draw, with the pictures that were read.
struct Order {
    prompt: String,
    inputs: Vec<InputPicture>,
    mask: Option<InputPicture>,
    shape: Option<PictureShape>,
    count: u32,
}

impl Arguments {
    /// All paths, the mask last.
    fn paths(&self) -> Vec<String> {
        self.image.iter().chain(&self.images).chain(&self.mask).cloned().collect()
    }

    fn count(&self) -> u32 {
        self.count.unwrap_or(1)
    }

    fn check(&self) -> Result<(), ToolError> {
        let wrong = |why: &str| Err(ToolError::InvalidParameters(why.to_owned()));
        let length = self.prompt.chars().count();
        let pictures = self.image.iter().chain(&self.images).count();
        if self.prompt.trim().is_empty() || length > PROMPT_CHARS {
            return wrong(&format!("prompt: 1 to {PROMPT_CHARS} characters"));
        }
        if !(1..=MAX_PICTURES).contains(&self.count()) {
            return wrong(&format!("count: 1 to {MAX_PICTURES}"));
        }
        if pictures > MAX_INPUTS {
            return wrong(&format!("images: at most {MAX_INPUTS}"));
        }
        if self.mask.is_some() && pictures == 0 {
            return wrong("mask: requires the picture that it belongs to (image)");
        }
        Ok(())
    }
}

#[async_trait]
impl Tool for ImageGenerate {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            tier: Tier::Extension,
            timeout: TIMEOUT + Duration::from_secs(30),
            rate: Some(Rate::new(10, 60)),
            reads: &["/image", "/images/*", "/mask"],
            env: self.0.variables(),
            ..ToolSpec::read_only(
                "image_generate",
                "Makes a picture from a text, or changes pictures of this conversation.\nThe \
                    people here get it as an attachment. With mask, only a part is changed.",
                schema::<Arguments>(),
            )
        }
    }

    /// A picture that costs nothing needs no approval.
    fn approval(&self, _arguments: &Value) -> ApprovalMode {
        self.0.approval()
    }

    fn estimated_cost(&self, arguments: &Value) -> Option<u64> {
        let wanted: Arguments = parse(arguments.clone()).ok()?;
        self.0.cost(wanted.count().into())
    }

    async fn preview(&self, arguments: &Value, _context: &Context) -> Option<Preview> {
        let wanted: Arguments = parse(arguments.clone()).ok()?;
        Some(Preview::note(self.0.terms(wanted.count().into())))
    }

    /// What is sent is what was approved.
    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let wanted: Arguments = parse(arguments.clone())?;
        let paths = wanted.paths();
        workspace::beneath(context, move |workspace, _| file_binding::bind(workspace, &paths)).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let wanted: Arguments = parse(arguments)?;
        wanted.check()?;
        let order = read(wanted, context).await?;
        context.progress.send_replace("🎨 …".to_owned());
        let pictures = match self.0.provider {
            MediaProvider::Gemini => self.by_gemini(&order).await?,
            _ => self.by_openai(&order).await?,
        };
        let mut output =
            Output { cost_micros: self.0.cost(pictures.len() as u64), ..<_>::default() };
        for (number, bytes) in (1..).zip(pictures) {
            let kind = self.checked(&bytes)?;
            let name = format!("image-{number}.{}", kind.extension());
            let file = DeliveredFile { name, media_type: kind.media_type(), bytes };
            deliver(file, context, &mut output).await?;
        }
        Ok(output)
    }
}

/// Reads the pictures. Only files of the conversation's workspace can be read.
async fn read(wanted: Arguments, context: &Context) -> Result<Order, ToolError> {
    let (paths, has_mask) = (wanted.paths(), wanted.mask.is_some());
    let mut inputs = workspace::beneath(context, move |workspace, _| {
        let read = |path: &String| {
            let bytes = workspace.bytes(path, INPUT_BYTES)?;
            let kind = PictureKind::of(&bytes).ok_or_else(|| {
                ToolError::ExecutionFailed(format!("{path} is not a PNG, JPEG or WebP picture"))
            })?;
            Ok(InputPicture { kind, bytes })
        };
        paths.iter().map(read).collect::<Result<Vec<_>, ToolError>>()
    })
    .await?;
    let total: usize = inputs.iter().map(|input| input.bytes.len()).sum();
    if total > ALL_INPUT_BYTES {
        let limit = file_names::size(ALL_INPUT_BYTES as u64);
        return Err(ToolError::ExecutionFailed(format!("The pictures are larger than {limit}")));
    }
    let mask = if has_mask { inputs.pop() } else { None };
    if mask.as_ref().is_some_and(|mask| mask.kind != PictureKind::Png) {
        return Err(ToolError::ExecutionFailed("The mask is not a PNG".into()));
    }
    let count = wanted.count();
    Ok(Order { prompt: wanted.prompt, inputs, mask, shape: wanted.shape, count })
}

impl ImageGenerate {
    async fn by_openai(&self, order: &Order) -> Result<Vec<Vec<u8>>, ToolError> {
        let limit = RESPONSE_BYTES * order.count as usize;
        let answer = if order.inputs.is_empty() {
            let url = self.0.address(&["images", "generations"]);
            let mut body = json!({
                "model": self.0.model, "prompt": order.prompt, "n": order.count,
            });
            if let Some(shape) = order.shape {
                body["size"] = shape.size().into();
            }
            self.0.post(url, &body, limit).await?
        } else {
            let url = self.0.address(&["images", "edits"]);
            self.0.post_form(url, self.edit(order), limit).await?
        };
        let body = self.0.json(&answer)?;
        let mut pictures = Vec::new();
        for picture in body["data"].as_array().into_iter().flatten().take(order.count as usize) {
            pictures.push(match (picture["b64_json"].as_str(), picture["url"].as_str()) {
                (Some(base64), _) => self.decoded(base64)?,
                (None, Some(url)) => self.0.fetched(url, PICTURE_BYTES).await?,
                (None, None) => return Err(self.0.failed("sent no picture")),
            });
        }
        if pictures.is_empty() { Err(self.0.failed("sent no picture")) } else { Ok(pictures) }
    }

    fn edit(&self, order: &Order) -> Form {
        let mut form = Form::new();
        form.text("model", &self.0.model);
        form.text("prompt", &order.prompt);
        form.text("n", &order.count.to_string());
        if let Some(shape) = order.shape {
            form.text("size", shape.size());
        }
        let field = if order.inputs.len() == 1 { "image" } else { "image[]" };
        for (number, input) in (1..).zip(&order.inputs) {
            add(&mut form, field, &format!("image-{number}"), input);
        }
        if let Some(mask) = &order.mask {
            add(&mut form, "mask", "mask", mask);
        }
        form
    }

    /// One request makes one picture.
    async fn by_gemini(&self, order: &Order) -> Result<Vec<Vec<u8>>, ToolError> {
        if order.mask.is_some() {
            return Err(self
                .0
                .failed("does not support masks: describe in the prompt which part to change"));
        }
        let total: usize = order.inputs.iter().map(|input| input.bytes.len()).sum();
        if total > GEMINI_INPUT_BYTES {
            let limit = file_names::size(GEMINI_INPUT_BYTES as u64);
            return Err(self.0.failed(&format!("the pictures may have at most {limit}")));
        }
        let inline = |input: &InputPicture| {
            let data = STANDARD.encode(&input.bytes);
            json!({ "inline_data": { "mime_type": input.kind.media_type(), "data": data } })
        };
        let parts: Vec<_> = std::iter::once(json!({ "text": order.prompt }))
            .chain(order.inputs.iter().map(inline))
            .collect();
        let mut body = json!({
            "contents": [{ "role": "user", "parts": parts }],
            "generationConfig": { "responseModalities": ["TEXT", "IMAGE"] },
        });
        if let Some(shape) = order.shape {
            body["generationConfig"]["imageConfig"] =
                json!({ "aspectRatio": shape.aspect_ratio() });
        }
        let url = self.0.address(&["models", &format!("{}:generateContent", self.0.model)]);
        let mut pictures = Vec::new();
        for _ in 0..order.count {
            let one = async {
                let answer = self.0.post(url.clone(), &body, RESPONSE_BYTES).await?;
                self.gemini_picture(&self.0.json(&answer)?)
            };
            match one.await {
                Ok(picture) => pictures.push(picture),
                // What has been paid for is delivered.
                Err(_) if !pictures.is_empty() => break,
                Err(problem) => return Err(problem),
            }
        }
        Ok(pictures)
    }

    fn gemini_picture(&self, body: &Value) -> Result<Vec<u8>, ToolError> {
        let parts = self.0.gemini_parts(body)?;
        let drafts = |part: &&Value| part["thought"] != true;
        let data = parts.iter().filter(drafts).find_map(|part| part["inlineData"]["data"].as_str());
        if let Some(data) = data {
            return self.decoded(data);
        }
        let text = parts.iter().find_map(|part| part["text"].as_str());
        let text = quoted(text.unwrap_or_default());
        Err(self.0.failed(&format!("sent no picture, but: {text}")))
    }

    fn decoded(&self, base64: &str) -> Result<Vec<u8>, ToolError> {
        let bytes = STANDARD.decode(base64).map_err(|_| self.0.failed("sent invalid Base64"))?;
        if bytes.len() > PICTURE_BYTES {
            return Err(self.0.failed("sent a picture that is larger than allowed"));
        }
        Ok(bytes)
    }

    /// The kind of a picture from its bytes, whatever the service says.
    fn checked(&self, bytes: &[u8]) -> Result<PictureKind, ToolError> {
        PictureKind::of(bytes).ok_or_else(|| self.0.failed("returned data that is not a picture"))
    }
}

fn add(form: &mut Form, field: &str, stem: &str, picture: &InputPicture) {
    let InputPicture { kind, bytes } = picture;
    let name = format!("{stem}.{}", kind.extension());
    form.file(field, &FormFile { name: &name, media_type: kind.media_type(), bytes });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{media::testing::service, testing::ToolFixture};
    use fakes::media::{FakeMedia, Fault, PICTURE};

    fn place() -> ToolFixture {
        let place = ToolFixture::new();
        place.has("inbox/photo.png", PICTURE);
        place.has("inbox/more.png", PICTURE);
        place.has("mask.png", PICTURE);
        place.has("notes.txt", "no picture");
        std::fs::write(place.folder.path().join("secret.png"), PICTURE).unwrap();
        std::os::unix::fs::symlink("../secret.png", place.path("link.png")).unwrap();
        place
    }

    /// From a text, from one and from several pictures, and with a mask. The picture is attached,
    /// and in the workspace for further changes.
    /// Proves MC-34.
    #[tokio::test]
    async fn a_picture_is_made_from_a_text_or_from_pictures_by_either_vendor() {
        let fake = FakeMedia::start().await;
        for provider in [MediaProvider::OpenAi, MediaProvider::Gemini] {
            let tool = ImageGenerate(service(&fake, provider));
            let mut place = place();
            let arguments = json!({ "prompt": "a red house", "count": 2, "shape": "landscape" });
            assert_eq!(tool.estimated_cost(&arguments), Some(12_000));
            let output = place.runs(&tool, arguments).await.unwrap();
            assert_eq!(output.cost_micros, Some(12_000));
            let [first, second] = &output.attachments[..] else { panic!("{output:?}") };
            assert_eq!((first.name.as_str(), second.name.as_str()), ("image-1.png", "image-2.png"));
            assert_eq!(first.media_type, "image/png");
            let stored = place.context.artifacts.read(&first.digest).await.unwrap();
            assert_eq!(&stored[..], PICTURE);
            let kept = std::fs::read(place.path("downloads/call1/image-1.png")).unwrap();
            assert_eq!(kept, PICTURE);
            assert!(output.text.contains("downloads/call1/image-2.png"), "{}", output.text);
            assert!(!output.text.contains("http"), "{}", output.text);
            for arguments in [
                json!({ "prompt": "at night", "image": "inbox/photo.png" }),
                json!({ "prompt": "both", "images": ["inbox/photo.png", "inbox/more.png"] }),
                json!({ "prompt": "again", "image": "downloads/call1/image-1.png" }),
            ] {
                let output = place.runs(&tool, arguments).await.unwrap();
                assert_eq!(output.attachments.len(), 1);
            }
        }
        let openai = ImageGenerate(service(&fake, MediaProvider::OpenAi));
        let masked = json!({ "prompt": "a cat", "image": "inbox/photo.png", "mask": "mask.png" });
        place().runs(&openai, masked.clone()).await.unwrap();
        assert_eq!(fake.problems(), Vec::<String>::new());
        let asked = fake.asked();
        let fields =
            |at: usize| asked[at].files.iter().map(|file| file.field.clone()).collect::<Vec<_>>();
        assert_eq!(asked[0].json["size"], "1536x1024");
        assert_eq!(
            (fields(1), fields(2)),
            (vec!["image".to_owned()], vec!["image[]".to_owned(); 2])
        );
        assert_eq!(fields(asked.len() - 1), ["image", "mask"]);
        let gemini = ImageGenerate(service(&fake, MediaProvider::Gemini));
        let error = place().runs(&gemini, masked).await.unwrap_err().to_string();
        assert!(error.contains("does not support masks"), "{error}");
    }

    /// Only pictures of the conversation's own workspace are sent, and nothing if anything is wrong.
    /// Proves S9.
    #[tokio::test]
    async fn only_pictures_of_this_conversation_are_sent() {
        let fake = FakeMedia::start().await;
        let tool = ImageGenerate(service(&fake, MediaProvider::OpenAi));
        let many: Vec<_> = (0..9).map(|_| "inbox/photo.png").collect();
        for (arguments, says) in [
            (json!({ "prompt": "x", "image": "../secret.png" }), "Path not allowed"),
            (json!({ "prompt": "x", "image": "/etc/passwd" }), "Path not allowed"),
            (json!({ "prompt": "x", "images": ["link.png"] }), "Path not allowed"),
            (json!({ "prompt": "x", "image": "notes.txt" }), "not a PNG, JPEG or WebP"),
            (
                json!({ "prompt": "x", "image": "inbox/photo.png", "mask": "notes.txt" }),
                "not a PNG",
            ),
            (json!({ "prompt": "x", "image": "none.png" }), "Not found"),
            (json!({ "prompt": " " }), "prompt"),
            (json!({ "prompt": "x", "count": 5 }), "count"),
            (json!({ "prompt": "x", "images": many }), "images"),
            (json!({ "prompt": "x", "mask": "mask.png" }), "mask"),
        ] {
            let error = place().runs(&tool, arguments).await.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(fake.asked().len(), 0);
    }

    /// The person learns why a vendor refuses. A response is checked by its bytes.
    #[tokio::test]
    async fn a_refusal_is_explained_and_what_is_no_picture_is_rejected() {
        let fake = FakeMedia::start().await;
        let openai = ImageGenerate(service(&fake, MediaProvider::OpenAi));
        let gemini = ImageGenerate(service(&fake, MediaProvider::Gemini));
        let ok = |body: Value| Fault { body, ..Fault::status(200) };
        let policy = Fault::openai(400, "moderation_blocked", "Rejected by the safety system.");
        let html = STANDARD.encode("<html>");
        let candidate = json!({ "finishReason": "IMAGE_SAFETY", "finishMessage": "Unsafe." });
        let words = json!({ "content": { "parts": [{ "text": "I can't." }] } });
        for (tool, fault, says) in [
            (&openai, policy, "so, with its reason: “Rejected by the safety system.”"),
            (&openai, ok(json!({ "data": [{ "b64_json": html }] })), "not a picture"),
            (&openai, ok(json!({ "data": [{ "b64_json": "%" }] })), "invalid Base64"),
            (&openai, ok(json!({ "data": [] })), "no picture"),
            (
                &openai,
                ok(json!({ "data": [{ "url": "http://10.0.0.1/x.png" }] })),
                "public internet",
            ),
            (&openai, Fault::status(200), "no picture"),
            (&gemini, ok(json!({ "candidates": [candidate] })), "content policy"),
            (&gemini, ok(json!({ "candidates": [words] })), "sent no picture, but: “I can't.”"),
        ] {
            fake.fails_next(fault);
            let mut place = place();
            let error = place.runs(tool, json!({ "prompt": "x" })).await.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(!place.path("downloads").exists());
        }
    }

    /// What costs money is asked for, and the request says what it costs.
    /// Proves A8.
    #[tokio::test]
    async fn calls_that_cost_money_need_an_approval() {
        let fake = FakeMedia::start().await;
        let mut tool = ImageGenerate(service(&fake, MediaProvider::OpenAi));
        let arguments = json!({ "prompt": "x", "count": 2, "image": "inbox/photo.png" });
        let place = place();
        assert_eq!(tool.approval(&arguments), ApprovalMode::UnlessAllowed);
        let preview = tool.preview(&arguments, &place.context).await.unwrap().shown();
        let [name, cost] =
            ["127.0.0.1, a-model", "Estimated cost: 0.012"].map(channels::text::escape);
        assert_eq!(preview, format!("{name}. {cost}"));
        let bound = tool.bound(&arguments, &place.context).await.unwrap();
        place.has("inbox/photo.png", "another");
        assert_ne!(tool.bound(&arguments, &place.context).await.unwrap(), bound);
        tool.0.price_micros = None;
        assert_eq!(tool.approval(&arguments), ApprovalMode::UnlessAllowed);
        assert_eq!(tool.estimated_cost(&arguments), None);
        tool.0.price_micros = Some(0);
        assert_eq!(tool.approval(&arguments), ApprovalMode::Never);
    }
}
