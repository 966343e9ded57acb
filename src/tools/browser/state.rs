//! What is known about a running browser from its events: tabs, dialogs, downloads, and notices
//! for the model.
//!
//! Dialogs are closed here, as soon as they open, because a page with an open dialog does not
//! answer.

use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};

use super::connection::{CdpEvent, CdpRequest};
use crate::tools::{
    ToolError,
    contract::one_line::{cut, one_line},
};

/// The maximum number of tabs. Further ones are closed.
pub const MAX_TABS: usize = 8;
/// The maximum number of notices between two results, and their length.
const MAX_NOTICES: usize = 10;
const NOTICE_CHARS: usize = 400;

/// The state of a browser, which events change.
#[derive(Clone)]
pub struct SharedState(Arc<watch::Sender<BrowserState>>);

#[derive(Debug, Default)]
pub struct BrowserState {
    pub tabs: Vec<Tab>,
    /// The session of the tab that calls act on.
    pub active: Option<String>,
    tabs_opened: u32,
    notices: Vec<String>,
    /// The download that a call waits for.
    pub download: Option<Download>,
}

#[derive(Debug, Clone)]
pub struct Tab {
    /// The number by which the model names it.
    pub number: u32,
    /// Also the id of its main frame.
    pub target: String,
    pub session: String,
    pub is_loading: bool,
    /// The file input for which the page has opened a file chooser.
    pub chooser: Option<i64>,
}

/// A file that a page sends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Download {
    pub limit_bytes: u64,
    /// The browser's name of the file.
    pub guid: Option<String>,
    pub suggested_name: String,
    pub status: DownloadStatus,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DownloadStatus {
    #[default]
    Running,
    Completed,
    Canceled,
    TooLarge,
}

impl Default for SharedState {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(BrowserState::default())))
    }
}

impl SharedState {
    /// Reads the state.
    pub fn read<T>(&self, read: impl FnOnce(&BrowserState) -> T) -> T {
        read(&self.0.borrow())
    }

    pub fn change(&self, change: impl FnOnce(&mut BrowserState)) {
        self.0.send_modify(change);
    }

    /// Waits until the condition is true. Returns `false` if it is not within that time.
    pub async fn wait(&self, limit: Duration, until: impl FnMut(&BrowserState) -> bool) -> bool {
        let mut seen = self.0.subscribe();
        timeout(limit, seen.wait_for(until)).await.is_ok_and(|seen| seen.is_ok())
    }

    /// The active tab.
    pub fn active(&self) -> Option<Tab> {
        self.read(|state| state.active_tab().cloned())
    }

    /// The notices since the last call.
    pub fn take_notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        self.change(|state| notices = std::mem::take(&mut state.notices));
        notices
    }

    /// Reports a connection that the proxy has refused.
    pub fn blocked(&self, target: &str, why: &ToolError) {
        self.change(|state| state.note(format!("Blocked a connection to {target}. {why}")));
    }

    /// Applies an event. Returns what to send to the browser.
    pub fn handle(&self, event: &CdpEvent) -> Vec<CdpRequest> {
        let mut requests = Vec::new();
        self.change(|state| requests = state.handle(event));
        requests
    }
}

impl BrowserState {
    pub fn active_tab(&self) -> Option<&Tab> {
        let active = self.active.as_deref()?;
        self.tabs.iter().find(|tab| tab.session == active)
    }

    /// Whether the active tab is loading.
    pub fn is_loading(&self) -> bool {
        self.active_tab().is_some_and(|tab| tab.is_loading)
    }

    fn note(&mut self, notice: String) {
        let notice = cut(&one_line(&notice), NOTICE_CHARS);
        if self.notices.len() < MAX_NOTICES && !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    fn handle(&mut self, event: &CdpEvent) -> Vec<CdpRequest> {
        let (params, session) = (&event.params, event.session.as_deref());
        match event.method.as_str() {
            "Target.attachedToTarget" => self.attached(params),
            "Target.detachedFromTarget" => self.detached(&params["sessionId"]),
            "Target.targetCrashed" => self.crashed(params),
            "Page.javascriptDialogOpening" => self.dialog(session, params),
            "Page.frameStartedLoading" => self.loading(session, params, true),
            "Page.frameStoppedLoading" => self.loading(session, params, false),
            "Page.fileChooserOpened" => self.chooser(session, params),
            "Browser.downloadWillBegin" => self.download_begins(params),
            "Browser.downloadProgress" => self.download_continues(params),
            _ => Vec::new(),
        }
    }

    fn attached(&mut self, params: &Value) -> Vec<CdpRequest> {
        let (target, session) =
            (text(&params["targetInfo"]["targetId"]), text(&params["sessionId"]));
        if self.tabs.len() >= MAX_TABS {
            self.note(format!("A new tab was closed: {MAX_TABS} tabs are open."));
            return vec![request("Target.closeTarget", json!({ "targetId": target }), None)];
        }
        self.tabs_opened += 1;
        let number = self.tabs_opened;
        if self.active.is_none() {
            self.active = Some(session.clone());
        } else {
            self.note(format!("The page has opened tab {number}. Switch to it with tabs."));
        }
        let tab = Tab { number, target, session, is_loading: false, chooser: None };
        let send = |method, params| request(method, params, Some(tab.session.clone()));
        let mut requests = vec![
            send("Page.enable", json!({})),
            send("Inspector.enable", json!({})),
            send("Page.setInterceptFileChooserDialog", json!({ "enabled": true })),
            // A tab behind another one receives inputs as well.
            send("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })),
            send("Runtime.runIfWaitingForDebugger", json!({})),
        ];
        let front = self.active.clone().filter(|active| *active != tab.session);
        requests.extend(front.map(|front| request("Page.bringToFront", json!({}), Some(front))));
        self.tabs.push(tab);
        requests
    }

    fn detached(&mut self, session: &Value) -> Vec<CdpRequest> {
        let session = session.as_str();
        self.tabs.retain(|tab| Some(tab.session.as_str()) != session);
        if self.active.as_deref() == session {
            self.active = self.tabs.last().map(|tab| tab.session.clone());
        }
        Vec::new()
    }

    /// A crashed page does not answer, so its tab is closed. `status` is Chromium's word for the end
    /// of the page's process, and `errorCode` its exit status or signal.
    fn crashed(&mut self, params: &Value) -> Vec<CdpRequest> {
        let target = text(&params["targetId"]);
        let Some(tab) = self.tabs.iter().find(|tab| tab.target == target) else {
            return Vec::new();
        };
        let (number, session) = (tab.number, Value::from(tab.session.as_str()));
        let (status, code) = (text(&params["status"]), &params["errorCode"]);
        tracing::warn!(page.status = status, page.code = %code, "a page has crashed");
        self.note(format!(
            "The page in tab {number} has crashed ({status}, {code}), and its tab was closed."
        ));
        self.detached(&session);
        vec![request("Target.closeTarget", json!({ "targetId": target }), None)]
    }

    /// Leaving a page is accepted, because the model or the page has asked for it. Everything else
    /// is answered with no.
    fn dialog(&mut self, session: Option<&str>, params: &Value) -> Vec<CdpRequest> {
        let (kind, message) = (text(&params["type"]), text(&params["message"]));
        let is_leaving = kind == "beforeunload";
        self.note(if is_leaving {
            "The page asked whether to leave it, which was confirmed.".to_owned()
        } else {
            format!("The page showed a dialog ({kind}), which was dismissed: {message}")
        });
        let session = session.map(str::to_owned);
        vec![request("Page.handleJavaScriptDialog", json!({ "accept": is_leaving }), session)]
    }

    fn loading(
        &mut self,
        session: Option<&str>,
        params: &Value,
        is_loading: bool,
    ) -> Vec<CdpRequest> {
        if let Some(tab) = self.tab(session)
            && params["frameId"] == tab.target.as_str()
        {
            tab.is_loading = is_loading;
        }
        Vec::new()
    }

    fn chooser(&mut self, session: Option<&str>, params: &Value) -> Vec<CdpRequest> {
        let input = params["backendNodeId"].as_i64();
        if let Some(tab) = self.tab(session) {
            tab.chooser = input;
        }
        Vec::new()
    }

    fn download_begins(&mut self, params: &Value) -> Vec<CdpRequest> {
        let (guid, name) = (text(&params["guid"]), text(&params["suggestedFilename"]));
        match &mut self.download {
            Some(download) if download.guid.is_none() => {
                download.guid = Some(guid);
                download.suggested_name = name;
                Vec::new()
            }
            _ => {
                self.note(format!(
                    "The page offered the file {name}, which was not saved. To save a file, use \
                     download with the element that leads to it."
                ));
                vec![request("Browser.cancelDownload", json!({ "guid": guid }), None)]
            }
        }
    }

    fn download_continues(&mut self, params: &Value) -> Vec<CdpRequest> {
        let Some(download) = &mut self.download else { return Vec::new() };
        if download.guid.as_deref() != params["guid"].as_str()
            || download.status != DownloadStatus::Running
        {
            return Vec::new();
        }
        let bytes = params["receivedBytes"].as_f64().unwrap_or_default();
        if bytes > download.limit_bytes as f64 {
            download.status = DownloadStatus::TooLarge;
            return vec![request(
                "Browser.cancelDownload",
                json!({ "guid": params["guid"] }),
                None,
            )];
        }
        match params["state"].as_str() {
            Some("completed") => download.status = DownloadStatus::Completed,
            Some("canceled") => download.status = DownloadStatus::Canceled,
            _ => {}
        }
        Vec::new()
    }

    fn tab(&mut self, session: Option<&str>) -> Option<&mut Tab> {
        self.tabs.iter_mut().find(|tab| Some(tab.session.as_str()) == session)
    }
}

fn request(method: &'static str, params: Value, session: Option<String>) -> CdpRequest {
    CdpRequest { method, params, session }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(method: &str, session: Option<&str>, params: Value) -> CdpEvent {
        CdpEvent { method: method.into(), params, session: session.map(str::to_owned) }
    }

    fn with_tabs(count: usize) -> SharedState {
        let state = SharedState::default();
        for number in 1..=count {
            let info = json!({ "targetId": format!("t{number}") });
            let params = json!({ "sessionId": format!("s{number}"), "targetInfo": info });
            state.handle(&event("Target.attachedToTarget", None, params));
        }
        state
    }

    fn methods(requests: &[CdpRequest]) -> Vec<&str> {
        requests.iter().map(|request| request.method).collect()
    }

    #[test]
    fn the_number_of_tabs_is_limited() {
        let state = with_tabs(MAX_TABS);
        let params = json!({ "sessionId": "more", "targetInfo": { "targetId": "x" } });
        let requests = state.handle(&event("Target.attachedToTarget", None, params));
        assert_eq!(methods(&requests), ["Target.closeTarget"]);
        assert_eq!(state.read(|state| state.tabs.len()), MAX_TABS);
        assert!(state.take_notices().last().unwrap().contains("was closed"));
    }

    #[test]
    fn a_crashed_tab_is_closed_and_another_one_becomes_active() {
        let state = with_tabs(2);
        let crash = json!({ "targetId": "t1", "status": "crashed", "errorCode": 11 });
        let requests = state.handle(&event("Target.targetCrashed", None, crash));
        assert_eq!(methods(&requests), ["Target.closeTarget"]);
        assert_eq!(state.active().unwrap().number, 2);
    }

    #[test]
    fn dialogs_are_answered_with_no_except_for_leaving() {
        let state = with_tabs(1);
        for (kind, accepted) in
            [("alert", false), ("confirm", false), ("prompt", false), ("beforeunload", true)]
        {
            let params = json!({ "type": kind, "message": "Sure?\n\nreally" });
            let sent = state.handle(&event("Page.javascriptDialogOpening", Some("s1"), params));
            assert_eq!(sent[0].params["accept"], accepted, "{kind}");
            assert_eq!(sent[0].session.as_deref(), Some("s1"));
        }
        let notices = state.take_notices();
        assert!(notices[0].ends_with("(alert), which was dismissed: Sure? really"), "{notices:?}");
    }

    #[test]
    fn a_page_cannot_fill_the_notices() {
        let state = with_tabs(1);
        for number in 0..100 {
            let params =
                json!({ "type": "alert", "message": format!("{number}{}", "x".repeat(9_000)) });
            state.handle(&event("Page.javascriptDialogOpening", Some("s1"), params));
        }
        let notices = state.take_notices();
        assert_eq!(notices.len(), MAX_NOTICES);
        assert!(notices.iter().all(|notice| notice.chars().count() <= NOTICE_CHARS + 1));
    }

    #[test]
    fn only_an_expected_download_is_kept_and_only_up_to_its_limit() {
        let state = with_tabs(1);
        let begins = |guid: &str| {
            let params = json!({ "guid": guid, "suggestedFilename": "a.zip" });
            state.handle(&event("Browser.downloadWillBegin", None, params))
        };
        let received = |guid: &str, bytes: u64, status: &str| {
            let params = json!({ "guid": guid, "receivedBytes": bytes, "state": status });
            state.handle(&event("Browser.downloadProgress", None, params))
        };
        assert_eq!(methods(&begins("unexpected")), ["Browser.cancelDownload"]);
        assert!(state.take_notices()[0].contains("a.zip"));
        let expected = Download { limit_bytes: 10, ..Download::default() };
        state.change(|state| state.download = Some(expected));
        assert!(begins("first").is_empty());
        assert_eq!(methods(&begins("second")), ["Browser.cancelDownload"]);
        assert!(received("first", 10, "inProgress").is_empty());
        assert_eq!(methods(&received("first", 11, "inProgress")), ["Browser.cancelDownload"]);
        received("first", 11, "completed");
        let status = state.read(|state| state.download.clone().unwrap().status);
        assert_eq!(status, DownloadStatus::TooLarge);
    }
}
