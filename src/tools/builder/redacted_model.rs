//! A model that does not receive what the operator keeps from models: the secrets of the configuration,
//! and text that `before_llm` hooks redact.

use async_trait::async_trait;
use std::sync::Arc;

use crate::{
    agent::{
        hooks::{Hook, redacted_prompt},
        prompt::Prompt,
        redact::Redactor,
    },
    llm::{Model, ModelError, OnText, Reply},
};

/// A model behind redaction. Hooks that stop or annotate are not run: they are about conversations.
pub struct RedactedModel {
    pub model: Arc<dyn Model>,
    pub hooks: Arc<[Hook]>,
    pub redactor: Redactor,
}

#[async_trait]
impl Model for RedactedModel {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn sees(&self) -> bool {
        self.model.sees()
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let prompt = redacted_prompt(&self.hooks, &self.redactor, prompt.clone());
        self.model.reply(&prompt, on_text).await
    }
}
