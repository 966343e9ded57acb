// The items of a conversation: messages, requests, calls and files.

import { ask, at, base, bot, bytes, filled, icon, make, makeButton, post, says, tell } from "/assets/dom.js";

export const log = at("log");

export function meta(who, instant) {
  const when = new Date(instant);
  const time = make("time", "", when.toLocaleTimeString([], { timeStyle: "short" }));
  time.dateTime = when.toISOString();
  time.title = when.toLocaleString();
  if (when.toDateString() !== new Date().toDateString()) {
    time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
  return make("p", "meta", make("span", "", who), time);
}

// Rendered and sanitised by the server.
export function rich(html, className = "text") {
  const element = make("div", className);
  element.dir = "auto";
  element.innerHTML = html;
  for (const pre of element.querySelectorAll("pre")) {
    pre.tabIndex = 0;
    const block = make("div", "code");
    pre.replaceWith(block);
    block.append(pre, copyButton(() => pre.textContent));
  }
  return element;
}

function copyButton(text) {
  const button = makeButton("copy", says.copy, async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      return tell(says.not_copied);
    }
    button.textContent = says.copied;
    setTimeout(() => { button.textContent = says.copy; }, 2_000);
  });
  return button;
}

// Times in UTC, as requests and outcomes contain them, become those of this device.
const UTC = /(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC/;
function inLocalTime(element) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (UTC.test(node.data) && !node.parentElement.closest("code, pre")) found.push(node);
  }
  for (const node of found) {
    const [whole, day, hour] = node.data.match(UTC);
    const when = new Date(`${day}T${hour}Z`);
    const today = when.toDateString() === new Date().toDateString();
    const style = { timeStyle: "short", ...(today ? {} : { dateStyle: "medium" }) };
    const time = make("time", "", when.toLocaleString([], style));
    time.dateTime = when.toISOString();
    time.title = whole;
    const rest = node.splitText(node.data.indexOf(whole));
    rest.data = rest.data.slice(whole.length);
    rest.before(time);
  }
  return element;
}

const STATES = {
  running: says.call_running, asked: says.call_asked, done: says.call_done,
  failed: says.call_failed, denied: says.call_denied, withdrawn: says.call_withdrawn,
};

const card = (className, html) => inLocalTime(make("div", `card ${className}`, rich(html)));
const fromBot = (item, ...children) => make("li", "bot", meta(bot, item.at), ...children);

export const draw = {
  said(item) {
    const bubble = make("div", "bubble", item.text);
    bubble.dir = "auto";
    for (const file of item.files ?? []) {
      const size = file.size_bytes === null ? "" : ` · ${bytes(file.size_bytes)}`;
      bubble.append(make("span", "attached", icon(CLIP), make("bdi", "", file.name), size));
    }
    const you = meta(says.you, item.at);
    you.firstChild.className = "hidden";
    if (item.again) you.append(make("span", "", says.sent_again));
    const element = make("li", "said", bubble, you);
    element.dataset.message = item.message;
    // What comes before is not part of the conversation any more.
    if (/^\/new\b/.test(item.text)) element.prepend(make("p", "began", says.new_conversation));
    return element;
  },
  text: (item) => fromBot(item, rich(item.html)),
  aside: (item) => fromBot(item, card("aside", item.html)),
  settled: (item) => fromBot(item, card("settled", item.html)),
  question(item) {
    const back = make("p", "said-back");
    back.hidden = true;
    back.setAttribute("role", "status");
    const choices = make("div", "choices");
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", says.decision);
    for (const choice of item.choices) {
      const look = "ar".includes(choice.key) ? "primary" : choice.key === "d" ? "danger" : "";
      choices.append(makeButton(look, choice.label, () => press(item.approval, choice.key, choices, back)));
    }
    const request = card("approval", item.html);
    request.append(choices, back);
    return fromBot(item, request);
  },
  call(item) {
    const what = make("span", "what");
    what.innerHTML = item.summary;
    const state = make("span", `state ${item.state}`, STATES[item.state]);
    if (item.took_ms !== null) state.append(` · ${duration(item.took_ms)}`);
    const details = make("details", "call", make("summary", "", what, state));
    const part = (title, text) => {
      const pre = make("pre", "", text);
      pre.tabIndex = 0;
      details.append(make("p", "quiet", title), pre);
    };
    part(filled(says.call_arguments, { tool: item.tool }), item.arguments);
    if (item.result !== null) part(says.call_result, item.result);
    const old = log.querySelector(`:scope > [data-id="${CSS.escape(item.id)}"] details`);
    details.open = old?.open ?? false;
    return make("li", "bot", details);
  },
  file(item) {
    const ending = item.name.includes(".") ? item.name.split(".").pop() : "file";
    const kind = make("span", "kind", ending.slice(0, 4).toUpperCase());
    kind.setAttribute("aria-hidden", "true");
    const name = make("bdi", "name", item.name);
    const size = make("span", "size", `${typeName(item.media_type, ending)} · ${bytes(item.size_bytes)}`);
    const act = make("span", "hidden", `${says.download} `);
    const link = make("a", "card file", act, kind, make("span", "words", name, size), icon(ARROW));
    link.href = source(item.url);
    if (base) link.addEventListener("click", (event) => save(event, link, item.url));
    link.download = item.name;
    const element = make("li", "bot", meta(bot, item.at));
    if (/^image\/(png|jpeg|gif|webp)$/.test(item.media_type)) {
      const picture = make("img", "picture");
      picture.alt = item.name;
      loaded(item.url).then((url) => { picture.src = url; }, () => picture.remove());
      element.append(picture);
    }
    element.append(link);
    if (item.html) element.append(rich(item.html, "text caption"));
    return element;
  },
};

const ARROW = "M10 3v9m0 0 4-4m-4 4L6 8M4 16h12";
export const CLIP = "M14.5 9.5 9 15a3.2 3.2 0 0 1-4.6-4.6l6.3-6.3a2.1 2.1 0 0 1 3 3L7.7 13a1 1 0 0 1-1.500-1.500L11.5 6.3";

function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  return `${(ms / 1000).toLocaleString([], { maximumFractionDigits: ms < 10_000 ? 1 : 0 })} s`;
}

const search = location.search.includes("conversation=") ? location.search : "";
const source = (url) => base ? url : `${url}${search}`;

// The URL of a picture. In a widget, the page fetches it with the visitor's pass and keeps it.
async function loaded(url) {
  if (!base) return source(url);
  const answer = await ask(url);
  if (!answer.ok) throw new Error(filled(says.answered, { status: answer.status }));
  return URL.createObjectURL(await answer.blob());
}

async function save(event, link, url) {
  if (link.href.startsWith("blob:")) return;
  event.preventDefault();
  try {
    link.href = await loaded(url);
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

// A disabled button would lose the focus, so the buttons only refuse to be pressed again.
async function press(approval, key, choices, back) {
  if (choices.dataset.pressed) return;
  choices.dataset.pressed = key;
  const buttons = choices.querySelectorAll("button");
  for (const button of buttons) button.setAttribute("aria-disabled", "true");
  back.hidden = true;
  try {
    const answer = await post("/chat/press", { approval, key });
    back.textContent = answer.text;
  } catch (problem) {
    back.textContent = filled(says.not_decided, { why: problem.message });
    delete choices.dataset.pressed;
    for (const button of buttons) button.removeAttribute("aria-disabled");
  }
  back.hidden = false;
}

// An edit replaces the item that it edits, whatever both are: a proposed grant, a vote and a granted
// permission are approval requests with other words and buttons. Returns whether the item is new here.
export function put(item, focusAfter) {
  const old = log.querySelector(`:scope > [data-id="${CSS.escape(item.id)}"]`);
  if (old && old.dataset.edit >= item.edit) return false;
  const element = draw[item.kind](item);
  element.dataset.id = item.id;
  element.dataset.edit = item.edit;
  element.dataset.kind = item.kind;
  element.dataset.order = item.order;
  if (old) {
    const focused = old.contains(document.activeElement) ? document.activeElement.tagName : "";
    old.replaceWith(element);
    // Not on a button, which may mean something else now.
    if (focused) (focused === "SUMMARY" ? element.querySelector("summary") : focusAfter).focus();
    return true;
  }
  if (item.kind === "said") log.querySelector(`:scope > [data-local="${CSS.escape(item.message)}"]`)?.remove();
  // Before all later items, and after what this page has shown by itself.
  let after = null;
  for (let one = log.lastElementChild; one; one = one.previousElementSibling) {
    if (!one.dataset.order) continue;
    if (one.dataset.order <= item.order) break;
    after = one;
  }
  log.insertBefore(element, after);
  return true;
}
