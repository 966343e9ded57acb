//! What goes wrong on demand.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

/// Requests that will go wrong.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    /// What a request does (`send`, `edit`, …; see `wire`), or `*`.
    pub act: String,
    pub trouble: Trouble,
    /// How many requests are still to be hit.
    pub times: u32,
}

#[derive(Debug, Clone)]
pub enum Trouble {
    /// 429, with the seconds to wait.
    TooMany { retry_after: f64, global: bool },
    /// A refusal in the platform's words.
    Refuse { status: u16, code: u64, message: String },
    /// A proxy's page instead of an answer.
    Page { status: u16 },
    /// It is done, and such a page comes instead of the answer.
    PageAfter { status: u16 },
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

/// Takes the next fault for an act out of the list.
pub(super) fn take(faults: &mut Vec<Fault>, act: &str) -> Option<Trouble> {
    let index = faults.iter().position(|fault| fault.act == "*" || fault.act == act)?;
    let fault = &mut faults[index];
    fault.times = fault.times.saturating_sub(1);
    let trouble = fault.trouble.clone();
    if fault.times == 0 {
        faults.remove(index);
    }
    Some(trouble)
}
