//! The open browsers: one for each conversation, at most a given number, closed when idle.
//!
//! A call locks the browser of its conversation. A browser that is not locked can be closed to make
//! room for that of another conversation, the least recently used one first. A call that finds no
//! room waits for the end of another call, for a limited time. While it waits, it holds no browser,
//! so calls cannot deadlock.

use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{BrowserSettings, open_browser::OpenBrowser};
use crate::{clock::pause, journal::ids::ConversationId, tools::ToolError};

/// How long a call waits for room.
const ROOM_FOR: Duration = Duration::from_secs(20);
/// The shortest interval between two searches for idle browsers.
const MIN_INTERVAL: Duration = Duration::from_millis(500);

/// All open browsers.
pub struct Browsers {
    pub settings: BrowserSettings,
    slots: Mutex<HashMap<ConversationId, Arc<Slot>>>,
    room: Arc<Semaphore>,
    /// Notified when a call has ended.
    call_ended: Notify,
    /// Closes idle browsers.
    idle: Mutex<JoinSet<()>>,
}

/// The place for the browser of one conversation.
struct Slot {
    browser: Arc<AsyncMutex<Option<OpenBrowser>>>,
    used_at: Mutex<Instant>,
}

/// The browser of a conversation, locked for one call.
pub struct LockedBrowser<'b> {
    browser: Option<OwnedMutexGuard<Option<OpenBrowser>>>,
    slot: Arc<Slot>,
    browsers: &'b Browsers,
}

impl Browsers {
    pub fn new(settings: BrowserSettings) -> Arc<Self> {
        let room = Arc::new(Semaphore::new(settings.max_open));
        let (slots, call_ended, idle) = <_>::default();
        Arc::new(Self { settings, slots, room, call_ended, idle })
    }

    /// The browser of the conversation, which is started if necessary.
    pub async fn open(
        self: &Arc<Self>,
        conversation: &ConversationId,
    ) -> Result<LockedBrowser<'_>, ToolError> {
        let mut locked = self.lock(conversation).await;
        if locked.browser().is_none() {
            let room = self.room().await?;
            let browser = OpenBrowser::start(&self.settings, room).await?;
            if let Some(slot) = &mut locked.browser {
                **slot = Some(browser);
            }
            self.watch_idle();
        }
        Ok(locked)
    }

    /// The browser of the conversation, if it is open.
    pub async fn existing(
        &self,
        conversation: &ConversationId,
    ) -> Result<LockedBrowser<'_>, ToolError> {
        let mut locked = self.lock(conversation).await;
        if locked.browser().is_some() {
            return Ok(locked);
        }
        Err(ToolError::ExecutionFailed(
            "No page is open in this conversation: it was not opened yet, or its browser was \
             closed because it was idle or others needed the room. Navigate to the page first"
                .into(),
        ))
    }

    /// The number of open browsers.
    #[cfg(any(test, feature = "testing"))]
    pub fn count(&self) -> usize {
        self.settings.max_open - self.room.available_permits()
    }

    async fn lock(&self, conversation: &ConversationId) -> LockedBrowser<'_> {
        let slot = {
            let mut slots = self.slots.lock();
            slots.retain(|_, slot| !slot.is_unused());
            slots.entry(conversation.clone()).or_insert_with(|| Arc::new(Slot::new())).clone()
        };
        let mut browser = slot.browser.clone().lock_owned().await;
        if browser.as_ref().is_some_and(OpenBrowser::has_ended) {
            *browser = None;
        }
        LockedBrowser { browser: Some(browser), slot, browsers: self }
    }

    async fn room(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        let found = async {
            loop {
                let ended = self.call_ended.notified();
                if let Ok(room) = self.room.clone().try_acquire_owned() {
                    return room;
                }
                match self.take_unlocked(Duration::ZERO) {
                    Some(browser) => browser.close().await,
                    None => ended.await,
                }
            }
        };
        timeout(ROOM_FOR, found).await.map_err(|_| {
            ToolError::ExecutionFailed(format!(
                "All {} browsers are in use by other conversations (browser.max_open): try again \
                 later",
                self.settings.max_open
            ))
        })
    }

    /// Takes the least recently used browser that no call uses and that was not used for that time.
    fn take_unlocked(&self, idle_for: Duration) -> Option<OpenBrowser> {
        let slots = self.slots.lock();
        let mut idle: Vec<_> = slots.values().map(|slot| (slot.used_at(), slot)).collect();
        idle.retain(|(used_at, _)| used_at.elapsed() >= idle_for);
        idle.sort_by_key(|(used_at, _)| *used_at);
        idle.into_iter().find_map(|(_, slot)| slot.browser.try_lock().ok()?.take())
    }

    /// Starts to close idle browsers, unless that was started.
    fn watch_idle(self: &Arc<Self>) {
        let mut idle = self.idle.lock();
        if idle.is_empty() {
            let (idle_for, browsers) = (self.settings.idle_for, Arc::downgrade(self));
            idle.spawn(close_idle(browsers, idle_for));
        }
    }
}

/// Runs until the browsers are dropped.
async fn close_idle(browsers: Weak<Browsers>, idle_for: Duration) {
    let interval = (idle_for / 8).max(MIN_INTERVAL);
    loop {
        pause(interval).await;
        while let Some(browser) = browsers.upgrade().and_then(|all| all.take_unlocked(idle_for)) {
            browser.close().await;
            if let Some(browsers) = browsers.upgrade() {
                browsers.call_ended.notify_one();
            }
        }
        if browsers.strong_count() == 0 {
            return;
        }
    }
}

impl Slot {
    fn new() -> Self {
        Self { browser: Arc::default(), used_at: Mutex::new(Instant::now()) }
    }

    fn used_at(&self) -> Instant {
        *self.used_at.lock()
    }

    /// Whether it has no browser, and no call has locked it or waits for it.
    fn is_unused(self: &Arc<Self>) -> bool {
        let alone = Arc::strong_count(self) == 1;
        alone && self.browser.try_lock().is_ok_and(|browser| browser.is_none())
    }
}

impl LockedBrowser<'_> {
    fn browser(&mut self) -> Option<&mut OpenBrowser> {
        self.browser.as_mut()?.as_mut()
    }

    /// The browser. It was open when it was locked.
    pub fn get(&mut self) -> Result<&mut OpenBrowser, ToolError> {
        self.browser().ok_or_else(super::connection::ended)
    }
}

impl Drop for LockedBrowser<'_> {
    fn drop(&mut self) {
        *self.slot.used_at.lock() = Instant::now();
        self.browser = None;
        self.browsers.call_ended.notify_one();
    }
}
