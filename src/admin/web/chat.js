// The chat page: shows the events of the server, and sends messages.

import * as compose from "/assets/compose.js";
import {
  ask, at, base, bot, filled, forget, kept, make, makeButton, newId, onSignedOut, pass, post, says, signedOut, tell, toSite,
} from "/assets/dom.js";
import { draw, log, put } from "/assets/items.js";
import { refresh } from "/assets/threads.js";

const scroll = at("scroll"), draft = at("draft"), working = at("typing"), newest = at("newest");
const { text } = compose;

// --- scrolling

let follows = true;
scroll.addEventListener("scroll", () => {
  follows = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  if (follows) newest.hidden = true;
  if (scroll.scrollTop < 200) loadOlder();
}, { passive: true });

function toEnd() {
  scroll.scrollTop = scroll.scrollHeight;
  newest.hidden = true;
}

// Changes the page and keeps the scroll position: at the end, or in the past.
function change(what, isNew) {
  const followed = follows;
  what();
  if (followed) toEnd();
  else if (isNew) newest.hidden = false;
}

newest.addEventListener("click", () => { follows = true; toEnd(); text.focus(); });
const sizes = new ResizeObserver(() => { if (follows) toEnd(); });
sizes.observe(scroll);
sizes.observe(log);

// --- items

// A reconnected page receives everything again; only what is new to it counts.
function take(items) {
  const wasEmpty = !log.querySelector('[data-kind="said"]');
  let answered = false, anything = false;
  change(() => {
    for (const item of items) {
      if (!put(item, text)) continue;
      anything = true;
      answered ||= item.kind !== "said" && item.kind !== "call";
      if (item.kind === "said") received(item.message);
    }
    if (answered) endDraft();
    greet();
  }, items.length > 0);
  if (!anything) newest.hidden = true;
  if (answered && document.hidden) document.title = `● ${bot}`;
  // The first message gives a conversation its name.
  if (wasEmpty && anything && !log.hasAttribute("aria-busy")) refresh();
  offerAgain();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.title = bot;
});

function greet() {
  at("welcome").hidden = log.childElementCount > 0;
}

// A button that goes away leaves its focus to the field.
function drop(button) {
  if (button?.contains(document.activeElement)) text.focus();
  button?.remove();
}

// The last message can be answered again once nothing runs: it is sent again, as a new turn.
function offerAgain() {
  drop(log.querySelector(".regenerate"));
  if (activity.state !== "idle") return;
  const said = [...log.querySelectorAll(':scope > [data-kind="said"]')].pop();
  const last = log.lastElementChild;
  if (!said || said === last) return;
  // A command that was sent from this page came after it.
  if (said.matches(':has(~ [data-local])')) return;
  if (said.querySelector(".bubble").firstChild?.data?.trim().startsWith("/")) return;
  const button = makeButton("plain again", says.regenerate, () => {
    drop(row);
    regenerate(said.dataset.message);
  });
  button.title = says.regenerates;
  const row = make("p", "regenerate quiet", button);
  const ranTools = said.matches(':has(~ [data-kind="call"])');
  if (ranTools) row.append(" ", says.tools_again);
  last.append(row);
}

async function regenerate(message) {
  follows = true;
  try {
    await post("/chat/regenerate", { id: newId(), message });
  } catch (problem) {
    tell(problem.message);
    offerAgain();
  }
}

// --- what came before

// Before which event there are older messages; not known before the first connection.
let before, isLoading = false;

async function loadOlder() {
  if (!before || isLoading) return;
  isLoading = true;
  at("earlier").textContent = says.loading;
  try {
    const answer = await ask(`/chat/older?before=${before}`);
    if (answer.status === 401) return signedOut();
    if (!answer.ok) throw new Error(filled(says.answered, { status: answer.status }));
    const older = await answer.json();
    const height = scroll.scrollHeight, top = scroll.scrollTop;
    for (const item of older.items) put(item, text);
    before = older.before;
    at("earlier").hidden = !before;
    scroll.scrollTop = top + scroll.scrollHeight - height;
  } catch (problem) {
    tell(problem.message);
  } finally {
    isLoading = false;
    at("earlier").textContent = says.earlier;
  }
}
at("earlier").addEventListener("click", loadOlder);

// --- the running turn

let activity = { state: "idle" }, typingTimer;

function showActivity(now) {
  const ended = activity.state !== "idle" && now.state === "idle";
  activity = { ...now, since: Date.now() - (now.for_ms ?? 0) };
  if (ended && now.failed) keepDraft();
  if (now.state === "idle") endTyping();
  else if (now.state !== "person") change(() => { working.hidden = !draft.hidden && now.state === "model" && now.for_ms < LONG; }, false);
  if (now.state === "person") working.hidden = true;
  if (now.state === "idle" && document.activeElement === at("stop")) text.focus();
  at("stop").hidden = now.state === "idle";
  count();
  offerAgain();
}

// Short waits need no words.
const LONG = 8_000;

function count() {
  const lasted = Date.now() - activity.since;
  const isLong = (activity.state === "model" || activity.state === "tools") && lasted >= LONG;
  if (isLong && working.hidden) change(() => { working.hidden = false; }, false);
  const sentence = activity.state === "tools" ? says.runs_for : says.waits_for_model;
  const time = lasted < 120_000 ? `${Math.floor(lasted / 1000)} s` : `${Math.floor(lasted / 60_000)} min`;
  at("waits").textContent = isLong ? filled(sentence, { time, tools: activity.tools.join(", ") }) : "";
}
setInterval(count, 1_000);

function endTyping() {
  clearTimeout(typingTimer);
  working.hidden = true;
}

function endDraft() {
  draft.hidden = true;
  draft.lastElementChild.replaceChildren();
}

// An answer that was not finished stays on this page, because nothing else has it.
function keepDraft() {
  if (draft.hidden) return;
  const part = make("div", "text");
  part.append(...draft.lastElementChild.childNodes);
  change(() => log.append(make("li", "bot partial", part, make("p", "quiet", says.unfinished))), false);
  endDraft();
}

function showDraft(html) {
  const isEmpty = html.trim() === "";
  // The model begins to answer: it is no longer waited for.
  if (activity.state === "model") activity.since = Date.now();
  change(() => {
    draft.lastElementChild.innerHTML = html;
    draft.hidden = isEmpty;
    if (!isEmpty) working.hidden = true;
  }, false);
  count();
}

function showTyping() {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(() => { if (activity.state === "idle") working.hidden = true; }, 12_000);
  if (!draft.hidden) return;
  change(() => { working.hidden = false; }, false);
}

at("stop").addEventListener("click", async () => {
  at("stop").disabled = true;
  try {
    await post("/chat/messages", { id: newId(), text: "/stop" });
  } catch (problem) {
    tell(problem.message);
  }
  at("stop").disabled = false;
  text.focus();
});

// --- the stream

let line, retry, wait = 1_000;

const hear = {
  past(past) {
    if (before === undefined) ({ before } = past);
    at("earlier").hidden = !before;
    take(past.items);
    greet();
    log.removeAttribute("aria-busy");
  },
  items: (news) => take(news.items),
  aside: (item) => change(() => {
    endDraft();
    log.append(draw.aside({ ...item, at: Date.now() }));
    greet();
  }, true),
  draft: (grown) => showDraft(grown.html),
  typing: showTyping,
  activity: showActivity,
  toast: (toast) => { if (toast.text) tell(toast.text); },
  signed_out: signedOut,
};

// Reads an event stream. EventSource would not report the status of a rejected request. Only a line
// feed ends a line: the text of an event may contain other line separators, such as U+2028.
async function* events(body, onBytes) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    onBytes();
    const whole = (text + part.value).split("\n\n");
    text = whole.pop();
    for (const event of whole) {
      const lines = event.split("\n");
      const field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length);
      const name = field("event: "), data = field("data: ");
      if (name && data) yield { name, data };
    }
  }
}

// An error in the page is no reason to reconnect.
function heard({ name, data }) {
  try {
    hear[name]?.(JSON.parse(data));
  } catch (problem) {
    reportError(problem);
  }
}

// The server sends a keep-alive message every 15 seconds. Without any, the connection is broken.
const SILENT_FOR = 45_000;

async function connect() {
  clearTimeout(retry);
  line?.abort();
  const own = line = new AbortController();
  let isSilent = false, watchdog;
  const onBytes = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => { isSilent = true; own.abort(); }, SILENT_FOR);
  };
  try {
    onBytes();
    const answer = await ask("/chat/events", { signal: own.signal });
    if (answer.status === 401) return signedOut();
    if (!answer.ok) throw new Error(answer.statusText);
    wait = 1_000;
    at("line").textContent = "";
    sendUnsent();
    for await (const event of events(answer.body, onBytes)) heard(event);
  } catch {
    // Disconnected, or never connected: retry.
  } finally {
    clearTimeout(watchdog);
  }
  if (own !== line || (own.signal.aborted && !isSilent)) return;
  at("line").textContent = says.reconnecting;
  retry = setTimeout(connect, wait);
  wait = Math.min(wait * 2, 30_000);
}

// What was not sent stays for its person, who may only have to sign in again.
onSignedOut(() => {
  clearTimeout(retry);
  line?.abort();
});

// A page in the background disconnects after a while: browsers limit connections to six per server.
let resting;
document.addEventListener("visibilitychange", () => {
  clearTimeout(resting);
  if (document.hidden) resting = setTimeout(() => { clearTimeout(retry); line?.abort(); }, 300_000);
  else if (line?.signal.aborted) connect();
});
addEventListener("pageshow", (event) => { if (event.persisted && line) connect(); });
addEventListener("online", () => { if (line) connect(); });

// --- sending

// What could not be sent is kept, and sent again when the connection is back.
const unsent = () => kept.read("unsent") ?? [];
const remember = (list) => kept.write("unsent", list.length ? list : null);

// The server has this message.
function received(message) {
  const list = unsent();
  const left = list.filter(({ id }) => `w${id}` !== message);
  if (left.length !== list.length) remember(left);
}

function say(words, files) {
  const message = { id: newId(), text: words, files };
  remember([...unsent(), { ...message, at: Date.now() }].slice(-20));
  follows = true;
  attempt(shown(message, Date.now()), message);
}

function shown(message, instant) {
  const element = draw.said({ ...message, at: instant, message: `w${message.id}` });
  element.dataset.local = `w${message.id}`;
  change(() => { log.append(element); greet(); }, false);
  return element;
}

async function attempt(element, message) {
  element.querySelector(".fault")?.remove();
  element.classList.remove("failed");
  element.classList.add("sending");
  try {
    const files = message.files.map(({ id }) => id);
    await post("/chat/messages", { id: message.id, text: message.text, files });
    remember(unsent().filter(({ id }) => id !== message.id));
  } catch (problem) {
    // Only what failed for a temporary reason is sent again without being asked for.
    const own = unsent().map((one) => one.id === message.id ? { ...one, isRefused: !problem.isTemporary } : one);
    remember(own);
    showFault(element, message, problem.message);
  }
  element.classList.remove("sending");
}

function showFault(element, message, why) {
  const again = makeButton("", says.try_again, () => { attempt(element, message); text.focus(); });
  const drop = makeButton("plain", says.discard, () => {
    remember(unsent().filter(({ id }) => id !== message.id));
    element.remove();
    greet();
    text.focus();
  });
  const fault = make("div", "fault", make("span", "", filled(says.not_sent, { why }).trim()), again, drop);
  fault.setAttribute("role", "alert");
  element.classList.add("failed");
  change(() => element.append(fault), false);
}

// An old message may no longer be meant: its person decides.
const SENT_AGAIN_FOR = 600_000;

function sendUnsent() {
  for (const message of unsent()) {
    const there = log.querySelector(`:scope > [data-local="w${CSS.escape(message.id)}"]`);
    if (there && !there.classList.contains("failed")) continue;
    const isOld = message.isRefused || Date.now() - message.at > SENT_AGAIN_FOR;
    if (isOld && there) continue;
    const element = there ?? shown(message, message.at);
    if (isOld) showFault(element, message, "");
    else attempt(element, message);
  }
}

for (const start of document.querySelectorAll("[data-start]")) {
  start.addEventListener("click", () => compose.fill(start.dataset.start));
}

at("sign-out")?.addEventListener("click", async () => {
  try {
    await post("/sign-out", {});
    forget();
    signedOut();
  } catch (problem) {
    tell(problem.message);
  }
});

if (base) {
  addEventListener("keydown", (event) => { if (event.key === "Escape") toSite("close"); });
}
compose.begin(say);
if (base && !pass) toSite("enter");
else connect();

// --- the menu of the models

document.getElementById("model")?.addEventListener("change", ({ target }) => {
  if (target.value) say(`/model ${target.value}`, []);
  target.value = "";
  text.focus();
});
