//! What a call wants to know of the person for whom it runs, while it runs.
//!
//! The call hands its question to the worker, who writes it down like any other, and gets what the
//! journal says of it. If the node dies meanwhile, the call has died with it: what came of it is
//! unknown, as ever, and its question is withdrawn.

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

/// One thing to be known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// Who wants to know, as it calls itself.
    pub server: String,
    pub asked: texts::Asked,
    /// What its buttons say; the answer is what one of them says.
    pub options: Vec<String>,
    /// Whether any text is an answer.
    pub typed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Given(String),
    /// The person does not want to say.
    Declined,
    /// Nobody was there, in time.
    Nobody,
}

/// A question on its way to the worker.
#[derive(Debug)]
pub struct Wish {
    pub call: CallId,
    pub question: Question,
    pub answer: oneshot::Sender<Answer>,
}

/// Whom a call can ask.
#[derive(Debug, Clone)]
pub struct People {
    wishes: Option<mpsc::UnboundedSender<Wish>>,
    pub language: Language,
    /// How many questions of the call are open.
    open: watch::Sender<usize>,
}

/// Nobody.
impl Default for People {
    fn default() -> Self {
        Self { wishes: None, language: Language::default(), open: watch::Sender::default() }
    }
}

impl People {
    pub fn reached_by(wishes: mpsc::UnboundedSender<Wish>, language: Language) -> Self {
        Self { wishes: Some(wishes), language, ..Self::default() }
    }

    /// Returns when it is answered, declined, or not wanted any more.
    pub async fn ask(&self, call: &CallId, question: Question) -> Answer {
        let Some(wishes) = &self.wishes else { return Answer::Nobody };
        let (answer, answered) = oneshot::channel();
        if wishes.send(Wish { call: call.clone(), question, answer }).is_err() {
            return Answer::Nobody;
        }
        self.open.send_modify(|open| *open += 1);
        let _closed = Open(&self.open);
        answered.await.unwrap_or(Answer::Nobody)
    }

    /// The work's end, if that comes within the limit: the time in which people are waited for does
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

/// A question that is not open any more when this is dropped.
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

    /// A call's time stands still while a person is asked, and goes on afterwards.
    #[tokio::test(start_paused = true)]
    async fn the_time_for_which_people_are_waited_for_does_not_count() {
        let (wishes, mut heard) = mpsc::unbounded_channel();
        let people = People::reached_by(wishes, Language::English);
        let (limit, begun) = (Duration::from_secs(10), Instant::now());
        let work = async {
            let _ = timeout(Duration::from_secs(4), pending::<()>()).await;
            let given = people.ask(&"c".into(), Question::default()).await;
            assert_eq!(given, Answer::Given("red".into()));
            pending::<()>().await;
        };
        let person = async {
            let wish = heard.recv().await.expect("a question");
            let _ = timeout(Duration::from_secs(100), pending::<()>()).await;
            wish.answer.send(Answer::Given("red".into())).expect("somebody waits");
        };
        let (ended, ()) = tokio::join!(people.bounded(limit, work), person);
        assert_eq!((ended, begun.elapsed().as_secs()), (None, 110));
    }

    /// Whoever cannot be asked is not waited for.
    #[tokio::test]
    async fn where_nobody_can_be_asked_nobody_answers() {
        let nobody = People::default().ask(&"c".into(), Question::default()).await;
        assert_eq!(nobody, Answer::Nobody);
        let (wishes, heard) = mpsc::unbounded_channel();
        drop(heard);
        let people = People::reached_by(wishes, Language::English);
        assert_eq!(people.ask(&"c".into(), Question::default()).await, Answer::Nobody);
    }
}
