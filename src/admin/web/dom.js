// What the scripts of the chat share: its texts, elements, requests and notices.

export const at = (id) => document.getElementById(id);
export const { bot, base, person } = document.body.dataset;
export const says = JSON.parse(document.body.dataset.words);

// In a frame of another site: the visitor's pass, since no cookie is sent.
export const pass = base ? location.hash.slice(1) : "";
if (base) history.replaceState(null, "", location.pathname);
export const toSite = (message) => parent.postMessage(`countersign: ${message}`, "*");

// The conversation of this page; empty for the first one of a person.
export const conversation = base ? "" : new URLSearchParams(location.search).get("conversation") ?? "";

// The server refuses a request of a page whose person is no longer the one who is signed in.
const headers = pass ? { authorization: `Bearer ${pass}` } : base ? {} : { "x-countersign-person": person };

// The address of a request about this conversation.
export function address(path) {
  if (!conversation) return `${base}${path}`;
  return `${base}${path}${path.includes("?") ? "&" : "?"}conversation=${conversation}`;
}

export async function ask(path, options = {}) {
  const answer = await fetch(address(path), { ...options, headers: { ...headers, ...options.headers } });
  if (answer.status === 409) location.reload();
  return answer;
}

// Fills "{name}" in a text.
export function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function makeButton(className, label, onClick) {
  const button = make("button", className, label);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

// An icon of 20 × 20 that is drawn with one line.
export function icon(line) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const set = (element, values) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
  set(svg, { viewBox: "0 0 20 20", width: "20", height: "20", "aria-hidden": "true" });
  set(path, {
    d: line, fill: "none", stroke: "currentColor", "stroke-width": "1.8",
    "stroke-linecap": "round", "stroke-linejoin": "round",
  });
  svg.append(path);
  return svg;
}

export function bytes(count) {
  if (count < 1000) return `${count} ${says.bytes}`;
  const unit = ["kB", "MB", "GB"], step = Math.min(3, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** step;
  return `${value.toLocaleString([], { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit[step - 1]}`;
}

const notice = at("notice");
let noticeTimer;
export function tell(words) {
  clearTimeout(noticeTimer);
  notice.textContent = words;
  notice.hidden = false;
  noticeTimer = setTimeout(hideNotice, 8_000);
}

export function hideNotice() {
  notice.hidden = true;
}

let leave = () => {};
export function onSignedOut(what) {
  leave = what;
}

export function signedOut() {
  leave();
  if (base) toSite("enter");
  else location.replace("/");
}

// The response of a request, as JSON; an error says what went wrong. It is temporary if the server
// was not reached or is in trouble.
export async function send(path, options) {
  let answer;
  try {
    answer = await ask(path, options);
  } catch {
    throw Object.assign(new Error(says.no_connection), { isTemporary: true });
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) signedOut();
  if (!answer.ok) {
    const problem = new Error(said.detail ?? filled(says.answered, { status: answer.status }));
    throw Object.assign(problem, { isTemporary: answer.status >= 500 });
  }
  return said;
}

export const post = (path, body) => send(path, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

// A random id. That of a message makes it safe to send the same message again.
export function newId() {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// What this browser keeps of a person's conversation: the unfinished message, and what could not be
// sent; and of the person, within "": whether they are notified. Storage may be forbidden, and a frame of another site uses none.
const PREFIX = "countersign chat ";
const keyOf = (name, within) => `${PREFIX}${name} ${person} ${within}`;
let isForgotten = false;
export const kept = {
  read(name, within = conversation) {
    if (base || isForgotten) return null;
    try { return JSON.parse(localStorage.getItem(keyOf(name, within))); } catch { return null; }
  },
  write(name, value, within = conversation) {
    if (base || isForgotten) return;
    try {
      if (value === null) localStorage.removeItem(keyOf(name, within));
      else localStorage.setItem(keyOf(name, within), JSON.stringify(value));
    } catch { /* forbidden, or full */ }
  },
};

// Signing out leaves nothing of a person to the next one at this browser. All pages stop writing:
// this one, and those that are told by it or by a page of the console.
const pages = base ? null : new BroadcastChannel("countersign sign-out");
if (pages) pages.onmessage = () => { isForgotten = true; };

export function forget() {
  isForgotten = true;
  pages?.postMessage("");
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch { /* forbidden */ }
}
