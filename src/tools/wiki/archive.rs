//! `wiki_delete_page`, `wiki_archive_page`, `wiki_unarchive_page`: archives and deletes pages.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Wiki, broken, changed, changing, full, missing, named};
use crate::{
    agent::{
        catalog::{ApprovalMode, ToolSpec},
        policy::FileDigests,
    },
    store::wiki::{self, PageTarget, TargetOutcome},
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        files::diff,
    },
};

/// What is done to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageAction {
    Delete,
    Archive,
    Unarchive,
}

impl PageAction {
    pub const ALL: [Self; 3] = [Self::Delete, Self::Archive, Self::Unarchive];
}

pub(super) struct PageActionTool {
    pub wiki: Wiki,
    pub action: PageAction,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageArguments {
    /// The name of the page.
    page: String,
}

#[async_trait]
impl Tool for PageActionTool {
    fn spec(&self) -> ToolSpec {
        match self.action {
            PageAction::Delete => ToolSpec {
                approval: ApprovalMode::Always,
                ..changing(
                    "wiki_delete_page",
                    "Deletes a page of the wiki permanently, with its history.\n\
                        wiki_archive_page keeps it.",
                    schema::<PageArguments>(),
                )
            },
            PageAction::Archive => changing(
                "wiki_archive_page",
                "Archives a page of the wiki: searches no longer find it, and it cannot be changed.",
                schema::<PageArguments>(),
            ),
            PageAction::Unarchive => changing(
                "wiki_unarchive_page",
                "Restores an archived page of the wiki.",
                schema::<PageArguments>(),
            ),
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let PageArguments { page } = parse(arguments.clone()).ok()?;
        match self.wiki.page(&page, context).await {
            Ok(old) if self.action == PageAction::Delete => {
                Some(diff::changed(&old.page, &old.content, ""))
            }
            Ok(old) => Some(diff::created(&old.content)),
            Err(error) => Some(Preview::failure(error)),
        }
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let PageArguments { page } = parse(arguments.clone())?;
        self.wiki.bound(&page, context).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let PageArguments { page } = parse(arguments)?;
        let name = named(&page)?;
        let (action, now) = (self.action, context.now);
        let target = PageTarget {
            agent: context.agent.clone(),
            page: name.clone(),
            call: context.call.clone(),
            expects: approved_state(&name, context),
        };
        let change = self.wiki.store.write("archive wiki page", move |tx| {
            Box::pin(async move {
                match action {
                    PageAction::Delete => wiki::delete(tx, &target).await,
                    PageAction::Archive => wiki::set_archived(tx, &target, Some(now)).await,
                    PageAction::Unarchive => wiki::set_archived(tx, &target, None).await,
                }
            })
        });
        let done = match (action, change.await.map_err(|error| broken(&error))?) {
            (_, TargetOutcome::Missing) => return Err(missing(&page)),
            (_, TargetOutcome::Changed) => return Err(changed(&name)),
            (_, TargetOutcome::Full) => return Err(full()),
            (PageAction::Delete, _) => "was deleted",
            (PageAction::Archive, TargetOutcome::Done) => "was archived",
            (PageAction::Archive, TargetOutcome::Unchanged) => "is archived already",
            (PageAction::Unarchive, TargetOutcome::Done) => "was restored",
            (PageAction::Unarchive, TargetOutcome::Unchanged) => "is not archived",
        };
        Ok(Output::text(format!("{name} {done}.")))
    }
}

impl Wiki {
    /// The state of the page that an approval is bound to.
    pub(super) async fn bound(
        &self,
        page: &str,
        context: &Context,
    ) -> Result<FileDigests, ToolError> {
        let old = self.find(page, context).await?;
        Ok(FileDigests::from([(key(&named(page)?), wiki::state_of(old.as_ref()))]))
    }
}

fn key(page: &str) -> String {
    format!("wiki:{page}")
}

/// The state of the page that a person has approved the change of, if one was asked.
pub(super) fn approved_state(page: &str, context: &Context) -> Option<String> {
    context.approved.as_ref().map(|approved| approved.get(&key(page)).cloned().unwrap_or_default())
}
