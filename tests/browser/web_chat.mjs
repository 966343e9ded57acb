// The web chat in a real browser, from the sign-in link to a downloaded file.
//
//   node tests/browser/web_chat.mjs BASE_URL SIGN_IN_TOKEN OUT.png
//
// Writes OUT.png, OUT-dark.png and OUT-phone.png. The gateway behind BASE_URL answers with its demo
// model. Fails on any console error.

import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { complaints, launch, listen, signIn } from "./browser.mjs";

const [base, token, out] = process.argv.slice(2);
assert(out, "usage: node web_chat.mjs BASE_URL SIGN_IN_TOKEN OUT.png");
const beside = (name) => out.replace(/(\.png)?$/, `-${name}.png`);

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1100, height: 900 } });
const page = await context.newPage();
listen(page);

const log = page.locator("#log");
const field = page.getByLabel(/^Message to/);

// Waits until so many things of that kind are on the page.
async function shown(kind, count, where = page) {
  const items = where.locator(`#log > [data-kind="${kind}"]`);
  await items.nth(count - 1).waitFor({ timeout: 30_000 });
  assert.equal(await items.count(), count, `${kind}: as many as expected`);
  return items.nth(count - 1);
}

async function say(words) {
  await field.fill(words);
  await field.press("Enter");
  assert.equal(await field.inputValue(), "", "the field is empty after sending");
}

try {
  await signIn(page, base, token);
  await page.getByRole("heading", { name: /^Hello/ }).waitFor();
  assert(await page.getByRole("button", { name: "Send" }).isDisabled(), "nothing to send yet");

  // A second tab of the same browser sees everything as well.
  const second = await context.newPage();
  listen(second);
  await second.goto(base);

  await say("what can you do");
  await shown("said", 1);
  const help = await shown("text", 1);
  assert((await help.innerText()).length > 40, "the answer says something");
  await shown("text", 1, second);

  await say("save a note: buy milk <b>and</b> bread");
  await shown("said", 2);
  const question = await shown("question", 1);
  assert.match(await question.innerText(), /buy milk <b>and<\/b> bread/, "it shows what will run");
  await page.screenshot({ path: beside("question") });
  const answers = await page.locator('#log > [data-kind="text"]').count();
  await question.getByRole("button", { name: "Allow once" }).click();
  const settled = await shown("settled", 1);
  assert.match(await settled.innerText(), /Allowed by/);
  assert.equal(await page.getByRole("button", { name: "Allow once" }).count(), 0);
  await shown("settled", 1, second);
  await shown("text", answers + 1);

  // A grant is proposed, taken back, proposed again and given, and then revoked. Each form of the
  // request replaces the previous one, in both tabs.
  const pressed = (name) => page.getByRole("button", { name, exact: true });
  await say("save a note: feed the cat");
  await shown("said", 3);
  const proposed = await shown("question", 1);
  await pressed("Always…").click();
  await pressed("Grant").waitFor();
  assert.equal(await pressed("Allow once").count(), 0, "the proposal replaces the request");
  await second.getByRole("button", { name: "Grant", exact: true }).waitFor();
  await pressed("Back").click();
  await pressed("Allow once").waitFor();
  assert(await pressed("Allow once").isEnabled(), "the request is open again");
  await pressed("Always…").click();
  await pressed("Grant").click();
  await pressed("Revoke").waitFor();
  assert.match(await proposed.innerText(), /Allowed by/);
  await second.getByRole("button", { name: "Revoke", exact: true }).waitFor();
  await page.reload();
  await pressed("Revoke").click();
  await shown("settled", 2);
  assert.equal(await page.locator("#log .choices button").count(), 0, "nothing is left to press");
  await shown("settled", 2, second);

  await say("write a report about rivers as pdf");
  await shown("said", 4);
  const first = page.locator('#log > [data-kind="file"], #log > [data-kind="question"]').last();
  await first.waitFor({ timeout: 30_000 });
  if ((await first.getAttribute("data-kind")) === "question") {
    await first.getByRole("button", { name: "Allow once" }).click();
  }
  // The first page as a picture, then the document.
  const file = await shown("file", 2);
  const page1 = page.locator('#log > [data-kind="file"] img.picture');
  await page1.waitFor();
  assert.ok(await page1.evaluate((image) => image.decode().then(() => image.naturalWidth > 100)));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    file.getByRole("link", { name: /^Download/ }).click(),
  ]);
  assert.match(download.suggestedFilename(), /\.pdf$/);
  const bytes = await readFile(await download.path());
  assert.equal(bytes.subarray(0, 4).toString("latin1"), "%PDF");

  // A line separator of Unicode, which JSON does not escape, is text like any other.
  const saidBefore = await page.locator('#log > [data-kind="said"]').count();
  await field.fill("what can a\u2028b do");
  await field.press("Enter");
  await shown("said", saidBefore + 1);
  await page.reload();
  await shown("said", saidBefore + 1);
  await page.waitForFunction(() => !document.getElementById("log").hasAttribute("aria-busy"));
  await page.waitForFunction(() => document.getElementById("stop").hidden);

  // Each call has a line, which unfolds.
  const call = page.locator('#log > [data-kind="call"]').first();
  assert.match(await call.innerText(), /Write the file/);
  await call.locator("summary").click();
  await call.getByText('"content"').waitFor();

  // A file that is attached, removed, and pasted; what is typed outlives a reload.
  const chips = page.locator("#chips .chip");
  const attach = (name, body) => page.locator("#picker").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(body) });
  await attach("wrong.txt", "x");
  await page.getByRole("button", { name: "Remove wrong.txt" }).click();
  assert.equal(await chips.count(), 0);
  await field.fill("half a thought");
  await field.evaluate((area) => area.dispatchEvent(new Event("input")));
  await page.waitForTimeout(500);
  await page.reload();
  await page.waitForFunction(() => document.getElementById("text").value === "half a thought");
  await attach("list.txt", "milk, bread");
  await field.evaluate((area) => {
    const data = new DataTransfer();
    data.items.add(new File(["eggs"], "pasted.txt", { type: "text/plain" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
  });
  await page.waitForFunction(() => document.querySelectorAll("#chips .chip").length === 2 && !document.getElementById("send").disabled);
  await page.screenshot({ path: beside("files") });
  await say("what can you do");
  const withFiles = page.locator('#log > [data-kind="said"]').last();
  await withFiles.getByText("pasted.txt").waitFor();
  assert.match(await withFiles.innerText(), /list\.txt\s+· 11 bytes/);
  await page.waitForFunction(() => document.getElementById("stop").hidden);
  assert.equal(await log.getByText(/couldn't download/).count(), 0, "the gateway has read the files");

  // The last message is answered again, with its files, in a new turn that says so.
  const saidOnce = await page.locator('#log > [data-kind="said"]').count();
  const regenerate = page.getByRole("button", { name: "Regenerate" });
  await regenerate.click();
  const repeated = await shown("said", saidOnce + 1);
  await repeated.getByText("sent again for a new answer").waitFor();
  await repeated.getByText("pasted.txt").waitFor();
  await page.waitForFunction(() => document.getElementById("log").lastElementChild.dataset.kind === "text");
  await regenerate.waitFor({ timeout: 30_000 });
  assert.equal(await regenerate.count(), 1, "only the last answer has it");
  await second.locator('#log > [data-kind="said"]').last().getByText("sent again").waitFor();

  // The menu of commands, by keyboard.
  await field.pressSequentially("/st");
  await page.getByRole("option", { name: /status/ }).waitFor();
  await field.press("ArrowDown");
  await field.press("Tab");
  assert.equal(await field.inputValue(), "/status");
  await field.fill("");

  // A second conversation begins empty, gets its name from the first message, is renamed and found.
  if (await page.getByRole("button", { name: "Conversations" }).isVisible()) await page.getByRole("button", { name: "Conversations" }).click();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.waitForURL(/conversation=/);
  await page.getByRole("heading", { name: /^Hello/ }).waitFor();
  await say("what can you do about elephants");
  await shown("text", 1);
  const list = page.locator("#threads");
  await list.getByText("what can you do about elephants").waitFor();
  await list.getByRole("button", { name: /^Rename what can you do about elephants/ }).click();
  await page.getByLabel("Name of the conversation").fill("Elephants");
  await page.getByLabel("Name of the conversation").press("Enter");
  await list.getByRole("link", { name: "Elephants" }).waitFor();
  await page.getByLabel("Search conversations").fill("feed the cat");
  await page.waitForFunction(() => document.querySelectorAll("#threads a").length === 1);
  const [exported] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export as Markdown" }).click(),
  ]);
  assert.match(await readFile(await exported.path(), "utf8"), /^# Elephants\n\n\*\*You\*\*/);
  // A line separates what the agent does not read any more.
  await say("/new");
  await page.locator("#log .began").waitFor();
  assert.equal(await page.locator("#log .began").innerText(), "New conversation");
  await page.screenshot({ path: beside("conversations") });
  await list.getByRole("link").click();
  await shown("file", 2);

  await page.evaluate(axe);
  for (const colorScheme of ["light", "dark"]) {
    // Colours are not measured in the middle of a transition.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { violations } = await page.evaluate(() => window.axe.run());
    const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(grave.map(({ id, nodes }) => [colorScheme, id, nodes[0].html]), []);
  }

  // The answer that follows the file may still be on its way; then everything stands still.
  await page.locator("#typing").waitFor({ state: "hidden" });
  await page.locator("#draft").waitFor({ state: "hidden" });
  await page.waitForFunction(() => {
    const count = document.getElementById("log").childElementCount;
    const [before, since] = window.seen ?? [-1, 0];
    if (count !== before) window.seen = [count, Date.now()];
    return count === before && Date.now() - since > 2_500;
  });
  const before = await log.innerText();
  await page.reload();
  await shown("file", 2);
  await page.waitForFunction(() => !document.getElementById("log").hasAttribute("aria-busy"));
  assert.equal(await log.innerText(), before, "the history is the same after a reload");

  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.screenshot({ path: out });
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await page.screenshot({ path: beside("dark") });
  await page.setViewportSize({ width: 390, height: 780 });
  await page.screenshot({ path: beside("phone") });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert(!wide, "nothing is wider than a phone");

  await page.setViewportSize({ width: 1100, height: 900 });
  assert.deepEqual(complaints, [], "the console has no errors");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("countersign token").waitFor();
  await second.getByText("countersign token").waitFor();
  process.stdout.write("The web chat works in a browser.\n");
} catch (problem) {
  await page.screenshot({ path: beside("failed") }).catch(() => {});
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}\n`);
  throw problem;
} finally {
  await browser.close();
}
