//! The elements of a page, and the references that name them.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use crate::tools::ToolError;

/// A document in a frame of the page.
#[derive(Debug, Clone)]
pub struct FrameDocument {
    pub frame: String,
    /// Identifies the document: another one in the same frame has another.
    pub loader: String,
    pub address: String,
}

/// An element that a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageElement {
    pub node: i64,
    pub role: String,
    pub name: String,
    /// Where a link leads.
    pub link: Option<String>,
    pub frame: String,
    pub loader: String,
    /// The address of the document that it is in.
    pub address: String,
}

/// The elements of the last snapshot by reference.
#[derive(Debug, Default)]
pub struct References {
    pub(super) elements: BTreeMap<String, PageElement>,
    last: u32,
}

impl References {
    /// The reference of an element: the same as in the last snapshot, or a new one.
    pub(super) fn of(
        &mut self,
        element: &PageElement,
        before: &BTreeMap<(String, i64), String>,
    ) -> String {
        let key = (element.loader.clone(), element.node);
        before.get(&key).cloned().unwrap_or_else(|| {
            self.last += 1;
            format!("e{}", self.last)
        })
    }

    pub fn find(&self, reference: &str) -> Result<&PageElement, ToolError> {
        let reference = reference.trim().trim_start_matches('@');
        self.elements.get(reference).ok_or_else(|| {
            ToolError::ExecutionFailed(format!(
                "There is no element {reference} in the last snapshot: take a new snapshot"
            ))
        })
    }
}

impl PageElement {
    /// Its identity, which an approval is bound to.
    pub fn digest(&self, page: &str) -> String {
        let identity = json!([
            page,
            self.frame,
            self.loader,
            self.address,
            self.node,
            self.role,
            self.name,
            self.link,
        ]);
        hex::encode(Sha256::digest(identity.to_string()))
    }
}
