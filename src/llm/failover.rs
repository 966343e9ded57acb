//! Falls back to the next model in a list.

use async_trait::async_trait;
use std::sync::Arc;

use super::{Model, ModelError, OnText, Reply};
use crate::agent::prompt::Prompt;

/// Uses the first model, and after an error the next one. Put [`super::retry::Retrying`] inside, so
/// that each model is retried first. Errors about the size of the prompt are returned, because the
/// caller has to shorten it.
pub struct Failover {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
}

impl Failover {
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self { first, others }
    }
}

#[async_trait]
impl Model for Failover {
    fn id(&self) -> &str {
        self.first.id()
    }

    /// Prompts for models that do not support images have lines of text instead of pictures.
    fn sees(&self) -> bool {
        self.first.sees() || self.others.iter().any(|model| model.sees())
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let mut answer = self.first.reply(prompt, on_text).await;
        for model in &self.others {
            match &answer {
                Ok(_) => break,
                Err(error) if error.is_size() => break,
                Err(error) => {
                    tracing::warn!(model.id = model.id(), %error, "falling back to the next model");
                }
            }
            on_text("");
            answer = model.reply(prompt, on_text).await;
            if let Ok(reply) = &mut answer {
                reply.by.get_or_insert_with(|| model.id().to_owned());
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{ScriptedModel, fail, say};

    async fn ask(first: ModelError) -> Result<Reply, ModelError> {
        let (one, two) = (ScriptedModel::new("one"), ScriptedModel::new("two"));
        one.will(fail(first));
        two.will(say("Here."));
        let prompt =
            Prompt { system: String::new(), tools: vec![], messages: vec![], max_output_tokens: 1 };
        Failover::new(Arc::new(one), vec![Arc::new(two)]).reply(&prompt, &|_| {}).await
    }

    #[tokio::test]
    async fn the_next_model_answers_for_one_that_does_not() {
        let refused = ask(ModelError::Rejected("no key".into())).await;
        let answer = refused.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.by.as_deref()), ("Here.", Some("two")));
        let busy = ask(ModelError::Retry { after: None, reason: "busy".into() }).await;
        assert_eq!(busy.expect("an answer").text, "Here.");
    }

    #[tokio::test]
    async fn a_prompt_that_is_too_long_goes_back_to_the_caller() {
        for error in [ModelError::TooLong("long".into()), ModelError::TooLarge("large".into())] {
            assert_eq!(ask(error.clone()).await, Err(error));
        }
    }
}
