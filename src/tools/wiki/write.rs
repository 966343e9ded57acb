//! `wiki_create_page`, `wiki_compile_page`, `wiki_enrich_page`: writes pages, and records what they
//! were written from.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Wiki, archive::approved_state, broken, changed, changing, full, missing, named};
use crate::{
    agent::{catalog::ToolSpec, paths::normalise, policy::FileDigests},
    store::{
        memory::MAX_BYTES,
        wiki::{self, MAX_SOURCES, PageChange, PageEdit, Saved, SourceKind, WikiSource},
    },
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        files::diff,
    },
};

const TITLE_CHARS: usize = 200;
const SOURCE_CHARS: usize = 500;
const QUOTE_CHARS: usize = 1_000;

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    Create,
    Compile,
    Enrich,
}

impl Writing {
    pub const ALL: [Self; 3] = [Self::Create, Self::Compile, Self::Enrich];
}

pub(super) struct WritingTool {
    pub wiki: Wiki,
    pub writing: Writing,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GivenSource {
    /// A path in the workspace, a URL, [[a page]] of the wiki, or a description.
    source: String,
    /// The passage that was used, word for word.
    #[serde(default)]
    quote: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Created {
    /// The name of the page, for example garden/bees.
    page: String,
    /// The title; by default the name.
    #[serde(default)]
    title: Option<String>,
    /// Markdown, at most 64 KB; [[page]] links to another page.
    content: String,
    /// What it was written from, besides this conversation.
    #[serde(default)]
    sources: Vec<GivenSource>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompileArguments {
    /// The name of the page, for example garden/bees.
    page: String,
    /// The title; by default that of the page as it is.
    #[serde(default)]
    title: Option<String>,
    /// The whole text in Markdown, at most 64 KB; [[page]] links to another page.
    content: String,
    /// Everything that the text was compiled from; read it before.
    sources: Vec<GivenSource>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EnrichArguments {
    /// The name of the page.
    page: String,
    /// Markdown to add.
    content: String,
    /// The heading of the section to add it to; by default the end of the page.
    #[serde(default)]
    section: Option<String>,
    /// What it was written from, besides this conversation.
    #[serde(default)]
    sources: Vec<GivenSource>,
}

/// The arguments of any of the three.
struct PageWrite {
    page: String,
    title: Option<String>,
    change: PageChange,
    sources: Vec<GivenSource>,
}

#[async_trait]
impl Tool for WritingTool {
    fn spec(&self) -> ToolSpec {
        match self.writing {
            Writing::Create => changing(
                "wiki_create_page",
                "Creates a page of the wiki, which all conversations share.",
                schema::<Created>(),
            ),
            Writing::Compile => changing(
                "wiki_compile_page",
                "Writes a page of the wiki from sources, or writes it again.\n\
                    The page records its sources, and keeps its earlier versions.",
                schema::<CompileArguments>(),
            ),
            Writing::Enrich => changing(
                "wiki_enrich_page",
                "Adds a text to a page of the wiki, with its sources.",
                schema::<EnrichArguments>(),
            ),
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let wanted = self.wanted(arguments.clone()).ok()?;
        let old = match self.wiki.find(&wanted.page, context).await {
            Ok(old) => old,
            Err(error) => return Some(Preview::failure(error)),
        };
        let old = old.map(|page| page.content);
        let preview = match (&wanted.change, old) {
            (PageChange::Create(_), Some(_)) => return Some(Preview::failure("the page exists")),
            (PageChange::Create(_) | PageChange::Compile(_), None)
                if wiki::has_long_part(&named(&wanted.page).ok()?) =>
            {
                return Some(Preview::failure(name_too_long()));
            }
            (PageChange::Create(text) | PageChange::Compile(text), None) => diff::created(text),
            (PageChange::Compile(text), Some(old)) => diff::changed(&wanted.page, &old, text),
            (PageChange::Enrich { .. }, None) => {
                return Some(Preview::failure(missing(&wanted.page)));
            }
            (PageChange::Enrich { heading, text }, Some(old)) => {
                let new = wiki::enriched(&old, heading.as_deref(), text);
                diff::changed(&wanted.page, &old, &new)
            }
        };
        Some(preview.covering(&["content"]))
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let wanted = self.wanted(arguments.clone())?;
        self.wiki.bound(&wanted.page, context).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let wanted = self.wanted(arguments)?;
        let sources = self.sources(wanted.sources, context).await?;
        let page = named(&wanted.page)?;
        let edit = PageEdit {
            agent: context.agent.clone(),
            page: page.clone(),
            title: wanted.title,
            change: wanted.change,
            sources,
            call: context.call.clone(),
            by: context.person.clone(),
            taint: context.taint.clone(),
            expects: approved_state(&page, context),
        };
        let now = context.now;
        let save = self.wiki.store.write("save wiki page", move |tx| {
            Box::pin(async move { wiki::save(tx, &edit, now).await })
        });
        saved(&page, &save.await.map_err(|error| broken(&error))?)
    }
}

impl WritingTool {
    fn wanted(&self, arguments: Value) -> Result<PageWrite, ToolError> {
        let wanted = match self.writing {
            Writing::Create => {
                let Created { page, title, content, sources } = parse(arguments)?;
                PageWrite { page, title, change: PageChange::Create(content), sources }
            }
            Writing::Compile => {
                let CompileArguments { page, title, content, sources } = parse(arguments)?;
                if sources.is_empty() {
                    return Err(ToolError::InvalidParameters("sources is empty".into()));
                }
                PageWrite { page, title, change: PageChange::Compile(content), sources }
            }
            Writing::Enrich => {
                let EnrichArguments { page, content, section, sources } = parse(arguments)?;
                let change = PageChange::Enrich { heading: section, text: content };
                PageWrite { page, title: None, change, sources }
            }
        };
        let long = |text: &str, limit: usize| text.chars().count() > limit;
        if wanted.title.as_deref().is_some_and(|title| long(title, TITLE_CHARS)) {
            return Err(ToolError::InvalidParameters(format!(
                "the title has more than {TITLE_CHARS} characters"
            )));
        }
        let too_long = wanted.sources.iter().any(|source| {
            long(&source.source, SOURCE_CHARS)
                || source.quote.as_deref().is_some_and(|quote| long(quote, QUOTE_CHARS))
        });
        if too_long || wanted.sources.len() > MAX_SOURCES {
            return Err(ToolError::InvalidParameters(format!(
                "at most {MAX_SOURCES} sources, each of {SOURCE_CHARS} characters with a quote of \
                    {QUOTE_CHARS}"
            )));
        }
        Ok(wanted)
    }

    /// The sources as they are recorded. The conversation is always one of them.
    async fn sources(
        &self,
        given: Vec<GivenSource>,
        context: &Context,
    ) -> Result<Vec<WikiSource>, ToolError> {
        let mut sources = Vec::new();
        for GivenSource { source, quote } in given {
            let source = source.trim();
            let (kind, name, state) =
                if source.starts_with("http://") || source.starts_with("https://") {
                    (SourceKind::Url, source.to_owned(), None)
                } else if source.starts_with("[[") {
                    let page = self.wiki.page(source, context).await?;
                    (SourceKind::Page, page.page, Some(format!("version {}", page.version)))
                } else {
                    let path = normalise(source).unwrap_or_default();
                    match context.seen.get(&path) {
                        Some(digest) => (SourceKind::File, path, Some(digest.clone())),
                        None => (SourceKind::Text, source.to_owned(), None),
                    }
                };
            sources.push(WikiSource { kind, name, state, quote, since: 0 });
        }
        let conversation = context.conversation.to_string();
        sources.push(WikiSource {
            kind: SourceKind::Conversation,
            name: conversation,
            state: None,
            quote: None,
            since: 0,
        });
        Ok(sources)
    }
}

fn name_too_long() -> ToolError {
    ToolError::InvalidParameters("a part of the name is too long: use at most 200 bytes".into())
}

fn saved(page: &str, saved: &Saved) -> Result<Output, ToolError> {
    let failed = |text: String| Err(ToolError::ExecutionFailed(text));
    match saved {
        Saved::Done { version } => Ok(Output::text(format!("{page} has version {version} now."))),
        Saved::Exists => failed(format!(
            "{page} exists: wiki_enrich_page adds to it, wiki_compile_page writes it again"
        )),
        Saved::Missing => Err(missing(page)),
        Saved::Archived => failed(format!("{page} is archived: wiki_unarchive_page restores it")),
        Saved::TooLong => failed(format!(
            "{page} would be longer than {MAX_BYTES} bytes: shorten it, or begin another page"
        )),
        Saved::TooManySources => {
            failed(format!("{page} would have more than {MAX_SOURCES} sources"))
        }
        Saved::Full => Err(full()),
        Saved::Changed => Err(changed(page)),
        Saved::NameTooLong => Err(name_too_long()),
    }
}
