// The chat page: shows the events of the server, sends messages and button presses.
"use strict";

const at = (id) => document.getElementById(id);
const log = at("log"), scroll = at("scroll"), draft = at("draft"), typing = at("typing");
const text = at("text"), send = at("send"), newest = at("newest"), notice = at("notice");
const bot = document.body.dataset.bot;
const says = JSON.parse(document.body.dataset.words);

// In a frame of another site: the path of requests, and the visitor's pass, since no cookie is sent.
const { base } = document.body.dataset;
const pass = location.hash.slice(1);
const headers = pass ? { authorization: `Bearer ${pass}` } : {};
if (base) history.replaceState(null, "", location.pathname);
const toSite = (wish) => parent.postMessage(`countersign: ${wish}`, "*");

// Fills "{name}" in a text.
function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

// --- scrolling

let follows = true;
scroll.addEventListener("scroll", () => {
  follows = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  if (follows) newest.hidden = true;
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
new ResizeObserver(() => { if (follows) toEnd(); }).observe(scroll);

// --- items

function meta(who, instant) {
  const when = new Date(instant);
  const time = make("time", "", when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
  time.dateTime = when.toISOString();
  time.title = when.toLocaleString();
  if (when.toDateString() !== new Date().toDateString()) {
    time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
  return make("p", "meta", make("span", "", who), time);
}

// Rendered and sanitised by the server.
function rich(html, className = "text") {
  const element = make("div", className);
  element.dir = "auto";
  element.innerHTML = html;
  for (const pre of element.querySelectorAll("pre")) pre.tabIndex = 0;
  return element;
}

const draw = {
  said(item) {
    const bubble = make("div", "bubble", item.text);
    bubble.dir = "auto";
    const you = meta(says.you, item.at);
    you.firstChild.className = "hidden";
    const element = make("li", "said", bubble, you);
    element.dataset.message = item.message;
    return element;
  },
  text: (item) => make("li", "bot", meta(bot, item.at), rich(item.html)),
  aside: (item) => make("li", "bot", meta(bot, item.at), make("div", "card aside", rich(item.html))),
  settled: (item) => make("li", "bot", meta(bot, item.at), make("div", "card settled", rich(item.html))),
  question(item) {
    const back = make("p", "said-back");
    back.hidden = true;
    back.setAttribute("role", "status");
    const choices = make("div", "choices");
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", says.decision);
    for (const choice of item.choices) {
      const look = "ar".includes(choice.key) ? "primary" : choice.key === "d" ? "danger" : "";
      const button = make("button", look, choice.label);
      button.type = "button";
      button.addEventListener("click", () => press(item.approval, choice.key, choices, back));
      choices.append(button);
    }
    const card = make("div", "card question", rich(item.html), choices, back);
    return make("li", "bot", meta(bot, item.at), card);
  },
  file(item) {
    const ending = item.name.includes(".") ? item.name.split(".").pop() : "file";
    const kind = make("span", "kind", ending.slice(0, 4).toUpperCase());
    kind.setAttribute("aria-hidden", "true");
    const name = make("bdi", "name", item.name);
    const size = make("span", "size", `${typeName(item.media_type, ending)} · ${bytes(item.size_bytes)}`);
    const link = make("a", "card file", kind, make("span", "words", name, size), arrow());
    link.href = item.url;
    if (base) link.addEventListener("click", (event) => save(event, link, item.url));
    link.download = item.name;
    link.setAttribute("aria-label", filled(says.download, { name: item.name, size: size.textContent }));
    const element = make("li", "bot", meta(bot, item.at));
    if (/^image\/(png|jpeg|gif|webp)$/.test(item.media_type)) {
      const picture = make("img", "picture");
      source(item.url).then((url) => { picture.src = url; }, () => picture.remove());
      picture.alt = item.name;
      picture.addEventListener("load", () => { if (follows) toEnd(); });
      element.append(picture);
    }
    element.append(link);
    if (item.html) element.append(rich(item.html, "text caption"));
    return element;
  },
};

// The URL of a file. In a widget, the page fetches it with the visitor's pass and keeps it.
async function source(url) {
  if (!base) return url;
  const answer = await fetch(`${base}${url}`, { headers });
  if (!answer.ok) throw new Error(filled(says.answered, { status: answer.status }));
  return URL.createObjectURL(await answer.blob());
}

async function save(event, link, url) {
  if (link.href.startsWith("blob:")) return;
  event.preventDefault();
  try {
    link.href = await source(url);
    link.click();
  } catch (problem) {
    tell(problem.message);
  }
}

function typeName(mediaType, ending) {
  const names = [
    [/pdf$/, says.pdf], [/wordprocessingml/, says.word],
    [/spreadsheetml/, says.excel], [/presentationml/, says.powerpoint],
    [/^image\//, says.image], [/^text\/csv/, says.csv], [/^text\/markdown/, "Markdown"],
    [/^text\/plain/, says.plain_text], [/zip$/, says.archive],
  ];
  const found = names.find(([pattern]) => pattern.test(mediaType));
  return found ? found[1] : filled(says.file, { kind: ending.toUpperCase() });
}

function bytes(count) {
  if (count < 1000) return `${count} ${says.bytes}`;
  const unit = ["kB", "MB", "GB"], step = Math.min(3, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** step;
  return `${value.toLocaleString([], { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit[step - 1]}`;
}

function arrow() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of [["viewBox", "0 0 20 20"], ["width", "20"], ["height", "20"], ["aria-hidden", "true"]]) {
    svg.setAttribute(name, value);
  }
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M10 3v9m0 0 4-4m-4 4L6 8M4 16h12");
  path.setAttribute("fill", "none");
  path.setAttribute("stroke", "currentColor");
  path.setAttribute("stroke-width", "1.800");
  path.setAttribute("stroke-linecap", "round");
  path.setAttribute("stroke-linejoin", "round");
  svg.append(path);
  return svg;
}

// An edit replaces the item that it edits, whatever both are: a proposed grant, a vote and a granted
// permission are questions with other words and buttons.
function put(item) {
  const old = log.querySelector(`:scope > [data-id="${CSS.escape(item.id)}"]`);
  if (old && old.dataset.edit >= item.edit) return false;
  const element = draw[item.kind](item);
  element.dataset.id = item.id;
  element.dataset.edit = item.edit;
  element.dataset.kind = item.kind;
  element.dataset.order = item.order;
  if (old) {
    const hadFocus = old.contains(document.activeElement);
    old.replaceWith(element);
    if (hadFocus) text.focus();
    return true;
  }
  if (item.kind === "said") log.querySelector(`:scope > [data-local="${CSS.escape(item.message)}"]`)?.remove();
  // After all earlier items, and after what this page has shown by itself.
  let before = log.lastElementChild;
  while (before?.dataset.order && before.dataset.order > item.order) before = before.previousElementSibling;
  if (before) before.after(element);
  else log.prepend(element);
  return true;
}

// A reconnected page receives everything again; only what is new to it counts.
function take(items) {
  let answered = false, anything = false;
  change(() => {
    for (const item of items) {
      if (!put(item)) continue;
      anything = true;
      answered ||= item.kind !== "said";
    }
    if (answered) endDraft();
    greet();
  }, items.length > 0);
  if (!anything) newest.hidden = true;
  if (answered && document.hidden) document.title = `● ${bot}`;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.title = bot;
});

function greet() {
  at("welcome").hidden = log.childElementCount > 0;
}

// --- transient items

let draftTimer, typingTimer;

function endDraft() {
  clearTimeout(draftTimer);
  clearTimeout(typingTimer);
  draft.hidden = true;
  typing.hidden = true;
}

function showDraft(html) {
  clearTimeout(draftTimer);
  // No update for a while: the writer is gone.
  draftTimer = setTimeout(() => { draft.hidden = true; }, 60_000);
  const isEmpty = html.trim() === "";
  change(() => {
    draft.lastElementChild.innerHTML = html;
    draft.hidden = isEmpty;
    if (!isEmpty) typing.hidden = true;
  }, false);
}

function showTyping() {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(() => { typing.hidden = true; }, 12_000);
  if (!draft.hidden) return;
  change(() => { typing.hidden = false; }, false);
}

let noticeTimer;
function tell(words) {
  clearTimeout(noticeTimer);
  notice.textContent = words;
  notice.hidden = false;
  noticeTimer = setTimeout(() => { notice.hidden = true; }, 8_000);
}

// --- the stream

let line, retry, wait = 1_000;

const hear = {
  past(past) {
    at("earlier").hidden = !past.begins_late;
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
  toast: (toast) => { if (toast.text) tell(toast.text); },
  signed_out: signedOut,
};

// Reads an event stream. EventSource would not report the status of a rejected request.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const whole = (text + part.value).split("\n\n");
    text = whole.pop();
    for (const event of whole) {
      const name = event.match(/^event: (.*)$/m), told = event.match(/^data: (.*)$/m);
      if (name && told) yield [name[1], JSON.parse(told[1])];
    }
  }
}

// An error in the page is no reason to reconnect.
function heard([name, told]) {
  try {
    hear[name]?.(told);
  } catch (problem) {
    reportError(problem);
  }
}

async function connect() {
  clearTimeout(retry);
  line?.abort();
  const own = line = new AbortController();
  try {
    const answer = await fetch(`${base}/chat/events`, { headers, signal: own.signal });
    if (answer.status === 401) return signedOut();
    if (!answer.ok) throw new Error(answer.statusText);
    wait = 1_000;
    at("line").textContent = "";
    for await (const event of events(answer.body)) heard(event);
  } catch {
    // Disconnected, or never connected: retry.
  }
  if (own.signal.aborted) return;
  at("line").textContent = says.reconnecting;
  endDraft();
  retry = setTimeout(connect, wait);
  wait = Math.min(wait * 2, 30_000);
}

function signedOut() {
  line?.abort();
  if (base) toSite("enter");
  else location.replace("/");
}

// A page in the background disconnects after a while: browsers limit connections to six per server.
let resting;
document.addEventListener("visibilitychange", () => {
  clearTimeout(resting);
  if (document.hidden) resting = setTimeout(() => { clearTimeout(retry); line.abort(); }, 300_000);
  else if (line.signal.aborted) connect();
});
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });

// --- sending

async function post(path, body) {
  let answer;
  try {
    answer = await fetch(`${base}${path}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error(says.no_connection);
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) signedOut();
  if (!answer.ok) throw new Error(said.detail ?? filled(says.answered, { status: answer.status }));
  return said;
}

// The id makes it safe to send the same message again.
function newId() {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function say(words) {
  const id = newId();
  const element = draw.said({ text: words, at: Date.now(), message: `w${id}` });
  element.dataset.local = `w${id}`;
  follows = true;
  change(() => { log.append(element); greet(); }, false);
  attempt(element, id, words);
}

async function attempt(element, id, words) {
  element.querySelector(".fault")?.remove();
  element.classList.remove("failed");
  element.classList.add("sending");
  try {
    await post("/chat/messages", { id, text: words });
  } catch (problem) {
    const again = make("button", "", says.try_again);
    again.type = "button";
    again.addEventListener("click", () => { attempt(element, id, words); text.focus(); });
    const fault = make("div", "fault", make("span", "", filled(says.not_sent, { why: problem.message })), again);
    fault.setAttribute("role", "alert");
    element.classList.add("failed");
    change(() => element.append(fault), false);
  }
  element.classList.remove("sending");
}

async function press(approval, key, choices, back) {
  const buttons = choices.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  back.hidden = true;
  try {
    const answer = await post("/chat/press", { approval, key });
    back.textContent = answer.text;
  } catch (problem) {
    back.textContent = filled(says.not_decided, { why: problem.message });
    for (const button of buttons) button.disabled = false;
  }
  change(() => { back.hidden = false; }, false);
}

// --- the message field

function grow() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
  send.disabled = text.value.trim() === "";
}

text.addEventListener("input", grow);
text.addEventListener("keydown", (event) => {
  // Enter that ends IME composition (Japanese, Chinese, …) does not send.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  at("compose").requestSubmit();
});

at("compose").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = text.value.trim();
  if (words === "") return;
  if ([...words].length > 100_000) {
    return tell(says.too_long);
  }
  text.value = "";
  notice.hidden = true;
  grow();
  say(words);
});

for (const start of document.querySelectorAll("[data-start]")) {
  start.addEventListener("click", () => {
    text.value = start.dataset.start;
    grow();
    text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
  });
}

at("sign-out")?.addEventListener("click", async () => {
  try {
    await post("/sign-out", {});
    signedOut();
  } catch (problem) {
    tell(problem.message);
  }
});

if (base) {
  addEventListener("keydown", (event) => { if (event.key === "Escape") toSite("close"); });
}
if (base && !pass) toSite("enter");
else connect();
grow();
