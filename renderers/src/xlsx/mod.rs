//! xlsx: not drawn yet.

use crate::{Document, RenderError, Rendered};

pub fn render(_document: &Document) -> Result<Rendered, RenderError> {
    Err(RenderError::Invalid("this format is not drawn yet".into()))
}
