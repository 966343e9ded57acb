// The list of a person's conversations: names, search, new ones, export.

import { at, conversation, filled, make, makeButton, newId, post, says, send, tell } from "/assets/dom.js";

const side = at("side"), list = at("threads"), find = at("find"), none = at("none-found"), opener = at("open-list");
const page = (id) => id ? `/?conversation=${id}` : "/";

const nameOf = (thread) => thread.name || filled(says.unnamed, {
  day: new Date(thread.created_at).toLocaleDateString([], { dateStyle: "medium" }),
});

function row(thread) {
  const link = make("a", "", make("bdi", "", nameOf(thread)));
  link.href = page(thread.id);
  if (thread.id === conversation) link.setAttribute("aria-current", "page");
  const element = make("li", "", link);
  if (thread.found) link.append(make("span", "found", thread.found));
  const rename = makeButton("plain rename", "✎", () => edit(thread, element, link, rename));
  rename.setAttribute("aria-label", filled(says.rename, { name: nameOf(thread) }));
  element.append(rename);
  return element;
}

function edit(thread, element, link, rename) {
  const field = make("input", "");
  field.value = nameOf(thread);
  field.maxLength = 80;
  field.setAttribute("aria-label", says.name);
  let ended = false;
  // A person who has moved on keeps the focus where they are.
  const end = async ({ keeps, returns }) => {
    if (ended) return;
    ended = true;
    field.remove();
    link.hidden = rename.hidden = false;
    if (returns) link.focus();
    const name = field.value.trim();
    if (keeps && name && name !== nameOf(thread)) {
      try {
        await post("/chat/conversations/rename", { id: thread.id, name });
      } catch (problem) {
        tell(problem.message);
      }
    }
    await refresh();
  };
  field.addEventListener("keydown", (event) => {
    // These keys also end IME composition (Japanese, Chinese, …).
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") end({ keeps: true, returns: true });
    if (event.key === "Escape") end({ keeps: false, returns: true });
  });
  field.addEventListener("blur", () => end({ keeps: true, returns: false }));
  link.hidden = rename.hidden = true;
  element.append(field);
  field.focus();
  field.select();
}

// Shows these rows. A name that is being edited is left alone, and the focus stays where it was.
function replace(rows) {
  if (list.querySelector("input")) return;
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.closest("li").querySelector("a").getAttribute("href");
  list.replaceChildren(...rows);
  if (!focused) return;
  const now = rows.find((one) => one.querySelector("a").getAttribute("href") === href);
  (now?.querySelector(focused.tagName === "BUTTON" ? "button" : "a") ?? find).focus();
}

let wanted = 0;
export async function refresh() {
  if (!side) return;
  const own = ++wanted, words = find.value.trim();
  try {
    const { items } = await send(`/chat/conversations?search=${encodeURIComponent(words)}`);
    if (own !== wanted) return;
    // A new conversation exists only from its first message on.
    const isKnown = words || items.some(({ id }) => id === conversation);
    const here = { id: conversation, name: says.new_conversation, created_at: Date.now() };
    replace((isKnown ? items : [here, ...items]).map(row));
    none.hidden = items.length > 0 || !words;
    at("export").href = conversation ? `/chat/export?conversation=${conversation}` : "/chat/export";
  } catch (problem) {
    tell(problem.message);
  }
}

function turn(isOpen) {
  document.body.classList.toggle("listed", isOpen);
  opener.setAttribute("aria-expanded", String(isOpen));
  if (isOpen) find.focus();
}

if (side) {
  let pause;
  find.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(refresh, 250);
  });
  at("new").addEventListener("click", () => location.assign(page(newId())));
  opener.addEventListener("click", () => turn(!document.body.classList.contains("listed")));
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !document.body.classList.contains("listed")) return;
    turn(false);
    opener.focus();
  });
  at("shade").addEventListener("click", () => turn(false));
  refresh();
}
