//! Inputs: clicks, text, options, keys, scrolling.
//!
//! A click goes to a position, so the element at that position is compared with the one that was
//! approved: before the button is pressed, and again before it is released. Text and keys go to
//! what has the focus, which is compared as well. Scripts that look at elements run in an
//! isolated world, whose objects the page cannot change.

use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

use super::{open_browser::OpenBrowser, page_element::PageElement};
use crate::{clock::pause, tools::ToolError};

/// How often a call looks for the text that it waits for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

const CONTAINS: &str = "function (hit) {
    for (let node = hit; node; node = node.assignedSlot || node.parentNode || node.host)
        if (node === this) return true;
    const label = hit.closest && hit.closest('label');
    return !!label && label.control === this;
}";
/// In a document without the focus, `activeElement` is the element that would have it.
const HAS_FOCUS: &str = "function () {
    const focused = this.ownerDocument.hasFocus() && this.getRootNode().activeElement;
    return !!focused
        && (focused === this || (focused.isContentEditable && focused.contains(this)));
}";
/// Returns the options if there is none with this label or value.
const SELECT: &str = "function (wanted) {
    const options = [...(this.options || [])];
    const found = options.find(one => one.label.trim() === wanted || one.value === wanted);
    if (!found || found.disabled || this.disabled)
        return options.slice(0, 50).map(one => one.label.trim().slice(0, 100));
    found.selected = true;
    for (const name of ['input', 'change'])
        this.dispatchEvent(new Event(name, { bubbles: true, composed: true }));
    return true;
}";

/// The part of the document that the window shows, in pixels.
struct VisibleArea {
    left: i64,
    top: i64,
    width: i64,
    height: i64,
}

/// A key, as a browser names it.
struct Key {
    name: String,
    code: String,
    number: u32,
    /// The text that it enters.
    text: Option<String>,
    modifiers: u8,
}

const CONTROL: u8 = 2;
const MODIFIERS: [(&str, u8); 5] =
    [("alt", 1), ("control", CONTROL), ("ctrl", CONTROL), ("meta", 4), ("shift", 8)];
const KEYS: [(&str, u32); 15] = [
    ("Enter", 13),
    ("Tab", 9),
    ("Escape", 27),
    ("Backspace", 8),
    ("Delete", 46),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("Home", 36),
    ("End", 35),
    ("PageUp", 33),
    ("PageDown", 34),
    ("Insert", 45),
    ("Space", 32),
];

impl Key {
    /// Parses `Enter`, `a` or `Control+Shift+ArrowLeft`.
    fn parse(text: &str) -> Result<Self, ToolError> {
        let unknown = || {
            let names: Vec<_> = KEYS.iter().map(|(name, _)| *name).collect();
            ToolError::InvalidParameters(format!(
                "`{text}` is not a key. Use one character, or one of {}, with Control+, Shift+, \
                 Alt+ or Meta+ before it",
                names.join(", ")
            ))
        };
        let (before, name) = match text.rsplit_once('+') {
            Some((before, name)) if !name.is_empty() => (before, name),
            _ => ("", text),
        };
        let mut modifiers = 0;
        for word in before.split('+').filter(|word| !word.is_empty()) {
            let known = MODIFIERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            modifiers |= known.ok_or_else(unknown)?.1;
        }
        if let Some((name, number)) = KEYS.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)) {
            let text = match *name {
                "Enter" => Some("\r".to_owned()),
                "Space" => Some(" ".to_owned()),
                _ => None,
            };
            let key = if *name == "Space" { " " } else { name };
            let (name, code) = (key.to_owned(), (*name).to_owned());
            return Ok(Self { name, code, number: *number, text, modifiers });
        }
        let mut characters = name.chars();
        let (Some(character), None) = (characters.next(), characters.next()) else {
            return Err(unknown());
        };
        let upper = character.to_ascii_uppercase();
        let code = if upper.is_ascii_uppercase() { format!("Key{upper}") } else { String::new() };
        let number = if upper.is_ascii_alphanumeric() { upper.into() } else { 0 };
        let text = (modifiers & !8 == 0).then(|| name.to_owned());
        Ok(Self { name: name.to_owned(), code, number, text, modifiers })
    }
}

/// Checks a key before anybody is asked to approve it.
pub fn check_key(text: &str) -> Result<(), ToolError> {
    Key::parse(text).map(drop)
}

impl OpenBrowser {
    pub async fn click(&self, element: &PageElement) -> Result<(), ToolError> {
        let (x, y) = self.position(element).await?;
        self.mouse("mouseMoved", x, y).await?;
        self.check_hit(element, x, y).await?;
        self.mouse("mousePressed", x, y).await?;
        // A page that moves another element under the mouse gets no click on it.
        let moved = self.check_hit(element, x, y).await;
        let (x, y) = if moved.is_ok() { (x, y) } else { (0, 0) };
        let released = self.mouse("mouseReleased", x, y).await;
        // A page that has navigated has another element there.
        let navigates = self.state.read(super::state::BrowserState::is_loading);
        if !navigates {
            moved?;
        }
        released
    }

    /// Replaces the text of a field.
    pub async fn enter(&self, element: &PageElement, text: &str) -> Result<(), ToolError> {
        self.focus(element).await?;
        self.command("selectAll").await?;
        self.check_focus(element).await?;
        if text.is_empty() {
            return self.command("deleteBackward").await;
        }
        self.call("Input.insertText", json!({ "text": text })).await.map(drop)
    }

    /// Selects the option of a list with this label or value.
    pub async fn select(&self, element: &PageElement, option: &str) -> Result<(), ToolError> {
        let selected = self.script(element, SELECT, json!([{ "value": option.trim() }])).await?;
        match selected.as_array() {
            None => Ok(()),
            Some(options) if options.is_empty() => Err(ToolError::ExecutionFailed(
                "The element is not a list of options: click it, and then the option".into(),
            )),
            Some(options) => {
                let options: Vec<_> = options.iter().map(Value::to_string).collect();
                let options = options.join(", ");
                Err(ToolError::ExecutionFailed(format!(
                    "There is no such option. There are {options}"
                )))
            }
        }
    }

    /// Presses a key while the element has the focus.
    pub async fn press(&self, element: &PageElement, key: &str) -> Result<(), ToolError> {
        let key = Key::parse(key)?;
        self.focus(element).await?;
        let mut event = json!({
            "key": key.name, "code": key.code, "windowsVirtualKeyCode": key.number,
            "modifiers": key.modifiers, "type": "rawKeyDown",
        });
        if key.text.is_none() && key.modifiers == CONTROL && key.name.eq_ignore_ascii_case("a") {
            event["commands"] = json!(["selectAll"]);
        }
        self.call("Input.dispatchKeyEvent", event.clone()).await?;
        let mut entered = Ok(());
        if let Some(text) = key.text {
            // A page that moves the focus while the key goes down gets no text elsewhere.
            entered = self.check_focus(element).await;
            if entered.is_ok() {
                event["type"] = "char".into();
                event["text"] = text.into();
                self.call("Input.dispatchKeyEvent", event.clone()).await?;
            }
        }
        event["type"] = "keyUp".into();
        let released = self.call("Input.dispatchKeyEvent", event).await.map(drop);
        // A page that has navigated has another element there.
        if !self.state.read(super::state::BrowserState::is_loading) {
            entered?;
        }
        released
    }

    /// Scrolls the page, down or up.
    pub async fn scroll(&self, is_down: bool) -> Result<(), ToolError> {
        let window = self.window().await?;
        let (x, y) = (window.width / 2, window.height / 2);
        let by = window.height * 4 / 5;
        let delta = if is_down { by } else { -by };
        let wheel = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": delta });
        self.call("Input.dispatchMouseEvent", wheel).await.map(drop)
    }

    /// Scrolls until the element is visible.
    pub async fn scroll_to(&self, element: &PageElement) -> Result<(), ToolError> {
        let node = json!({ "backendNodeId": element.node });
        self.call("DOM.scrollIntoViewIfNeeded", node).await.map(drop)
    }

    /// Waits until the page shows the text, or, without a text, for that time.
    pub async fn wait_for(&self, text: Option<&str>, limit: Duration) -> Result<(), ToolError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(text) = text
                && self.shows(text).await?
            {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return match text {
                    None => Ok(()),
                    Some(_) => Err(ToolError::ExecutionFailed(format!(
                        "The page did not show the text within {} s",
                        limit.as_secs()
                    ))),
                };
            }
            pause(left.min(LOOK_EVERY)).await;
        }
    }

    /// The middle of the element, after scrolling to it.
    async fn position(&self, element: &PageElement) -> Result<(i64, i64), ToolError> {
        self.scroll_to(element).await.map_err(|_| invisible())?;
        let node = json!({ "backendNodeId": element.node });
        let quads = self.call("DOM.getContentQuads", node).await.map_err(|_| invisible())?;
        let quads = quads["quads"].as_array().into_iter().flatten();
        let corners = quads.map(|quad| -> Vec<f64> {
            quad.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
        });
        let mut middles = corners.filter(|quad| quad.len() == 8).filter_map(|quad| {
            let (width, height) = ((quad[4] - quad[0]).abs(), (quad[5] - quad[1]).abs());
            let middle = (quad[0].midpoint(quad[4]), quad[1].midpoint(quad[5]));
            (width >= 1.0 && height >= 1.0).then_some(middle)
        });
        let (x, y) = middles.next().ok_or_else(invisible)?;
        Ok((x.floor() as i64, y.floor() as i64))
    }

    async fn window(&self) -> Result<VisibleArea, ToolError> {
        let metrics = self.call("Page.getLayoutMetrics", json!({})).await?;
        let area = &metrics["cssVisualViewport"];
        let pixels = |name: &str| area[name].as_f64().unwrap_or_default().round() as i64;
        Ok(VisibleArea {
            left: pixels("pageX"),
            top: pixels("pageY"),
            width: pixels("clientWidth"),
            height: pixels("clientHeight"),
        })
    }

    async fn mouse(&self, kind: &str, x: i64, y: i64) -> Result<(), ToolError> {
        let (button, clicks) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": clicks });
        self.call("Input.dispatchMouseEvent", event).await.map(drop)
    }

    /// Fails unless a click at the position reaches the element.
    async fn check_hit(&self, element: &PageElement, x: i64, y: i64) -> Result<(), ToolError> {
        // This method counts from the top of the document, the others from that of the window.
        let window = self.window().await?;
        let (x, y) = (x + window.left, y + window.top);
        let hit = self.call("DOM.getNodeForLocation", json!({ "x": x, "y": y })).await;
        let hit = hit.ok().filter(|hit| hit["frameId"] == element.frame.as_str());
        let hit = hit.and_then(|hit| hit["backendNodeId"].as_i64());
        let is_hit = match hit {
            None => false,
            Some(node) if node == element.node => true,
            Some(node) => {
                let world = self.world(element).await?;
                let hit = json!({ "backendNodeId": node, "executionContextId": world });
                match self.call("DOM.resolveNode", hit).await {
                    Err(_) => false,
                    Ok(hit) => {
                        let hit = json!([{ "objectId": hit["object"]["objectId"] }]);
                        self.script(element, CONTAINS, hit).await? == true
                    }
                }
            }
        };
        if is_hit {
            return Ok(());
        }
        Err(ToolError::ExecutionFailed(
            "Another element covers this one, so a click would not reach it. Take a new snapshot, \
             and close what is in front of it"
                .into(),
        ))
    }

    async fn focus(&self, element: &PageElement) -> Result<(), ToolError> {
        let node = json!({ "backendNodeId": element.node });
        self.call("DOM.focus", node).await.map_err(|_| {
            ToolError::ExecutionFailed("The element cannot receive text or keys".into())
        })?;
        self.check_focus(element).await
    }

    async fn check_focus(&self, element: &PageElement) -> Result<(), ToolError> {
        if self.script(element, HAS_FOCUS, json!([])).await? == true {
            return Ok(());
        }
        Err(ToolError::ExecutionFailed(
            "The page has moved the focus to another element. Take a new snapshot".into(),
        ))
    }

    /// An editing command for what has the focus.
    async fn command(&self, command: &str) -> Result<(), ToolError> {
        let event = json!({ "type": "rawKeyDown", "commands": [command] });
        self.call("Input.dispatchKeyEvent", event).await.map(drop)
    }

    /// The id of a world in the element's frame that is not the page's.
    async fn world(&self, element: &PageElement) -> Result<Value, ToolError> {
        let params = json!({ "frameId": element.frame, "worldName": "countersign" });
        let mut world = self.call("Page.createIsolatedWorld", params).await?;
        Ok(world["executionContextId"].take())
    }

    /// Calls a function with the element as `this`.
    async fn script(
        &self,
        element: &PageElement,
        function: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let world = self.world(element).await?;
        let node = json!({ "backendNodeId": element.node, "executionContextId": world });
        let node = self.call("DOM.resolveNode", node).await?;
        let params = json!({
            "objectId": node["object"]["objectId"], "functionDeclaration": function,
            "arguments": arguments, "returnByValue": true, "userGesture": false,
        });
        let mut done = self.call("Runtime.callFunctionOn", params).await?;
        Ok(done["result"]["value"].take())
    }
}

fn invisible() -> ToolError {
    ToolError::ExecutionFailed("The element is not visible, so it cannot be clicked".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed() {
        let parsed = |text: &str| {
            let key = Key::parse(text).unwrap();
            (key.name, key.number, key.text, key.modifiers)
        };
        assert_eq!(parsed("enter"), ("Enter".into(), 13, Some("\r".into()), 0));
        assert_eq!(parsed("Control+a"), ("a".into(), 65, None, 2));
        assert_eq!(parsed("Shift+Control+ArrowLeft"), ("ArrowLeft".into(), 37, None, 10));
        assert_eq!(parsed("ä"), ("ä".into(), 0, Some("ä".into()), 0));
        assert_eq!(parsed("+"), ("+".into(), 0, Some("+".into()), 0));
        for unknown in ["", "Hyper+a", "F99", "ab", "Control+"] {
            assert!(Key::parse(unknown).is_err(), "{unknown}");
        }
    }
}
