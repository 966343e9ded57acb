// A schedule that an owner creates in the console comes in the chat; its code is highlighted.
//
//   node tests/browser/schedules.mjs BASE_URL SIGN_IN_TOKEN OUT.png
//
// Writes OUT.png, OUT-phone.png, OUT-code.png, OUT-code-dark.png and OUT-code-phone.png. Fails on any
// console error, and on any violation that axe calls serious or critical.

import { strict as assert } from "node:assert";
import { complaints, grave, launch, listen, looksRight, open, say, signIn } from "./browser.mjs";

const [base, token, out] = process.argv.slice(2);
assert(out, "usage: node schedules.mjs BASE_URL SIGN_IN_TOKEN OUT.png");
const beside = (name) => out.replace(/(\.png)?$/, `-${name}.png`);

const CODE = `Look at this:

\`\`\`rust
// Adds up to a limit.
fn add(a: u32, b: u32) -> Option<u32> {
    let sum = a.checked_add(b)?;
    println!("{sum} of {}", 100);
    (sum <= 100).then_some(sum)
}
\`\`\`

\`\`\`diff
-let milk = 1;
+let bread = 2;
\`\`\``;

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1100, height: 820 }, reducedMotion: "reduce" });
const chat = await context.newPage();
const page = await context.newPage();
listen(chat);
listen(page);

try {
  await signIn(chat, base, token);
  await say(chat, "what can you do?");
  await chat.locator('#log > [data-kind="text"]').first().waitFor();

  await page.goto(`${base}/console`);
  await open(page, "Schedules");
  const editor = page.locator("#editor");
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  assert.equal(await editor.getByLabel(/^Time zone/).inputValue(), zone);
  await editor.getByLabel(/^For/).selectOption({ index: 0 });
  await editor.getByLabel(/^Text/).fill(CODE);
  await editor.getByLabel(/^When/).selectOption("in");
  await editor.locator('[name="time"]').fill("soon");
  await editor.getByRole("button", { name: "Save" }).click();
  const alert = editor.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.innerText(), /soon/);
  assert.equal(await editor.getByLabel(/^Text/).inputValue(), CODE, "what was typed is kept");
  complaints.length = 0; // The browser reports the status of the response.
  await looksRight(page, "the form with an error");
  await page.screenshot({ path: out, fullPage: true });
  await page.setViewportSize({ width: 390, height: 780 });
  await page.screenshot({ path: beside("phone"), fullPage: true });
  await page.setViewportSize({ width: 1100, height: 820 });
  await editor.locator('[name="time"]').fill("2s");
  await editor.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();

  // The first code after a start may take longer than is allowed, in a build for tests.
  await chat.getByText("Look at this:").waitFor({ timeout: 30_000 });
  await chat.reload();
  const keyword = chat.locator("#log .hl-keyword").first();
  await keyword.waitFor({ timeout: 30_000 });
  assert(await chat.locator("#log .hl-inserted").count() > 0, "a diff has colours");
  const colour = () => keyword.evaluate((element) => getComputedStyle(element).color);
  const light = await colour();
  await looksRight(chat, "highlighted code");
  await chat.screenshot({ path: beside("code") });
  await chat.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await colour(), light, "the colours fit the scheme");
  await chat.screenshot({ path: beside("code-dark") });
  await chat.setViewportSize({ width: 390, height: 780 });
  await chat.screenshot({ path: beside("code-phone") });

  // A task every day, which is changed.
  await editor.getByLabel(/^For/).selectOption({ index: 0 });
  await editor.getByLabel(/^What/).selectOption("run");
  await editor.getByLabel(/^Text/).fill("write the report");
  await editor.getByLabel(/^When/).selectOption("cron");
  await editor.locator('[name="time"]').fill("0 9 * * MON-FRI");
  await editor.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("link", { name: /^Edit/ }).click();
  assert.equal(await editor.locator('[name="time"]').inputValue(), "0 9 * * MON-FRI");
  await looksRight(page, "the form of a schedule");
  await editor.getByLabel(/^Text/).fill("write the short report");
  await editor.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: /^Task: write the short report/ }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("paused").waitFor();

  assert.deepEqual(grave, [], "nothing grave is found");
  assert.deepEqual(complaints, [], "the pages have no errors");
  process.stdout.write("Schedules work in a browser.\n");
} catch (problem) {
  await page.screenshot({ path: beside("failed") }).catch(() => {});
  await chat.screenshot({ path: beside("failed-chat") }).catch(() => {});
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}\n`);
  throw problem;
} finally {
  await browser.close();
}
