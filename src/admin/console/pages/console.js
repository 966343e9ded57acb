// Live pages of the console: when the server reports a change, the page is fetched again, and only
// changed elements are replaced.
"use strict";

const main = document.getElementById("main");
const news = document.getElementById("news");
const connection = document.getElementById("connection");
// The last version of each element from the server, without what a person has opened or typed.
const sent = new WeakMap();

const keyed = (part) => [...part.children].filter((child) => child.dataset.key);
const parts = (page) => [...page.querySelectorAll("[data-part]")];
for (const part of parts(document)) for (const child of keyed(part)) sent.set(child, child.outerHTML);
prepare(document);
// On a phone the navigation is a strip: it begins with the current page.
document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });

// Names the cells of tables, which are cards on a phone, and shows times as those of this device.
function prepare(within) {
  for (const box of within.querySelectorAll(".wide-table")) {
    const table = box.querySelector("table");
    const titles = [...table.querySelectorAll("thead th")].map((title) => title.textContent.trim());
    box.classList.add("labelled");
    // Cards look like no table to a browser, which would forget the roles.
    table.setAttribute("role", "table");
    for (const row of table.querySelectorAll("tr")) {
      row.setAttribute("role", "row");
      [...row.cells].forEach((cell, index) => {
        const isTitle = cell.tagName === "TH";
        const role = !isTitle ? "cell" : cell.scope === "row" ? "rowheader" : "columnheader";
        cell.setAttribute("role", role);
        if (row.parentElement.tagName === "TBODY" && cell.colSpan === 1 && titles[index]) {
          cell.dataset.label = titles[index];
        }
      });
    }
  }
  for (const time of within.querySelectorAll("time[datetime]")) {
    const when = new Date(time.dateTime);
    if (Number.isNaN(when.getTime()) || time.title) continue;
    time.title = `${time.textContent} UTC`;
    const today = when.toDateString() === new Date().toDateString();
    time.textContent = today ? when.toLocaleTimeString() : when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const after = time.nextSibling;
    if (after?.nodeType === Node.TEXT_NODE) after.data = after.data.replace(/^ UTC\b/, "");
  }
}

// A new schedule is meant in the time zone of this device.
for (const zone of document.querySelectorAll("[data-zone]")) {
  zone.value ||= Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

function merge(part, fresh) {
  const there = new Map(keyed(part).map((child) => [child.dataset.key, child]));
  let before = null;
  for (const child of keyed(fresh)) {
    const html = child.outerHTML;
    let old = there.get(child.dataset.key);
    there.delete(child.dataset.key);
    // Do not replace an element that has the focus.
    if (!old || (sent.get(old) !== html && !old.contains(document.activeElement))) {
      const element = document.importNode(child, true);
      sent.set(element, html);
      prepare(element);
      if (old) old.replaceWith(element);
      else if (child.dataset.news) news.textContent = child.dataset.news;
      old = element;
    }
    if (before ? before.nextElementSibling !== old : part.firstElementChild !== old) {
      if (before) before.after(old);
      else part.prepend(old);
    }
    before = old;
  }
  for (const gone of there.values()) {
    const hadFocus = gone.contains(document.activeElement);
    gone.remove();
    if (hadFocus) main.querySelector("h1")?.focus();
  }
}

// The server did not answer, or is in trouble.
class Unavailable extends Error {}

// Fetches the page, and shows what has changed.
async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  // The session has ended, or the role has changed: the page says so.
  if (answer.status === 401 || answer.status === 403) return location.reload();
  if (!answer.ok) throw new Unavailable(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const fresh of parts(page)) {
    const part = main.querySelector(`[data-part="${CSS.escape(fresh.dataset.part)}"]`);
    if (part) merge(part, fresh);
  }
  document.title = page.title;
}

let asking = false, again = false;

async function look() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    do {
      again = false;
      await refresh();
    } while (again);
  } finally {
    asking = false;
  }
}

let stream, retry, wait = 1_000;

function connect() {
  clearTimeout(retry);
  stream?.close();
  stream = new EventSource(main.dataset.live);
  stream.addEventListener("open", () => {
    wait = 1_000;
    connection.textContent = "";
  });
  stream.addEventListener("changed", () => look().catch(lost));
  // A closed stream was rejected; otherwise the browser reconnects by itself.
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) lost();
    else connection.textContent = LOST;
  });
}

const LOST = document.body.dataset.lost;

function lost() {
  connection.textContent = LOST;
  clearTimeout(retry);
  retry = setTimeout(() => look().then(connect, lost), wait);
  wait = Math.min(wait * 2, 30_000);
}

if (main.dataset.live) {
  connect();
  // A page in the background disconnects after a while: browsers limit connections to six per server.
  let resting;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) resting = setTimeout(() => { clearTimeout(retry); stream.close(); }, 300_000);
    else if (stream.readyState === EventSource.CLOSED) connect();
  });
  addEventListener("online", connect);
}

// A form is sent once, however often its button is clicked. Signing out also clears what the chat
// keeps in this browser.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  const warning = event.submitter?.dataset.confirm;
  if (warning && !confirm(warning)) return event.preventDefault();
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "true";
  if (form.getAttribute("action") === "/sign-out") forget();
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

function forget() {
  new BroadcastChannel("countersign sign-out").postMessage("");
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith("countersign chat ")) localStorage.removeItem(key);
  } catch { /* forbidden */ }
}

// Shows the names of the arguments of the chosen tool, and puts them into the field on a click.
const tool = document.querySelector("#editor input[name=tool]");
if (tool) {
  const list = document.getElementById("arguments");
  const fields = document.querySelector("#editor textarea[name=fields]");
  const show = () => {
    const known = [...document.querySelectorAll("#tools option")].find((one) => one.value === tool.value);
    const names = (known?.dataset.fields ?? "").split(" ").filter(Boolean);
    list.replaceChildren(...names.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => {
        fields.value = `${fields.value.trimEnd()}\n${name} = `.trimStart();
        fields.focus();
      });
      return button;
    }));
  };
  tool.addEventListener("input", show);
  show();
}
