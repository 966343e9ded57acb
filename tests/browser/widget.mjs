// The web chat in a page of another site: a visitor asks, decides as far as the policy lets them,
// saves a file, and finds it all again after a reload; another site can show nothing.
//
//   node tests/browser/widget.mjs GATEWAY_URL SITE_URL FOREIGN_URL OUT.png
//
// SITE_URL is a page that includes the widget, on the one origin that the gateway's channel `site`
// names; FOREIGN_URL is the same page on another. Fails on any console error of the site.

import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { complaints, launch, listen } from "./browser.mjs";

const [gateway, site, foreign, out] = process.argv.slice(2);
assert(out, "usage: node widget.mjs GATEWAY_URL SITE_URL FOREIGN_URL OUT.png");
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1100, height: 820 }, reducedMotion: "reduce" });
const page = await context.newPage();
listen(page);

const chat = (where) => where.frameLocator("iframe");
const shown = (kind, where = page) => chat(where).locator(`#log > [data-kind="${kind}"]`);

async function open(where) {
  await where.getByRole("button", { name: "Open the chat" }).click();
  await chat(where).getByLabel(/^Message to/).waitFor();
}

async function say(words, where = page) {
  const field = chat(where).getByLabel(/^Message to/);
  await field.fill(words);
  await field.press("Enter");
}

try {
  await page.goto(site);
  assert.equal(await page.evaluate(() => localStorage.length), 0, "nothing is kept before it is opened");
  await open(page);
  assert.equal(await chat(page).getByRole("button", { name: "Sign out" }).count(), 0);
  await say("what can you do");
  await shown("text").first().waitFor({ timeout: 30_000 });

  await say("save a note: my order is late");
  const question = shown("question").first();
  await question.waitFor({ timeout: 30_000 });
  await page.screenshot({ path: out });
  await question.getByRole("button", { name: "Allow once" }).click();
  await shown("settled").first().waitFor({ timeout: 30_000 });
  assert.match(await shown("settled").first().innerText(), /Allowed by Visitor/);

  await say("write a report about rivers as pdf");
  const first = chat(page).locator('#log > [data-kind="file"], #log > [data-kind="question"]').last();
  await first.waitFor({ timeout: 30_000 });
  if ((await first.getAttribute("data-kind")) === "question") {
    await first.getByRole("button", { name: "Allow once" }).click();
  }
  const file = shown("file").filter({ hasText: "PDF" });
  await file.waitFor({ timeout: 30_000 });
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    file.getByRole("link", { name: /^Download/ }).click(),
  ]);
  assert.equal((await readFile(await download.path())).subarray(0, 4).toString("latin1"), "%PDF");
  const picture = shown("file").locator("img.picture").first();
  assert.ok(await picture.evaluate((image) => image.decode().then(() => image.naturalWidth > 100)));

  // A reload, and a page that was closed: the same visitor.
  await page.reload();
  await open(page);
  await file.waitFor();
  assert.match(await shown("said").first().innerText(), /what can you do/);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(grave.map(({ id, nodes }) => [id, nodes[0].html]), []);

  // Escape closes it, and leads back to the button.
  await chat(page).getByLabel(/^Message to/).press("Escape");
  await page.getByRole("button", { name: "Open the chat" }).waitFor();
  assert.equal(await page.locator("iframe").isVisible(), false);
  await page.getByRole("button", { name: "Open the chat" }).click();
  await file.waitFor();

  // Somebody else sees nothing of it.
  const stranger = await (await browser.newContext()).newPage();
  listen(stranger);
  await stranger.goto(site);
  await open(stranger);
  await chat(stranger).getByRole("heading", { name: /^Hello/ }).waitFor();
  assert.equal(await shown("said", stranger).count(), 0);

  // A pass that does not hold any more is replaced.
  await stranger.evaluate(() => localStorage.setItem(localStorage.key(0), "forged"));
  await stranger.reload();
  await open(stranger);
  await say("what can you do", stranger);
  await shown("text", stranger).first().waitFor({ timeout: 30_000 });
  assert.deepEqual(complaints, [], "the console has no errors");

  // Another site gets no pass, and cannot show the chat in a frame of its own either.
  const thief = await (await browser.newContext()).newPage();
  await thief.goto(foreign);
  const refused = thief.waitForEvent("requestfailed");
  await thief.getByRole("button", { name: "Open the chat" }).click();
  assert.match((await refused).url(), /\/widget\/site\/visitors$/);
  assert.equal(await thief.locator("iframe").isVisible(), false);
  const blocked = thief.waitForEvent("console", (message) => /frame-ancestors/.test(message.text()));
  await thief.evaluate((url) => {
    const frame = document.createElement("iframe");
    frame.src = url;
    document.body.append(frame);
  }, `${gateway}/widget/site`);
  await blocked;
  process.stdout.write("The widget works in a browser.\n");
} catch (problem) {
  await page.screenshot({ path: out.replace(/(\.png)?$/, "-failed.png") }).catch(() => {});
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}\n`);
  throw problem;
} finally {
  await browser.close();
}
