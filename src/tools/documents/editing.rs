//! Tools that change existing files: `fill_template`, `edit_workbook`, `edit_document`, `edit_pdf`.
//! The files are parsed in the rendering process; the approval shows what would change.

use async_trait::async_trait;
use channels::text::escape;
use parking_lot::Mutex;
use renderers::{
    edit::{Edited, diff},
    read::limits,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, sync::Arc};
use tokio_util::sync::CancellationToken;

use super::{
    TIMEOUT,
    blob::Blob,
    edit_arguments::{self, EditPlan},
    edit_protocol::{DocumentEdit, EditRequest},
    pool::RenderPool,
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Rate, Subject, Tier, ToolSpec},
        paths::{absolute, normalise},
        policy::FileDigests,
    },
    journal::event::SeenFile,
    texts::{
        PreviewNote,
        preview::{Block, Preview},
    },
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::schema,
        workspace::{self, Workspace, file_binding},
    },
};

/// As for `write_file`.
const RATE: Option<Rate> = Some(Rate::new(20, 200));

/// The number of lines of changes that an approval shows.
const SHOWN_LINES: usize = 120;
const LINE_CHARS: usize = 300;

/// The number of warnings and files in a result.
const LISTED: usize = 20;

/// The tools that edit files with this pool.
pub fn tools(pool: &Arc<RenderPool>) -> [Arc<dyn Tool>; 4] {
    let writing = Arc::new(Mutex::new(()));
    let tool = |kind: EditKind| {
        let (pool, writing) = (pool.clone(), writing.clone());
        Arc::new(EditTool { kind, pool, writing }) as Arc<dyn Tool>
    };
    let kinds = [EditKind::Template, EditKind::Workbook, EditKind::Document, EditKind::Pdf];
    kinds.map(tool)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditKind {
    Template,
    Workbook,
    Document,
    Pdf,
}

struct EditTool {
    kind: EditKind,
    pool: Arc<RenderPool>,
    /// Held while files are compared and written.
    writing: Arc<Mutex<()>>,
}

/// New files by path, and the state of the files that they were made from.
struct Made {
    files: BTreeMap<String, Edited>,
    sources: BTreeMap<String, String>,
}

#[async_trait]
impl Tool for EditTool {
    fn spec(&self) -> ToolSpec {
        let (name, about, parameters) = match self.kind {
            EditKind::Template => (
                "fill_template",
                "Fills the fields of a Word or PowerPoint template, such as {{name}}, and writes \
                 the result as a file of the workspace; with a list, one file for each row. \
                 {{#items}} and {{/items}} around table rows or paragraphs repeat them.",
                schema::<edit_arguments::FillTemplate>(),
            ),
            EditKind::Workbook => (
                "edit_workbook",
                "Changes an Excel workbook of the workspace: sets cells, appends rows to a sheet \
                 or table, adds sheets. Formats, charts and everything else stay.",
                schema::<edit_arguments::EditWorkbook>(),
            ),
            EditKind::Document => (
                "edit_document",
                "Changes a Word document of the workspace: replaces text, sets table cells, adds \
                 and removes table rows and paragraphs, as tracked changes on request. Everything \
                 else stays.",
                schema::<edit_arguments::EditDocument>(),
            ),
            EditKind::Pdf => (
                "edit_pdf",
                "Changes PDFs of the workspace: merges files, takes out pages, rotates pages, \
                 fills form fields, adds a watermark or page numbers.",
                schema::<edit_arguments::EditPdf>(),
            ),
        };
        // A template stays as it is, so filling it twice gives the same files.
        let effect = match self.kind {
            EditKind::Template => EffectClass::Idempotent,
            _ => EffectClass::AtMostOnce,
        };
        let reads: &[&str] = match self.kind {
            EditKind::Template => &["/template", "/list"],
            EditKind::Workbook | EditKind::Document => &["/from"],
            EditKind::Pdf => &["/files/*/path"],
        };
        ToolSpec {
            effect,
            reads,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Path("path")),
            tier: Tier::Extension,
            timeout: TIMEOUT,
            rate: RATE,
            // The result names fields, sheets and columns of the file.
            untrusted: true,
            ..ToolSpec::read_only(name, about, parameters)
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let made = async {
            let plan = self.plan(arguments.clone(), context)?;
            let made = self.made(plan, context).await?;
            workspace::beneath(context, move |workspace, _| Ok(shown(workspace, &made))).await
        };
        Some(made.await.unwrap_or_else(Preview::failure))
    }

    /// The files that are read; the subject is the file that is written.
    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let sources = self.plan(arguments.clone(), context)?.sources;
        workspace::beneath(context, move |ws, _| file_binding::bind(ws, &sources)).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let plan = self.plan(arguments, context)?;
        let made = self.made(plan, context).await?;
        let writing = self.writing.clone();
        workspace::beneath(context, move |workspace, stop| {
            let _writing = writing.lock();
            write(workspace, &made, stop)?;
            Ok(receipt(&made))
        })
        .await
    }
}

impl EditTool {
    /// The files and the edit of a call, with normalised paths.
    fn plan(&self, arguments: Value, context: &Context) -> Result<EditPlan, ToolError> {
        let mut plan = match self.kind {
            EditKind::Template => edit_arguments::template(arguments),
            EditKind::Workbook => edit_arguments::workbook(arguments),
            EditKind::Document => edit_arguments::document(arguments, context),
            EditKind::Pdf => edit_arguments::pdf(arguments),
        }?;
        plan.path = writable(&plan.path)?;
        for source in &mut plan.sources {
            *source = normalise(source)?;
        }
        if self.kind == EditKind::Template && plan.sources.contains(&plan.path) {
            return Err(ToolError::InvalidParameters(
                "path is the template or the list, which must stay: name another file".into(),
            ));
        }
        let endings: &[&str] = match self.kind {
            EditKind::Template => &["docx", "pptx"],
            EditKind::Workbook => &["xlsx"],
            EditKind::Document => &["docx"],
            EditKind::Pdf => &["pdf"],
        };
        let ending = ending(&plan.path);
        let is_other = ending != self::ending(&plan.sources[0]);
        if !endings.contains(&ending.as_str()) || is_other {
            let endings = endings.join(" or .");
            return Err(ToolError::InvalidParameters(format!(
                "path must end with .{endings}, as the file that is edited"
            )));
        }
        Ok(plan)
    }

    /// Makes the new files, without writing them.
    async fn made(&self, plan: EditPlan, context: &Context) -> Result<Made, ToolError> {
        let names = plan.sources.clone();
        let sources = workspace::beneath(context, move |workspace, _| {
            let mut left = limits::INPUT_BYTES as u64;
            let mut read = Vec::new();
            for name in names {
                let bytes = workspace.bytes(&name, left)?;
                left -= bytes.len() as u64;
                read.push(bytes);
            }
            Ok(read)
        })
        .await?;
        let states = plan.sources.into_iter().zip(sources.iter().map(|bytes| digest(bytes)));
        let states = states.collect();
        let is_merge = matches!(&plan.edit, DocumentEdit::Template(filling)
            if filling.rows.is_some() || filling.list.is_some());
        let files = sources.into_iter().map(Blob).collect();
        let edited = self.pool.edit(EditRequest { files, edit: plan.edit }).await?;
        let folder = plan.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut made = BTreeMap::new();
        for file in edited {
            let path = match &file.name {
                Some(name) if is_merge && folder.is_empty() => writable(name)?,
                Some(name) if is_merge => writable(&format!("{folder}/{name}"))?,
                _ => plan.path.clone(),
            };
            made.insert(path, file);
        }
        Ok(Made { files: made, sources: states })
    }
}

/// The normalised path of a file that may be written.
pub(super) fn writable(path: &str) -> Result<String, ToolError> {
    let path = normalise(path)?;
    if path.split('/').next() == Some(".countersign") {
        return Err(ToolError::ExecutionFailed(format!("Path not allowed: {path}")));
    }
    Ok(path)
}

pub(super) fn ending(path: &str) -> String {
    path.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The contents of a file that is there already.
fn present(workspace: &Workspace, path: &str) -> Option<Vec<u8>> {
    workspace.bytes(path, 2 * limits::INPUT_BYTES as u64).ok()
}

/// What would change, for people.
fn shown(workspace: &Workspace, made: &Made) -> Preview {
    let mut lines = String::new();
    let is_one = made.files.len() == 1;
    for (path, file) in &made.files {
        if !is_one {
            lines.extend(["+++ ", path, "\n"]);
        }
        lines += &diff(&file.changes);
    }
    let mut notes = Vec::new();
    for (path, file) in &made.files {
        let before = present(workspace, path).map(|bytes| bytes.len());
        match before {
            _ if !is_one => {}
            Some(before) => notes.push(PreviewNote::ReplacesBy {
                path: path.clone(),
                before,
                after: file.bytes.len(),
            }),
            None => notes.push(PreviewNote::Creates { path: path.clone() }),
        }
        notes.extend(file.warnings.iter().map(|warning| PreviewNote::Markdown(escape(warning))));
    }
    if !is_one {
        notes.insert(0, PreviewNote::CreatesFiles { count: made.files.len() });
    }
    if lines.is_empty() {
        notes.push(PreviewNote::Unchanged);
    }
    let block = Block { language: "diff", text: lines, lines: SHOWN_LINES, line_chars: LINE_CHARS };
    let preview = if block.text.is_empty() { Preview::default() } else { Preview::block(block) };
    notes.into_iter().rev().fold(preview, Preview::after)
}

/// Writes the files, unless a file that they were made from has changed since. Several files never
/// replace others.
fn write(workspace: &Workspace, made: &Made, stop: &CancellationToken) -> Result<(), ToolError> {
    for (path, state) in &made.sources {
        if present(workspace, path).map(|bytes| digest(&bytes)).as_ref() != Some(state) {
            return Err(ToolError::ExecutionFailed(format!(
                "{path} has changed while it was edited, and nothing was written: make the call \
                 again"
            )));
        }
    }
    if made.files.values().any(|file| file.name.is_some()) {
        for (path, file) in &made.files {
            if present(workspace, path).is_some_and(|before| before != file.bytes) {
                return Err(ToolError::ExecutionFailed(format!(
                    "{path} exists already, and nothing was written: choose another folder or name"
                )));
            }
        }
    }
    made.files.iter().try_for_each(|(path, file)| workspace.replace(path, &file.bytes, stop))
}

fn receipt(made: &Made) -> Output {
    let files: Vec<_> = made.files.iter().take(LISTED).map(|(path, file)| {
        json!({ "path": absolute(path), "bytes_written": file.bytes.len(), "changes": file.changes.len() })
    }).collect();
    let mut receipt = json!({ "files": files, "success": true });
    if made.files.len() > LISTED {
        receipt["more_files"] = (made.files.len() - LISTED).into();
    }
    let warnings: Vec<_> =
        made.files.values().flat_map(|file| &file.warnings).take(LISTED).collect();
    if !warnings.is_empty() {
        receipt["warnings"] = json!(warnings);
    }
    let seen = made
        .files
        .iter()
        .map(|(path, file)| SeenFile { path: path.clone(), digest: digest(&file.bytes) });
    Output { seen: seen.collect(), ..Output::text(receipt.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use renderers::{Format, markdown, render};

    fn tool(kind: EditKind) -> EditTool {
        EditTool { kind, pool: Arc::new(RenderPool::real()), writing: Arc::default() }
    }

    fn file(text: &str, format: Format) -> Vec<u8> {
        render(&markdown::read(text).unwrap(), format).unwrap().bytes
    }

    fn text(place: &ToolFixture, name: &str) -> String {
        let bytes = std::fs::read(place.path(name)).unwrap();
        renderers::read::to_markdown(name, &bytes).unwrap().markdown
    }

    #[tokio::test]
    async fn word_files_are_edited_in_place_or_as_a_copy() {
        let mut place = ToolFixture::new();
        place.has("a.docx", file("A boat.\n\n| Day |\n|---|\n| Monday |\n", Format::Docx));
        let edit = json!({
            "path": "b/new.docx",
            "from": "a.docx",
            "replacements": [{ "old": "boat", "new": "ship" }],
            "newRows": [{ "table": 1, "cells": ["Sunday"] }, { "table": 1, "after": 1, "cells": ["First"] }],
            "removedRows": [{ "table": 1, "row": 2 }],
            "newParagraphs": [{ "after": "A ship", "text": "One." }, { "after": "A ship", "text": "Two." }],
        });
        let output = place.runs(&tool(EditKind::Document), edit.clone()).await.unwrap();
        assert!(output.text.contains("\"path\":\"/workspace/b/new.docx\""), "{}", output.text);
        assert_eq!(output.seen[0].path, "b/new.docx");
        let read = text(&place, "b/new.docx");
        assert!(read.starts_with("A ship.\n\nOne.\n\nTwo."), "{read}");
        let (first, last) = (read.find("First").unwrap(), read.find("Sunday").unwrap());
        assert!(first < last && !read.contains("Monday"), "{read}");
        assert!(text(&place, "a.docx").contains("A boat."));
        let tracked = json!({
            "path": "a.docx", "tracked": true, "replacements": [{ "old": "boat", "new": "ship" }]
        });
        let preview = tool(EditKind::Document).preview(&tracked, &place.context).await.unwrap();
        assert!(preview.shown().contains("-A boat.\n+A ship."), "{}", preview.shown());
        assert!(text(&place, "a.docx").contains("A boat."), "a preview changes nothing");
        place.runs(&tool(EditKind::Document), tracked).await.unwrap();
        let bytes = std::fs::read(place.path("a.docx")).unwrap();
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let mut xml = String::new();
        let mut part = zip.by_name("word/document.xml").unwrap();
        std::io::Read::read_to_string(&mut part, &mut xml).unwrap();
        assert!(xml.contains("w:author=\"Countersign\" w:date=\"2026-04-11T12:30:22Z\""), "{xml}");
    }

    #[tokio::test]
    async fn only_files_of_the_workspace_with_the_right_ending_are_written() {
        let mut place = ToolFixture::new();
        place.has("a.xlsx", file("| A |\n|---|\n| 1 |\n", Format::Xlsx));
        let cells = json!({ "B9": 5 });
        for (path, from) in [
            ("../x.xlsx", "a.xlsx"),
            ("b.xlsx", "../a.xlsx"),
            ("b.docx", "a.xlsx"),
            ("b.xlsx", "none.xlsx"),
            (".countersign/b.xlsx", "a.xlsx"),
        ] {
            let edit = json!({ "path": path, "from": from, "cells": cells });
            assert!(place.runs(&tool(EditKind::Workbook), edit).await.is_err(), "{path} {from}");
        }
        let edit = json!({ "path": "a.xlsx", "cells": cells });
        place.runs(&tool(EditKind::Workbook), edit).await.unwrap();
        assert!(text(&place, "a.xlsx").contains('5'), "{}", text(&place, "a.xlsx"));
        for (kind, nothing) in [
            (EditKind::Workbook, json!({ "path": "a.xlsx" })),
            (EditKind::Document, json!({ "path": "a.docx" })),
            (EditKind::Pdf, json!({ "path": "a.pdf" })),
            (EditKind::Template, json!({ "path": "a.docx", "template": "a.docx" })),
            (EditKind::Template, json!({ "path": "./a.docx", "template": "a.docx" })),
            (EditKind::Template, json!({ "path": "a.docx", "template": "/workspace/a.docx" })),
            (EditKind::Template, json!({ "path": "/workspace//a.docx", "template": "./a.docx" })),
        ] {
            let error = tool(kind).run(nothing, &place.context).await.unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{kind:?}: {error}");
        }
    }

    /// A file that changes during an edit is not overwritten.
    #[tokio::test]
    async fn a_file_that_changed_meanwhile_is_kept() {
        let place = ToolFixture::new();
        place.has("a.pdf", file("one", Format::Pdf));
        let edit = json!({ "path": "a.pdf", "pageNumbers": true });
        let tool = tool(EditKind::Pdf);
        let plan = tool.plan(edit, &place.context).unwrap();
        let made = tool.made(plan, &place.context).await.unwrap();
        place.has("a.pdf", "other");
        let workspace = Workspace::open(&place.context.workspace).unwrap();
        let error = write(&workspace, &made, &CancellationToken::new()).unwrap_err().to_string();
        assert!(error.contains("has changed while it was edited"), "{error}");
        assert_eq!(place.content("a.pdf"), "other");
    }

    /// As for `write_file`; what is not repeatable is not repeated.
    #[test]
    fn edits_need_an_approval_and_are_limited() {
        for kind in [EditKind::Template, EditKind::Workbook, EditKind::Document, EditKind::Pdf] {
            let spec = tool(kind).spec();
            assert_eq!(spec.approval, ApprovalMode::UnlessAllowed);
            assert_eq!(spec.subject, Some(Subject::Path("path")));
            assert_eq!((spec.rate, spec.tier), (RATE, Tier::Extension));
            let repeats = spec.effect == EffectClass::Idempotent;
            assert_eq!(repeats, kind == EditKind::Template, "{kind:?}");
        }
    }
}
