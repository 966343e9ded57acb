//! Reads documents in the sandbox. LibreOffice converts those of Microsoft Office before 2007.

use renderers::read::{Reading, kind::OldFormat};
use sandbox::Sandbox;
use secrecy::SecretString;

use super::office::{ConversionError, Office};
use crate::tools::{ToolError, workspace::confined_reader};

/// Reads documents.
pub struct DocumentReader<'a> {
    pub sandbox: &'a Sandbox,
    /// The passwords that are tried for protected documents.
    pub passwords: &'a [SecretString],
    /// `None` if LibreOffice is not installed.
    pub office: Option<&'a Office>,
}

impl DocumentReader<'_> {
    /// Reads a document. If the contents do not determine the format, the name does.
    pub async fn read(&self, name: &str, bytes: &[u8]) -> Result<Reading, ToolError> {
        match OldFormat::of(name, bytes) {
            None => self.read_as_it_is(name, bytes).await,
            // Most workbooks can be read without LibreOffice.
            Some(OldFormat::Excel) => match self.read_as_it_is(name, bytes).await {
                Err(problem) => {
                    self.convert(name, bytes, OldFormat::Excel).await.map_err(|_| problem)
                }
                reading => reading,
            },
            Some(format) => self.convert(name, bytes, format).await,
        }
    }

    async fn read_as_it_is(&self, name: &str, bytes: &[u8]) -> Result<Reading, ToolError> {
        confined_reader::document(self.sandbox, name, bytes, self.passwords).await
    }

    /// Reads what LibreOffice makes of the document.
    async fn convert(
        &self,
        name: &str,
        bytes: &[u8],
        format: OldFormat,
    ) -> Result<Reading, ToolError> {
        let (old, new) = (format.ending(), format.new_ending());
        let converted = match self.office {
            Some(office) => office.convert(old, new, bytes).await,
            None => Err(ConversionError::Failed),
        };
        let converted = converted
            .map_err(|why| ToolError::ExecutionFailed(self.not_converted(name, format, why)))?;
        let mut reading = self.read_as_it_is(&format!("{name}.{new}"), &converted).await?;
        reading.warnings.push(format!("LibreOffice converted it from .{old} to .{new}."));
        Ok(reading)
    }

    /// The reason why there is no text, and what to do about it.
    fn not_converted(&self, name: &str, format: OldFormat, why: ConversionError) -> String {
        let (program, package) = match format {
            OldFormat::Word => ("Word", "libreoffice-writer"),
            OldFormat::Excel => ("Excel", "libreoffice-calc"),
            OldFormat::PowerPoint => ("PowerPoint", "libreoffice-impress"),
        };
        let why = match (self.office, self.sandbox.missing()) {
            (None, Some(missing)) => format!("which LibreOffice has to convert, but {missing}"),
            (office, _) if Office::packages(office).contains(&package) => format!(
                "which LibreOffice has to convert, but it is not installed here: tell the operator \
                 to install it (apt-get install {package})"
            ),
            _ => format!("which LibreOffice could not convert: {why}"),
        };
        format!(
            "{name} was not read: it is a {program} file from before 2007, {why}. Saved as .{}, it \
             could be read.",
            format.new_ending()
        )
    }
}
