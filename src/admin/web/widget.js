// The chat in a page of another site: a button that opens the chat in a frame.
//
//   <script src="https://chat.example/widget.js" data-channel="site" async></script>
"use strict";

(() => {
  const words = /* words */ {};
  const tag = document.currentScript;
  const { origin } = new URL(tag.src);
  const url = `${origin}/widget/${encodeURIComponent(tag.dataset.channel)}`;
  const storageKey = `countersign ${url}`;

  // Storage may be disabled: then the visit ends with the page.
  let pass = "";
  try { pass = localStorage.getItem(storageKey) ?? ""; } catch { /* forbidden */ }

  async function admitted() {
    const answer = await fetch(`${url}/visitors`, { method: "POST", body: pass, credentials: "omit" });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    ({ pass } = await answer.json());
    try { localStorage.setItem(storageKey, pass); } catch { /* forbidden */ }
  }

  const looks = new CSSStyleSheet();
  looks.replaceSync(`
    :host { all: initial; position: fixed; right: 1.25rem; bottom: 1.25rem; z-index: 2147483000; color-scheme: light dark; }
    button { display: grid; place-items: center; width: 3.5rem; height: 3.5rem; margin-left: auto; padding: 0; border: 0; border-radius: 50%; background: #0f6b5c; color: #fff; cursor: pointer; box-shadow: 0 2px 12px rgb(0 0 0 / 30%); }
    button:focus-visible { outline: 3px solid #0f6b5c; outline-offset: 3px; }
    iframe { display: block; width: min(26rem, calc(100vw - 2.5rem)); height: min(40rem, calc(100dvh - 7rem)); margin-bottom: .75rem; border: 1px solid rgb(128 128 128 / 40%); border-radius: 1rem; box-shadow: 0 4px 32px rgb(0 0 0 / 25%); }
    p { width: min(20rem, calc(100vw - 2.5rem)); margin: 0 0 .75rem; padding: .6rem .8rem; border: 1px solid rgb(128 128 128 / 40%); border-radius: .6rem; background: Canvas; color: CanvasText; font: 1rem/1.4 system-ui, sans-serif; }
    [hidden] { display: none; }`);

  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [looks];
  const frame = document.createElement("iframe");
  frame.id = "chat";
  frame.title = "Chat";
  frame.hidden = true;
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-controls", frame.id);
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of [["viewBox", "0 0 24 24"], ["width", "26"], ["height", "26"], ["aria-hidden", "true"]]) {
    icon.setAttribute(name, value);
  }
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of [["fill", "none"], ["stroke", "currentColor"], ["stroke-width", "2"], ["stroke-linejoin", "round"], ["stroke-linecap", "round"]]) {
    line.setAttribute(name, value);
  }
  icon.append(line);
  button.append(icon);
  const fault = document.createElement("p");
  fault.setAttribute("role", "alert");
  fault.hidden = true;
  root.append(frame, fault, button);

  function show(open) {
    frame.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    button.setAttribute("aria-label", open ? words.close : words.open);
    line.setAttribute("d", open ? "M6 6l12 12M18 6 6 18" : "M4 5h16v11H10l-4 4v-4H4z");
  }

  function turn(open) {
    show(open);
    (open ? frame : button).focus();
  }

  // The pass is in the fragment, which browsers do not send; the chat reads it from there.
  async function enter() {
    button.disabled = true;
    try {
      await admitted();
      const entered = new URL(url);
      // A change of the fragment alone would not reload the frame.
      entered.search = String(Date.now());
      entered.hash = pass;
      frame.src = entered.href;
      turn(true);
      fault.hidden = true;
    } catch (problem) {
      console.warn(problem);
      fault.textContent = words.unavailable;
      fault.hidden = false;
    } finally {
      button.disabled = false;
    }
  }

  button.addEventListener("click", () => {
    if (frame.src) turn(frame.hidden);
    else enter();
  });

  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    if (event.data === "countersign: enter") enter();
    if (event.data === "countersign: close") turn(false);
  });

  show(false);
  const put = () => document.body.append(host);
  if (document.body) put();
  else addEventListener("DOMContentLoaded", put);
})();
