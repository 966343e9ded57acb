//! What goes wrong on demand.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

/// Requests that will go wrong.
#[derive(Debug, Clone)]
pub struct Fault {
    /// A method, or the beginning of some and `*`.
    pub method: String,
    pub trouble: Trouble,
    /// How many requests are still to be hit.
    pub times: u32,
}

#[derive(Debug, Clone)]
pub enum Trouble {
    /// 429, with the time to wait.
    TooMany { retry_after: u64 },
    /// A refusal in the platform's words.
    Refuse { code: u16, description: String },
    /// A gateway's page instead of an answer.
    Page { code: u16 },
    /// It is done, and such a page comes instead of the answer.
    PageAfter { code: u16 },
    /// The connection is cut and nothing is done.
    Cut,
    /// It is done, and the connection is cut instead of an answer.
    LoseAnswer,
    /// It is done late.
    Delay(Duration),
    /// It is done when the test says so.
    Held(Held),
}

/// A request that has arrived and waits.
#[derive(Debug, Clone, Default)]
pub struct Held {
    arrived: Arc<Notify>,
    released: Arc<Notify>,
}

impl Held {
    /// Waits until the request has arrived.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Lets it be done.
    pub fn release(&self) {
        self.released.notify_one();
    }

    pub(super) async fn wait(&self) {
        self.arrived.notify_one();
        self.released.notified().await;
    }
}

/// Decides what goes wrong with a request, by its method.
pub(super) type Author = Box<dyn FnMut(&str) -> Option<Trouble> + Send>;

/// Takes the next fault for a method out of the list.
pub(super) fn take(faults: &mut Vec<Fault>, method: &str) -> Option<Trouble> {
    let hits = |fault: &Fault| match fault.method.strip_suffix('*') {
        Some(beginning) => method.starts_with(beginning),
        None => fault.method == method,
    };
    let index = faults.iter().position(hits)?;
    let fault = &mut faults[index];
    fault.times = fault.times.saturating_sub(1);
    let trouble = fault.trouble.clone();
    if fault.times == 0 {
        faults.remove(index);
    }
    Some(trouble)
}
