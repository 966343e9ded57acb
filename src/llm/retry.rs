//! Retries failed model requests within limits.

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

use super::{Model, ModelError, OnText, Reply};
use crate::agent::prompt::Prompt;

/// The limits of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// The number of attempts, including the first one.
    pub attempts: usize,
    /// How long after the first attempt has begun the last one may begin.
    pub total: Duration,
    /// Whether another model is asked next. Without one, a model that takes longer than `total` for
    /// an attempt gets another one all the same.
    pub has_fallback: bool,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { attempts: 5, total: Duration::from_mins(2), has_fallback: false }
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
        spent.admits(wait, &self.limits).then_some(wait)
    }
}

/// What the attempts have used up.
#[derive(Debug)]
struct RetryUsage {
    began_at: Instant,
    attempt_began_at: Instant,
    other_attempts: usize,
    /// Whether an attempt has begun later than the limits allow.
    is_late: bool,
}

impl RetryUsage {
    fn new() -> Self {
        let now = Instant::now();
        Self { began_at: now, attempt_began_at: now, other_attempts: 0, is_late: false }
    }

    /// Whether another attempt may begin after this wait.
    fn admits(&mut self, wait: Duration, limits: &RetryLimits) -> bool {
        if wait > limits.total {
            return false;
        }
        if self.began_at.elapsed() + wait > limits.total {
            let has_stalled = self.attempt_began_at.elapsed() >= limits.total;
            if limits.has_fallback || self.is_late || !has_stalled {
                return false;
            }
            self.is_late = true;
        }
        self.attempt_began_at = Instant::now() + wait;
        true
    }
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
        let mut spent = RetryUsage::new();
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
    use crate::{
        clock::pause,
        llm::{failover::Failover, vendor::Timeouts},
        testing::scripted::{ScriptedModel, fail, say},
    };
    use parking_lot::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
        let total = Duration::from_mins(10);
        let limits = RetryLimits { attempts: 3, total, ..RetryLimits::default() };
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

    /// A model that does not answer, until each request ends with a timeout.
    struct SilentModel {
        times_out_after: Duration,
        asked: AtomicUsize,
    }

    impl SilentModel {
        fn new(times_out_after: Duration) -> Arc<Self> {
            Arc::new(Self { times_out_after, asked: AtomicUsize::new(0) })
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }
    }

    #[async_trait]
    impl Model for SilentModel {
        fn id(&self) -> &'static str {
            "silent"
        }

        async fn reply(&self, _: &Prompt, _: &OnText<'_>) -> Result<Reply, ModelError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            pause(self.times_out_after).await;
            Err(busy(None))
        }
    }

    /// The timeouts before an answer begins and in the middle of one.
    fn stalls() -> [Duration; 2] {
        let Timeouts { headers, read, .. } = Timeouts::default();
        [headers, read]
    }

    #[tokio::test(start_paused = true)]
    async fn a_fallback_is_asked_as_soon_as_a_model_has_stalled() {
        for times_out_after in stalls() {
            let (silent, spare) = (SilentModel::new(times_out_after), ScriptedModel::new("spare"));
            spare.will(say("Here."));
            let limits = RetryLimits { has_fallback: true, ..RetryLimits::default() };
            let retrying = Retrying::new(silent.clone(), limits);
            let models = Failover::new(Arc::new(retrying), vec![Arc::new(spare)]);
            let begun = Instant::now();
            let answer = models.reply(&prompt(), &|_| {}).await.expect("an answer");
            assert_eq!(answer.by.as_deref(), Some("spare"));
            assert!(begun.elapsed() < Duration::from_mins(4), "{:?}", begun.elapsed());
            assert_eq!(silent.asked(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_fallback_a_model_that_stalls_is_asked_once_more() {
        for times_out_after in stalls() {
            let silent = SilentModel::new(times_out_after);
            let retrying = Retrying::new(silent.clone(), RetryLimits::default());
            let begun = Instant::now();
            assert_eq!(retrying.reply(&prompt(), &|_| {}).await, Err(busy(None)));
            assert_eq!(silent.asked(), 2);
            assert!(begun.elapsed() < Duration::from_mins(7), "{:?}", begun.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_attempts_counts() {
        let silent = SilentModel::new(Duration::from_secs(45));
        let retrying = Retrying::new(silent.clone(), RetryLimits::default());
        assert_eq!(retrying.reply(&prompt(), &|_| {}).await, Err(busy(None)));
        assert_eq!(silent.asked(), 3, "the third one begins after a minute and a half");
    }
}
