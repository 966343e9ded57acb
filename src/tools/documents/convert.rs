//! `convert_document`: makes a PDF of an Office file, as LibreOffice draws it in the sandbox.

use async_trait::async_trait;
use renderers::read::limits;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

use super::{
    TIMEOUT,
    editing::{ending, writable},
    office::Office,
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Rate, Subject, Tier, ToolSpec},
        paths::{absolute, normalise},
        policy::FileDigests,
    },
    journal::event::SeenFile,
    texts::{PreviewNote, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, file_binding},
    },
};

/// The files that LibreOffice converts.
const ENDINGS: [&str; 10] =
    ["docx", "doc", "odt", "rtf", "xlsx", "xls", "ods", "pptx", "ppt", "odp"];

/// `convert_document`
pub struct ConvertDocument {
    /// `None` if LibreOffice is not installed.
    pub office: Option<Arc<Office>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// Path of the .pdf file to write.
    path: String,
    /// Path of the Word, Excel, PowerPoint, OpenDocument or RTF file.
    from: String,
}

#[async_trait]
impl Tool for ConvertDocument {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::Idempotent,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Path("path")),
            reads: &["/from"],
            tier: Tier::Extension,
            timeout: TIMEOUT,
            rate: Some(Rate::new(20, 200)),
            ..ToolSpec::read_only(
                "convert_document",
                "Makes a PDF of a Word, Excel, PowerPoint, OpenDocument or RTF file of the \
                 workspace, and writes it there.",
                schema::<Arguments>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Paths { to: path, from } = match checked(arguments.clone()) {
            Ok(paths) => paths,
            Err(problem) => return Some(Preview::failure(problem)),
        };
        let preview = workspace::beneath(context, move |workspace, _| {
            let bytes = workspace.file(&from)?.size_bytes;
            let before = workspace.file(&path).ok();
            let target = before.map(|file| {
                Preview::note(PreviewNote::ReplacesFile { path, bytes: file.size_bytes })
            });
            Ok(target.unwrap_or_default().after(PreviewNote::MakesPdf { from, bytes }))
        });
        Some(preview.await.unwrap_or_else(Preview::failure))
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let Paths { from, .. } = checked(arguments.clone())?;
        workspace::beneath(context, move |ws, _| file_binding::bind(ws, &[from])).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Paths { to: path, from } = checked(arguments)?;
        let Some(office) = &self.office else {
            return Err(ToolError::ExecutionFailed(
                "LibreOffice is not installed here, so files cannot be converted: tell the \
                 operator to install it (apt-get install libreoffice-writer libreoffice-calc \
                 libreoffice-impress)"
                    .into(),
            ));
        };
        let kind = ending(&from);
        let source = from.clone();
        let bytes = workspace::beneath(context, move |workspace, _| {
            workspace.bytes(&source, limits::INPUT_BYTES as u64)
        })
        .await?;
        let failed = |why| {
            ToolError::ExecutionFailed(format!("LibreOffice could not convert {from}: {why}"))
        };
        let pdf = office.pdf(&kind, &bytes).await.map_err(failed)?;
        workspace::beneath(context, move |workspace, stop| {
            workspace.replace(&path, &pdf, stop)?;
            let receipt =
                json!({ "path": absolute(&path), "bytes_written": pdf.len(), "success": true });
            let digest = hex::encode(Sha256::digest(&pdf));
            let seen = vec![SeenFile { path, digest }];
            Ok(Output { seen, ..Output::text(receipt.to_string()) })
        })
        .await
    }
}

/// The normalised paths of the file to write and the file to read.
struct Paths {
    to: String,
    from: String,
}

fn checked(arguments: Value) -> Result<Paths, ToolError> {
    let it: Arguments = parse(arguments)?;
    let paths = Paths { to: writable(&it.path)?, from: normalise(&it.from)? };
    if ending(&paths.to) != "pdf" {
        return Err(ToolError::InvalidParameters("path must end with .pdf".into()));
    }
    if !ENDINGS.contains(&ending(&paths.from).as_str()) {
        return Err(ToolError::InvalidParameters(format!(
            "from must end with .{}",
            ENDINGS.join(", .")
        )));
    }
    Ok(paths)
}
