// The console in a real browser, beside the web chat: a question is decided while the chat shows it,
// a tier changed, a rule tried, a dead letter replayed, a file saved; axe looks at every page.
//
//   node tests/browser/console.mjs BASE_URL SIGN_IN_TOKEN DATABASE OUT.png
//
// Needs the npm package axe-core besides. DATABASE is the SQLite file of the gateway behind
// BASE_URL, which answers with its demo model; a row of it is made a dead letter. Writes
// OUT-inbox.png, OUT-timeline.png, OUT-dark.png and OUT-phone.png. Fails on any console error, and
// on any violation that axe calls serious or critical.

import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { complaints, grave, launch, listen, looksRight, open, say, signIn } from "./browser.mjs";

const [base, token, database, out] = process.argv.slice(2);
assert(out, "usage: node console.mjs BASE_URL SIGN_IN_TOKEN DATABASE OUT.png");
const beside = (name) => out.replace(/(\.png)?$/, `-${name}.png`);

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1100, height: 820 }, reducedMotion: "reduce" });
const chat = await context.newPage();
const page = await context.newPage();
listen(chat);
listen(page);

// A row that was shown becomes one that the platform has refused.
function refuse() {
  const script = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=20)
db.execute("""UPDATE outbox SET status = 'refused', problem = 'the platform refused it' WHERE id =
  (SELECT MAX(id) FROM outbox WHERE body LIKE '{"kind":"text"%' AND status = 'sent')""")
db.commit()
assert db.total_changes == 1`;
  execFileSync("python3", ["-c", script, database]);
}

const question = page.getByRole("article");

async function decide() {
  await signIn(chat, base, token);
  await chat.getByRole("link", { name: "Console" }).waitFor();
  await page.goto(`${base}/console`);
  await page.waitForURL(`${base}/console/overview`);
  await page.getByRole("heading", { name: "Channels" }).waitFor();
  assert.match(await page.locator(".who").innerText(), /^Signed in as\s+owner$/, "the role is not a second name");
  await looksRight(page, "overview");
  await open(page, "Approvals");
  await page.getByText("No open approvals.").waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip", "the skip link comes first");

  // It comes to the open page by itself, and goes by itself when the chat has decided.
  await say(chat, "save a note: water the plants");
  await question.getByText("water the plants").first().waitFor({ timeout: 15_000 });
  assert.match(await page.title(), /^\(1\)/);
  await chat.getByRole("button", { name: "Deny", exact: true }).click();
  await page.getByText("No open approvals.").waitFor({ timeout: 15_000 });

  await say(chat, "save a note: buy milk <b>and</b> bread");
  await question.getByText("Exact arguments").click();
  assert.match(await question.innerText(), /buy milk <b>and<\/b> bread/);
  await looksRight(page, "approvals");
  await page.screenshot({ path: beside("inbox") });
  await page.setViewportSize({ width: 390, height: 780 });
  await page.screenshot({ path: beside("phone") });
  await open(page, "Tools");
  assert.equal(await page.locator(".labelled td").first().evaluate((cell) => getComputedStyle(cell).display), "block");
  await page.screenshot({ path: beside("cards") });
  await open(page, "Approvals");
  await page.setViewportSize({ width: 1100, height: 820 });
  await question.getByRole("button", { name: "Allow once" }).click();
  await page.getByText("Decision saved.").waitFor();
  await chat.locator('#log > [data-kind="settled"]').nth(1).waitFor();
  assert.match(await chat.locator('#log > [data-kind="settled"]').nth(1).innerText(), /Allowed by/);
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("cell", { name: "allowed" }).waitFor();
  await looksRight(page, "history");
}

async function settings() {
  await open(page, "Tools");
  const button = page.getByRole("button", { name: /^To core / }).first();
  const name = (await button.textContent()).split(" ").pop();
  await button.click();
  await page.getByRole("button", { name: `To extension ${name}`, exact: true }).waitFor();
  await looksRight(page, "tools");
  await open(page, "Guard rules");
  await page.getByLabel("Tool").nth(1).fill("shell");
  await page.getByLabel(/^Arguments, as JSON/).fill('{"command":"rm -rf /"}');
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("Test only; nothing was run.").waitFor();
  assert.match(await page.locator("#editor pre").innerText(), /^.*The guard (refuses|asks)\./s);
  // A mistake is shown above the form, which keeps what was typed.
  await page.getByLabel("Name").fill("no deletions");
  await page.getByLabel("Tool").first().fill("delete*");
  await page.getByLabel(/^Subject/).fill("(");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByLabel("Name").inputValue(), "no deletions");
  await looksRight(page, "a mistake");
  complaints.length = 0; // The browser reports the status of the response.
  await page.getByLabel(/^Subject/).fill("");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("rowheader", { name: "no deletions" }).waitFor();
  await looksRight(page, "rules");
}

// A browser without script has the same buttons.
async function withoutScript() {
  const plain = await browser.newContext({
    javaScriptEnabled: false, storageState: await context.storageState(),
  });
  const page = await plain.newPage();
  listen(page);
  await page.goto(`${base}/console/tools`);
  const button = page.getByRole("button", { name: /^Turn off / }).first();
  const name = (await button.textContent()).split(" ").pop();
  await button.click();
  await page.getByRole("button", { name: `Turn on ${name}`, exact: true }).click();
  await page.getByRole("button", { name: `Turn off ${name}`, exact: true }).waitFor();
  await plain.close();
}

async function files() {
  await say(chat, "write a report about rivers as pdf");
  const first = chat.locator('#log > [data-kind="file"], #log > [data-kind="question"]').last();
  await first.waitFor({ timeout: 30_000 });
  if ((await first.getAttribute("data-kind")) === "question") {
    await first.getByRole("button", { name: "Allow once" }).click();
  }
  await chat.locator('#log > [data-kind="file"]', { hasText: "PDF" }).waitFor({ timeout: 30_000 });
  await open(page, "Artifacts");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: /\.pdf$/ }).click(),
  ]);
  assert.equal((await readFile(await download.path())).subarray(0, 4).toString("latin1"), "%PDF");
  await open(page, "Conversations");
  await page.getByRole("row").nth(1).getByRole("link").click();
  await page.getByText(/^Sent: .+\.pdf$/).waitFor();
  await looksRight(page, "a conversation");
  await page.locator(".turn").nth(1).evaluate((turn) => turn.scrollIntoView());
  await page.screenshot({ path: beside("timeline") });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: beside("dark") });
  // The open page grows as the chat goes on.
  const steps = await page.locator(".step").count();
  await say(chat, "what can you do");
  await page.locator(".step").nth(steps + 1).waitFor({ timeout: 15_000 });
}

async function letters() {
  refuse();
  await open(page, "Dead letters");
  await page.getByText("the platform refused it").waitFor();
  await looksRight(page, "dead letters");
  await page.getByRole("button", { name: "Replay all" }).click();
  await page.getByText("Queued for another attempt.").waitFor();
  await page.getByText("None yet.").waitFor();
}

// A token is created, and its secret is shown once.
async function tokens() {
  await open(page, "Access");
  await page.getByLabel("Name", { exact: true }).fill("browser test");
  await page.getByRole("button", { name: "Create token" }).click();
  assert.match(await page.locator("code.secret").innerText(), /^cs_/);
  await looksRight(page, "a new token");
  await open(page, "Access");
  await page.getByRole("rowheader", { name: "browser test" }).waitFor();
  assert.equal(await page.locator("code.secret").count(), 0, "the secret is shown once");
  await looksRight(page, "access");
}

try {
  await decide();
  await settings();
  await withoutScript();
  await files();
  await letters();
  await tokens();
  for (const title of [
    "Grants", "People", "Schedules", "Artifacts", "Webhooks", "Channels", "Usage", "Audit", "Settings",
  ]) {
    await open(page, title);
    await looksRight(page, title);
  }
  await page.getByText("Panic…").click();
  await page.getByRole("button", { name: "Halt all tools" }).click();
  await page.getByText("All tools are halted").waitFor();
  await looksRight(page, "halted");
  await page.getByRole("button", { name: "Lift the halt" }).click();
  await page.getByText("Halt lifted: tools can run again.").waitFor();
  assert.deepEqual(grave, [], "nothing grave is found");
  assert.deepEqual(complaints, [], "the console has no errors");
  process.stdout.write("The console works in a browser.\n");
} catch (problem) {
  await page.screenshot({ path: beside("failed") }).catch(() => {});
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}\n`);
  throw problem;
} finally {
  await browser.close();
}
