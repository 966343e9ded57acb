//! `wiki_delete_page`, `wiki_archive_page`, `wiki_unarchive_page`: what becomes of a page.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Wiki, broken, changing, missing, named};
use crate::{
    agent::{
        catalog::{ApprovalMode, ToolSpec},
        policy::FileDigests,
    },
    store::wiki,
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        files::diff,
    },
};

/// What becomes of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageFate {
    Delete,
    Archive,
    Unarchive,
}

impl PageFate {
    pub const ALL: [Self; 3] = [Self::Delete, Self::Archive, Self::Unarchive];
}

pub(super) struct Keeps {
    pub wiki: Wiki,
    pub fate: PageFate,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// The name of the page.
    page: String,
}

#[async_trait]
impl Tool for Keeps {
    fn spec(&self) -> ToolSpec {
        match self.fate {
            PageFate::Delete => ToolSpec {
                approval: ApprovalMode::Always,
                ..changing(
                    "wiki_delete_page",
                    "Deletes a page of the wiki permanently, with its history.\n\
                        wiki_archive_page keeps it.",
                    schema::<Which>(),
                )
            },
            PageFate::Archive => changing(
                "wiki_archive_page",
                "Archives a page of the wiki: searches no longer find it, and it cannot be changed.",
                schema::<Which>(),
            ),
            PageFate::Unarchive => changing(
                "wiki_unarchive_page",
                "Restores an archived page of the wiki.",
                schema::<Which>(),
            ),
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Which { page } = parse(arguments.clone()).ok()?;
        match self.wiki.page(&page, context).await {
            Ok(old) if self.fate == PageFate::Delete => {
                Some(diff::changed(&old.page, &old.content, ""))
            }
            Ok(old) => Some(diff::created(&old.content)),
            Err(error) => Some(Preview::failure(error)),
        }
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let Which { page } = parse(arguments.clone())?;
        self.wiki.bound(&page, context).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Which { page } = parse(arguments)?;
        let (agent, name, call, now) =
            (context.agent.clone(), named(&page)?, context.call.clone(), context.now);
        let fate = self.fate;
        let change = self.wiki.store.write("keep wiki page", move |tx| {
            Box::pin(async move {
                match fate {
                    PageFate::Delete => Ok(wiki::delete(tx, &agent, &name).await?.then_some(true)),
                    PageFate::Archive => {
                        wiki::set_archived(tx, &agent, &name, Some(now), &call).await
                    }
                    PageFate::Unarchive => wiki::set_archived(tx, &agent, &name, None, &call).await,
                }
            })
        });
        let changed = change.await.map_err(|error| broken(&error))?;
        let done = match (fate, changed) {
            (_, None) => return Err(missing(&page)),
            (PageFate::Delete, _) => "was deleted",
            (PageFate::Archive, Some(true)) => "was archived",
            (PageFate::Archive, _) => "is archived already",
            (PageFate::Unarchive, Some(true)) => "was restored",
            (PageFate::Unarchive, _) => "is not archived",
        };
        Ok(Output::text(format!("{} {done}.", named(&page)?)))
    }
}

impl Wiki {
    /// The version of the page that an approval is bound to.
    pub(super) async fn bound(
        &self,
        page: &str,
        context: &Context,
    ) -> Result<FileDigests, ToolError> {
        let old = self.find(page, context).await?;
        let state = old.map(|old| format!("version {}", old.version)).unwrap_or_default();
        Ok(FileDigests::from([(format!("wiki:{}", named(page)?), state)]))
    }
}
