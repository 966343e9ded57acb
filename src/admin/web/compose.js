// The message field: files, the menu of commands, and the unfinished message, which outlives a reload.

import { at, base, bytes, filled, hideNotice, icon, kept, make, makeButton, says, send, tell } from "/assets/dom.js";
import { CLIP } from "/assets/items.js";

export const text = at("text");
const sendButton = at("send"), chips = at("chips"), picker = at("picker"), menu = at("commands");
const FILES = 10, FILE_BYTES = 20_000_000, TEXT_CHARS = 100_000;

// --- the field

let onSend;
export function begin(sends) {
  onSend = sends;
  const draft = kept.read("draft");
  if (draft && !text.value) text.value = draft;
  grow();
}

export function fill(words) {
  text.value = words;
  grow();
  text.focus();
  text.setSelectionRange(text.value.length, text.value.length);
}

function grow() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
  const isEmpty = text.value.trim() === "" && files.length === 0;
  sendButton.disabled = isEmpty || files.some((file) => !file.id);
}

let saving;
text.addEventListener("input", () => {
  grow();
  offer();
  clearTimeout(saving);
  saving = setTimeout(() => kept.write("draft", text.value || null), 300);
});
addEventListener("pagehide", () => kept.write("draft", text.value || null));

// The keyboard of a phone has no Shift+Enter: there, Enter starts a new line.
const sendsOnEnter = matchMedia("(hover: hover)");
text.addEventListener("keydown", (event) => {
  if (!menu.hidden && chooses(event)) return;
  if (!sendsOnEnter.matches && !event.ctrlKey && !event.metaKey) return;
  // Enter that ends IME composition (Japanese, Chinese, …) does not send.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  at("compose").requestSubmit();
});

at("compose").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = text.value.trim();
  if (sendButton.disabled) return;
  if ([...words].length > TEXT_CHARS) return tell(says.too_long);
  const sent = files.map(({ id, name, size_bytes }) => ({ id, name, size_bytes }));
  text.value = "";
  files.length = 0;
  chips.replaceChildren();
  clearTimeout(saving);
  kept.write("draft", null);
  hideNotice();
  offer();
  grow();
  onSend(words, sent);
});

// --- files

// The server takes two files of a person at once; the others wait. `id` is set when the upload is done.
const files = [], waiting = [], AT_ONCE = 2;
let uploading = 0;

function uploadNext() {
  while (uploading < AT_ONCE && waiting.length > 0) {
    uploading += 1;
    waiting.shift()().finally(() => { uploading -= 1; uploadNext(); });
  }
}

function attach(list) {
  for (const file of list) {
    if (files.length >= FILES) return tell(filled(says.too_many_files, { most: FILES }));
    if (file.size > FILE_BYTES) {
      tell(filled(says.file_too_large, { name: file.name, most: bytes(FILE_BYTES) }));
      continue;
    }
    upload(file);
  }
}

// Adds the file to the message. A file that could not be uploaded stays, and can be tried again.
function upload(file) {
  const name = file.name || "file", entry = { id: null, name, size_bytes: file.size };
  const stop = new AbortController();
  const state = make("span", "size");
  const chip = make("li", "chip", icon(CLIP), make("bdi", "name", name), state);
  const again = makeButton("plain again", says.try_again, () => { start(); text.focus(); });
  const drop = makeButton("plain", "×", () => {
    stop.abort();
    if (files.includes(entry)) files.splice(files.indexOf(entry), 1);
    chip.remove();
    grow();
    text.focus();
  });
  drop.setAttribute("aria-label", filled(says.remove_file, { name }));
  chip.append(drop);
  files.push(entry);
  chips.append(chip);
  const start = () => {
    again.remove();
    chip.classList.remove("failed");
    state.textContent = says.uploading;
    waiting.push(attempt);
    uploadNext();
    grow();
  };
  const attempt = async () => {
    if (stop.signal.aborted) return;
    try {
      const stored = await send(`/chat/files?name=${encodeURIComponent(name)}`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: file,
        signal: stop.signal,
      });
      entry.id = stored.id;
      state.textContent = bytes(file.size);
    } catch (problem) {
      if (stop.signal.aborted) return;
      state.textContent = says.call_failed;
      chip.classList.add("failed");
      drop.before(again);
      tell(filled(says.not_uploaded, { name, why: problem.message }));
    }
    grow();
  };
  start();
}

if (!base) {
  at("attach").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    attach(picker.files);
    picker.value = "";
    text.focus();
  });
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attach(event.clipboardData.files);
  });
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  let depth = 0;
  const show = () => at("drop").toggleAttribute("hidden", depth === 0);
  addEventListener("dragenter", (event) => { if (carries(event)) { depth += 1; show(); } });
  addEventListener("dragleave", (event) => { if (carries(event)) { depth = Math.max(0, depth - 1); show(); } });
  addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    show();
    attach(event.dataTransfer.files);
    text.focus();
  });
}

// --- the menu of commands

const { commands } = says;
let chosen = 0;

function offer() {
  // Prompts of MCP servers are called `server:prompt`.
  const typed = /^\/[\w:./-]*$/.test(text.value) ? text.value.slice(1).toLowerCase() : null;
  const found =
    typed === null ? [] : commands.filter(({ name }) => name.toLowerCase().startsWith(typed));
  menu.replaceChildren(...found.map(({ name, does }, index) => {
    const option = make("li", "", make("b", "", `/${name}`), make("span", "", does));
    option.id = `command-${index}`;
    option.setAttribute("role", "option");
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      fill(`/${name}`);
      offer();
    });
    return option;
  }));
  const isOpen = found.length > 0 && !(found.length === 1 && found[0].name.toLowerCase() === typed);
  menu.hidden = !isOpen;
  text.setAttribute("aria-expanded", String(isOpen));
  mark(0);
}

function mark(index) {
  const options = [...menu.children];
  chosen = options.length ? (index + options.length) % options.length : 0;
  options.forEach((option, own) => option.setAttribute("aria-selected", String(own === chosen)));
  if (menu.hidden) text.removeAttribute("aria-activedescendant");
  else text.setAttribute("aria-activedescendant", `command-${chosen}`);
}

// Whether the key was one of the menu.
function chooses(event) {
  if (event.isComposing) return false;
  if (event.key === "ArrowDown") mark(chosen + 1);
  else if (event.key === "ArrowUp") mark(chosen - 1);
  else if (event.key === "Escape") {
    menu.hidden = true;
    text.setAttribute("aria-expanded", "false");
    event.stopPropagation();
  } else if (event.key === "Tab" || event.key === "Enter") {
    fill(menu.children[chosen].firstChild.textContent);
    offer();
  } else return false;
  event.preventDefault();
  return true;
}

text.addEventListener("blur", () => { menu.hidden = true; text.setAttribute("aria-expanded", "false"); });
