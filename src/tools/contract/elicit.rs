//! Elicitations: questions that a running call asks the person on whose behalf it runs.
//!
//! The call passes its question to the worker, which records it like an approval and passes the
//! answer on from the journal. If the node dies in the meantime, so does the call: its outcome is
//! unknown, and the elicitation is withdrawn.

use futures::FutureExt as _;
use std::{future::Future, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};

use crate::{
    journal::ids::CallId,
    texts::{self, Language},
};

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
}

/// Nobody can be asked.
impl Default for Elicitor {
    fn default() -> Self {
        Self { requests: None, language: Language::default(), open: watch::Sender::default() }
    }
}

impl Elicitor {
    pub fn reached_by(
        requests: mpsc::UnboundedSender<ElicitationRequest>,
        language: Language,
    ) -> Self {
        Self { requests: Some(requests), language, ..Self::default() }
    }

    /// Returns when the question is answered, declined or withdrawn.
    pub async fn ask(&self, call: &CallId, prompt: ElicitationPrompt) -> ElicitationAnswer {
        let Some(requests) = &self.requests else { return ElicitationAnswer::Nobody };
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
    /// not count.
    pub async fn bounded<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut open = self.open.subscribe();
        let over = async {
            let mut left = limit;
            while !left.is_zero() {
                () = open.wait_for(|open| *open == 0).map(drop).await;
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
    use std::future::pending;

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
