//! Where people, the model and the platform record what happens during a run.

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};
use tokio::time::Instant;

use super::history::{Chat, Moment, Prompt, Shown};

/// How often something has happened so far.
#[derive(Debug, Default)]
pub struct Count(AtomicUsize);

impl Count {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub struct Record {
    started: Instant,
    chats: Mutex<Vec<Chat>>,
    prompts: Mutex<Vec<Prompt>>,
    is_closing: AtomicBool,
    /// Messages of people that were answered.
    pub answered: Count,
    pub pressed: Count,
    /// Requests to the model.
    pub asked: Count,
    /// Messages that the bot has posted or edited.
    pub sent: Count,
    /// Messages that the platform has posted without confirming it.
    pub unconfirmed: Count,
}

impl Record {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            chats: Mutex::default(),
            prompts: Mutex::default(),
            is_closing: AtomicBool::new(false),
            answered: Count::default(),
            pressed: Count::default(),
            asked: Count::default(),
            sent: Count::default(),
            unconfirmed: Count::default(),
        }
    }

    pub fn now(&self) -> Moment {
        self.started.elapsed()
    }

    pub fn moment_of(&self, instant: Instant) -> Moment {
        instant.saturating_duration_since(self.started)
    }

    /// From now on people finish what they have begun, and nothing goes wrong any more.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }

    pub fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }

    /// Begins a chat and returns its number, which counts from 1.
    pub fn begin_chat(&self) -> u32 {
        let (mut chats, since) = (self.chats(), self.now());
        let number = chats.len() as u32 + 1;
        chats.push(Chat { number, since, ..Chat::default() });
        number
    }

    /// Records something in a chat that has begun.
    pub fn in_chat(&self, number: u32, record: impl FnOnce(&mut Chat)) {
        record(&mut self.chats()[number as usize - 1]);
    }

    pub fn prompt(&self, prompt: Prompt) {
        self.prompts.lock().push(prompt);
    }

    pub fn chats(&self) -> MutexGuard<'_, Vec<Chat>> {
        self.chats.lock()
    }

    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().clone()
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

/// The messages of a chat that have neither an answer nor a failure notice.
pub fn unanswered(chat: &Chat) -> Vec<String> {
    let answered: BTreeSet<_> = chat.shown.iter().flat_map(Shown::answers).collect();
    let failure = chat.shown.iter().rev().find(|shown| shown.is_failure());
    let failure = failure.map_or(0, |shown| shown.message);
    let open =
        chat.said.iter().filter(|said| !said.replaced && said.message > failure).filter(|said| {
            !answered.contains(&said.tag) && !answered.contains(&said.tag.original())
        });
    open.map(|said| said.tag.to_string()).collect()
}
