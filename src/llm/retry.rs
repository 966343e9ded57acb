//! Retries failed model requests within limits.

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use std::{sync::Arc, time::Duration};

use super::{Model, ModelError, OnText, Reply};
use crate::agent::prompt::Prompt;

/// The limits of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// The number of attempts, including the first one.
    pub attempts: usize,
    /// The total time of all delays.
    pub total: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { attempts: 5, total: Duration::from_mins(2) }
    }
}

/// How often a request is repeated after the provider failed internally or could not parse the
/// model's output. A second attempt often succeeds, further ones rarely do.
const OTHER_ATTEMPTS: usize = 2;

/// Retries after [`ModelError::Retry`] and, less often, after [`ModelError::Failed`] and
/// [`ModelError::MalformedCall`]. A failed answer has no effects, so repeating the request is safe.
pub struct Retrying {
    model: Arc<dyn Model>,
    limits: RetryLimits,
}

impl Retrying {
    pub fn new(model: Arc<dyn Model>, limits: RetryLimits) -> Self {
        Self { model, limits }
    }

    /// The next delay, at least as long as the provider requests. `None` if the limits forbid it.
    fn wait(&self, error: &ModelError, ours: Duration, spent: &mut RetryUsage) -> Option<Duration> {
        let wait = match error {
            ModelError::Retry { after, .. } => after.map_or(ours, |after| after.max(ours)),
            ModelError::Failed(_) | ModelError::MalformedCall(_) => {
                spent.other_attempts += 1;
                let is_malformed = matches!(error, ModelError::MalformedCall(_));
                let wait = if is_malformed { Duration::ZERO } else { ours };
                Some(wait).filter(|_| spent.other_attempts <= OTHER_ATTEMPTS)?
            }
            _ => return None,
        };
        spent.time = spent.time.saturating_add(wait);
        (spent.time <= self.limits.total).then_some(wait)
    }
}

/// What the attempts have used up.
#[derive(Debug, Default)]
struct RetryUsage {
    time: Duration,
    other_attempts: usize,
}

#[async_trait]
impl Model for Retrying {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn sees(&self) -> bool {
        self.model.sees()
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let delays = ExponentialBuilder::default()
            .with_min_delay(Duration::from_secs(1))
            .with_max_delay(Duration::from_secs(30))
            .with_max_times(self.limits.attempts.saturating_sub(1))
            .with_jitter();
        let mut spent = RetryUsage::default();
        (|| self.model.reply(prompt, on_text))
            .retry(delays)
            .when(|error| {
                matches!(
                    error,
                    ModelError::Retry { .. } | ModelError::Failed(_) | ModelError::MalformedCall(_)
                )
            })
            .adjust(|error, ours| self.wait(error, ours?, &mut spent))
            .notify(|error, wait| {
                tracing::warn!(
                    model.id = self.id(), wait_for = ?wait, %error,
                    "retrying a model request"
                );
                on_text("");
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{ScriptedModel, fail, say};
    use parking_lot::Mutex;

    fn prompt() -> Prompt {
        Prompt { system: String::new(), tools: vec![], messages: vec![], max_output_tokens: 1 }
    }

    fn busy(after: Option<u64>) -> ModelError {
        ModelError::Retry { after: after.map(Duration::from_secs), reason: "busy".into() }
    }

    async fn ask(
        model: &ScriptedModel,
        limits: RetryLimits,
    ) -> (Result<Reply, ModelError>, String) {
        let heard = Mutex::new(String::new());
        let hear = |piece: &str| {
            let mut heard = heard.lock();
            heard.push_str(if piece.is_empty() { "|" } else { piece });
        };
        let answer = Retrying::new(Arc::new(model.clone()), limits).reply(&prompt(), &hear).await;
        (answer, heard.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn an_overloaded_model_is_asked_again_and_the_text_starts_afresh() {
        let model = ScriptedModel::new("m");
        model.will(fail(busy(None))).will(fail(busy(None))).will(say("Here."));
        let (answer, heard) = ask(&model, RetryLimits::default()).await;
        assert_eq!(answer.expect("an answer").text, "Here.");
        assert_eq!(heard, "||Here.");
    }

    #[tokio::test(start_paused = true)]
    async fn retries_wait_as_long_as_the_provider_asks() {
        let model = ScriptedModel::new("m");
        model.will(fail(busy(Some(40)))).will(say("Here."));
        let begun = tokio::time::Instant::now();
        ask(&model, RetryLimits::default()).await.0.expect("an answer");
        assert!(begun.elapsed() >= Duration::from_secs(40));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_limit_is_not_started() {
        let model = ScriptedModel::new("m");
        model.will(fail(busy(Some(3600)))).will(say("Too late."));
        let begun = tokio::time::Instant::now();
        assert_eq!(ask(&model, RetryLimits::default()).await.0, Err(busy(Some(3600))));
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_tries_are_counted() {
        let model = ScriptedModel::new("m");
        for _ in 0..9 {
            model.will(fail(busy(None)));
        }
        let limits = RetryLimits { attempts: 3, total: Duration::from_mins(10) };
        assert_eq!(ask(&model, limits).await.0, Err(busy(None)));
        assert_eq!(model.prompts().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_errors_are_not_retried() {
        for error in [
            ModelError::Rejected("no".into()),
            ModelError::TooLong("long".into()),
            ModelError::TooLarge("large".into()),
            ModelError::Filtered("no".into()),
        ] {
            let model = ScriptedModel::new("m");
            model.will(fail(error.clone())).will(say("Never."));
            assert_eq!(ask(&model, RetryLimits::default()).await.0, Err(error));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_malformed_call_is_asked_for_again_at_once_and_a_failure_after_a_while() {
        for (error, waits) in [
            (ModelError::MalformedCall("no".into()), false),
            (ModelError::Failed("no".into()), true),
        ] {
            let model = ScriptedModel::new("m");
            for _ in 0..9 {
                model.will(fail(error.clone()));
            }
            let begun = tokio::time::Instant::now();
            assert_eq!(ask(&model, RetryLimits::default()).await.0, Err(error));
            assert_eq!(model.prompts().len(), 3);
            assert_eq!(begun.elapsed() > Duration::from_secs(1), waits);
        }
    }
}
