//! Falls back to the next model in a list.

use async_trait::async_trait;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;

use super::{Model, ModelError, OnText, Reply};
use crate::agent::prompt::Prompt;

/// How long a model that another one follows may take for all attempts while there is no text to
/// show: two thirds of the usual time of a turn, so that the next model has time left. A connection
/// on which a few bytes arrive now and then does not count as stalled. Reasoning and tool calls are
/// not shown, so a shorter time would end long ones.
const TEXT_WITHIN: Duration = Duration::from_mins(10);

/// Uses the first model, and the next one after an error, or if there is no text in time. Put
/// [`super::retry::Retrying`] inside, so that each model is retried first. Errors about the size of
/// the prompt are returned, because the caller has to shorten it.
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
        let mut answer = reply_in_time(self.first.as_ref(), prompt, on_text).await;
        for (index, model) in self.others.iter().enumerate() {
            match &answer {
                Ok(_) => break,
                Err(error) if error.is_size() => break,
                Err(error) => {
                    tracing::warn!(model.id = model.id(), %error, "falling back to the next model");
                }
            }
            on_text("");
            let is_last = index + 1 == self.others.len();
            answer = if is_last {
                model.reply(prompt, on_text).await
            } else {
                reply_in_time(model.as_ref(), prompt, on_text).await
            };
            if let Ok(reply) = &mut answer {
                reply.by.get_or_insert_with(|| model.id().to_owned());
            }
        }
        answer
    }
}

/// Asks a model that another one follows.
async fn reply_in_time(
    model: &dyn Model,
    prompt: &Prompt,
    on_text: &OnText<'_>,
) -> Result<Reply, ModelError> {
    let has_text = AtomicBool::new(false);
    let hear = |piece: &str| {
        // An empty piece means that the text starts again.
        has_text.store(!piece.is_empty(), Ordering::Release);
        on_text(piece);
    };
    let mut reply = model.reply(prompt, &hear);
    let in_time = timeout(TEXT_WITHIN, &mut reply).await;
    match in_time {
        Ok(answer) => answer,
        Err(_) if has_text.load(Ordering::Acquire) => reply.await,
        Err(_) => {
            let reason = format!("no text within {} s", TEXT_WITHIN.as_secs());
            Err(ModelError::Retry { after: None, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::pause,
        testing::scripted::{ScriptedModel, fail, say},
    };
    use tokio::time::Instant;

    /// A model whose answer takes long, with these pieces of text at its beginning.
    struct SlowModel {
        pieces: Vec<&'static str>,
        answers_after: Duration,
    }

    #[async_trait]
    impl Model for SlowModel {
        fn id(&self) -> &'static str {
            "slow"
        }

        async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
            for piece in &self.pieces {
                on_text(piece);
            }
            pause(self.answers_after).await;
            let model = ScriptedModel::new("slow");
            model.will(say("At last."));
            model.reply(prompt, &|_| {}).await
        }
    }

    /// The text of the answer, and how long it took.
    async fn ask_slow(pieces: Vec<&'static str>, minutes: u64) -> (String, Duration) {
        let slow = SlowModel { pieces, answers_after: Duration::from_mins(minutes) };
        let next = ScriptedModel::new("next");
        next.will(say("Here."));
        let prompt =
            Prompt { system: String::new(), tools: vec![], messages: vec![], max_output_tokens: 1 };
        let models = Failover::new(Arc::new(slow), vec![Arc::new(next)]);
        let begun = Instant::now();
        let answer = models.reply(&prompt, &|_| {}).await.expect("an answer");
        (answer.text, begun.elapsed())
    }

    /// Something may arrive all the time, so that the connection does not count as stalled.
    #[tokio::test(start_paused = true)]
    async fn the_next_model_answers_for_one_without_text_in_time() {
        for pieces in [vec![], vec!["Half an", ""]] {
            let (text, took) = ask_slow(pieces, 14).await;
            assert_eq!(text, "Here.");
            assert!((TEXT_WITHIN..Duration::from_mins(11)).contains(&took), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_shows_text_or_answers_in_time_is_not_cut_off() {
        for (pieces, minutes) in [(vec!["At"], 14), (vec![], 9)] {
            assert_eq!(ask_slow(pieces, minutes).await.0, "At last.");
        }
    }

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
