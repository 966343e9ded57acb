//! Elicitations: questions that a running call asks the person on whose behalf it runs.
//!
//! The call passes its question to the worker, which records it like an approval and passes the
//! answer on from the journal. If the node dies in the meantime, so does the call: its outcome is
//! unknown, and the elicitation is withdrawn.

use futures::FutureExt as _;
use std::{
    future::{Future, pending},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};

use crate::{
    journal::ids::CallId,
    texts::{self, Language},
};

/// The maximum number of questions of one call.
const MAX_PROMPTS: usize = 30;
/// For how long the limits of a call are suspended, in total, while it waits for people.
const SUSPENDED_FOR: Duration = Duration::from_mins(30);

/// One question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ElicitationPrompt {
    /// The name of the server that asks, as the server gives it.
    pub server: String,
    pub asked: texts::ElicitationText,
    /// The labels of its buttons; the answer is one of them.
    pub options: Vec<String>,
    /// Whether any text is an answer.
    pub typed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElicitationAnswer {
    Given(String),
    /// The person declined to answer.
    Declined,
    /// Nobody answered before the timeout.
    Nobody,
}

/// What a call passes to the worker.
#[derive(Debug)]
pub enum ElicitationRequest {
    Prompt(Box<Elicitation>),
    Notice(ElicitationNotice),
}

/// A question for a person.
#[derive(Debug)]
pub struct Elicitation {
    pub call: CallId,
    pub prompt: ElicitationPrompt,
    pub answer: oneshot::Sender<ElicitationAnswer>,
}

/// A text for a person that needs no answer.
#[derive(Debug)]
pub struct ElicitationNotice {
    pub call: CallId,
    pub markdown: String,
    /// Notified when it is recorded.
    pub recorded: oneshot::Sender<()>,
}

/// The people whom a call can ask.
#[derive(Debug, Clone)]
pub struct Elicitor {
    requests: Option<mpsc::UnboundedSender<ElicitationRequest>>,
    pub language: Language,
    /// The number of open questions of the call.
    open: watch::Sender<usize>,
    /// The number of its questions so far.
    asked: Arc<AtomicUsize>,
}

/// Nobody can be asked.
impl Default for Elicitor {
    fn default() -> Self {
        let (language, open, asked) = <_>::default();
        Self { requests: None, language, open, asked }
    }
}

impl Elicitor {
    pub fn reached_by(
        requests: mpsc::UnboundedSender<ElicitationRequest>,
        language: Language,
    ) -> Self {
        Self { requests: Some(requests), language, ..Self::default() }
    }

    /// Returns when the question is answered, declined or withdrawn. Nobody is asked any more if a
    /// call has too many.
    pub async fn ask(&self, call: &CallId, prompt: ElicitationPrompt) -> ElicitationAnswer {
        let Some(requests) = &self.requests else { return ElicitationAnswer::Nobody };
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MAX_PROMPTS {
            return ElicitationAnswer::Nobody;
        }
        let (answer, answered) = oneshot::channel();
        let elicitation = Box::new(Elicitation { call: call.clone(), prompt, answer });
        if requests.send(ElicitationRequest::Prompt(elicitation)).is_err() {
            return ElicitationAnswer::Nobody;
        }
        self.open.send_modify(|open| *open += 1);
        let _closed = Open(&self.open);
        answered.await.unwrap_or(ElicitationAnswer::Nobody)
    }

    /// Returns when the notice is recorded, or when nobody can be reached.
    pub async fn notify(&self, call: &CallId, markdown: String) {
        let Some(requests) = &self.requests else { return };
        let (recorded, done) = oneshot::channel();
        let notice = ElicitationNotice { call: call.clone(), markdown, recorded };
        if requests.send(ElicitationRequest::Notice(notice)).is_ok() {
            let _ = done.await;
        }
    }

    /// The result of `work`, if it completes within the limit; time spent waiting for people does
    /// not count, for half an hour at most.
    pub async fn bounded<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut open = self.open.subscribe();
        let over = async {
            let (mut left, mut suspended) = (limit, SUSPENDED_FOR);
            while !left.is_zero() {
                let begun = Instant::now();
                let answers = open.wait_for(|open| *open == 0).map(drop);
                if timeout(suspended, answers).await.is_err() {
                    let _ = timeout(left, pending::<()>()).await;
                    break;
                }
                suspended = suspended.saturating_sub(begun.elapsed());
                let begun = Instant::now();
                let asks = open.wait_for(|open| *open > 0).map(drop);
                if timeout(left, asks).await.is_err() {
                    break;
                }
                left = left.saturating_sub(begun.elapsed());
            }
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = over => None,
        }
    }
}

/// An open question, closed when dropped.
struct Open<'p>(&'p watch::Sender<usize>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time limit of a call is paused while it waits for a person.
    #[tokio::test(start_paused = true)]
    async fn the_time_for_which_people_are_waited_for_does_not_count() {
        let (requests, mut received) = mpsc::unbounded_channel();
        let people = Elicitor::reached_by(requests, Language::English);
        let (limit, begun) = (Duration::from_secs(10), Instant::now());
        let work = async {
            let _ = timeout(Duration::from_secs(4), pending::<()>()).await;
            let given = people.ask(&"c".into(), ElicitationPrompt::default()).await;
            assert_eq!(given, ElicitationAnswer::Given("red".into()));
            pending::<()>().await;
        };
        let person = async {
            let Some(ElicitationRequest::Prompt(elicitation)) = received.recv().await else {
                panic!("a question");
            };
            let _ = timeout(Duration::from_secs(100), pending::<()>()).await;
            elicitation
                .answer
                .send(ElicitationAnswer::Given("red".into()))
                .expect("somebody waits");
        };
        let (ended, ()) = tokio::join!(people.bounded(limit, work), person);
        assert_eq!((ended, begun.elapsed().as_secs()), (None, 110));
    }

    /// A call that always waits for a person ends nevertheless.
    #[tokio::test(start_paused = true)]
    async fn waiting_for_people_suspends_a_limit_for_a_limited_time() {
        let (requests, _received) = mpsc::unbounded_channel();
        let people = Elicitor::reached_by(requests, Language::English);
        let (limit, begun, call) = (Duration::from_secs(10), Instant::now(), CallId::from("c"));
        let first = people.ask(&call, ElicitationPrompt::default());
        let work = async {
            let _ = timeout(Duration::from_mins(25), first).await;
            // Answers are no reason to wait again for as long.
            let _ = timeout(Duration::from_secs(4), pending::<()>()).await;
            people.ask(&call, ElicitationPrompt::default()).await
        };
        let ended = people.bounded(limit, work).await;
        let expected = SUSPENDED_FOR + limit;
        assert_eq!((ended, begun.elapsed().as_secs()), (None, expected.as_secs()));
    }

    /// After too many questions, a call continues without asking.
    #[tokio::test]
    async fn a_call_asks_a_limited_number_of_times() {
        let (requests, mut received) = mpsc::unbounded_channel();
        let people = Elicitor::reached_by(requests, Language::English);
        let call = CallId::from("c");
        for n in 0..MAX_PROMPTS + 5 {
            let is_asked = n < MAX_PROMPTS;
            let person = async {
                if !is_asked {
                    return;
                }
                let Some(ElicitationRequest::Prompt(elicitation)) = received.recv().await else {
                    panic!("a question");
                };
                elicitation.answer.send(ElicitationAnswer::Declined).expect("somebody waits");
            };
            let asks = people.ask(&call, ElicitationPrompt::default());
            let (given, ()) = tokio::join!(asks, person);
            let expected =
                if is_asked { ElicitationAnswer::Declined } else { ElicitationAnswer::Nobody };
            assert_eq!(given, expected, "{n}");
        }
        assert!(received.try_recv().is_err());
    }

    /// A call does not wait if nobody can be asked.
    #[tokio::test]
    async fn an_elicitation_does_not_wait_where_nobody_can_be_asked() {
        let nobody = Elicitor::default().ask(&"c".into(), ElicitationPrompt::default()).await;
        assert_eq!(nobody, ElicitationAnswer::Nobody);
        Elicitor::default().notify(&"c".into(), "A notice".into()).await;
        let (requests, received) = mpsc::unbounded_channel();
        drop(received);
        let people = Elicitor::reached_by(requests, Language::English);
        people.notify(&"c".into(), "A notice".into()).await;
        assert_eq!(
            people.ask(&"c".into(), ElicitationPrompt::default()).await,
            ElicitationAnswer::Nobody
        );
    }
}
