// The first hour of a new operator in a real browser, beside a terminal: from an empty folder, the
// demo model answers, a model and a bot are connected, a person is paired, a report is received, a
// rule is written, a request is decided.
//
//   node tests/browser/first_hour.mjs BASE_URL SIGN_IN_TOKEN FAKE_PEERS OUT.png
//
// FAKE_PEERS is the program `fake-peers`. Needs the npm package axe-core besides. Writes
// OUT-demo.png, OUT-steps.png, OUT-report.png, OUT-rule.png, OUT-configuration.png and OUT-phone.png.
// Fails on any console error, and on any violation that axe calls serious or critical.

import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { complaints, grave, launch, listen, looksRight, open, say, signIn } from "./browser.mjs";

const [base, token, peersProgram, out] = process.argv.slice(2);
assert(out, "usage: node first_hour.mjs BASE_URL SIGN_IN_TOKEN FAKE_PEERS OUT.png");
const beside = (name) => out.replace(/(\.png)?$/, `-${name}.png`);

const peers = spawn(peersProgram, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: peers.stdout });
const [places] = await once(lines, "line");
const { telegram, token: botToken, model } = JSON.parse(places);
const heard = [];
lines.on("line", (line) => heard.push(JSON.parse(line).text));

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1100, height: 820 }, reducedMotion: "reduce" });
const chat = await context.newPage();
const page = await context.newPage();
listen(chat);
listen(page);

async function until(what, claim) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await claim()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`this never happened: ${what}`);
}

async function demo() {
  await signIn(chat, base, token);
  await say(chat, "what can you do?");
  await chat.locator('#log > [data-kind="text"]').first().waitFor({ timeout: 15_000 });
  await chat.screenshot({ path: beside("demo") });
}

async function connect() {
  await page.goto(`${base}/console`);
  await page.getByRole("main").getByRole("link", { name: "First steps" }).click();
  await page.getByRole("heading", { level: 1, name: "First steps" }).waitFor();
  await looksRight(page, "first steps");
  await page.getByLabel("Provider").selectOption({ label: "Another server with the API of OpenAI" });
  await page.getByLabel("Server address (self-hosted)").fill(model);
  await page.getByLabel("API key").fill("sk-of-the-first-hour");
  await page.getByLabel("Model (optional)").fill("a-model");
  await page.getByRole("button", { name: "Test and connect" }).first().click();
  await page.getByText("The model answers, and agents use it now.").waitFor({ timeout: 30_000 });

  // A wrong token is named above the form.
  await page.getByText("Your own Bot API server").click();
  const address = page.getByLabel("Address", { exact: true });
  await page.getByLabel("Token").fill("1:wrong-token");
  await address.fill(telegram);
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByRole("alert").waitFor({ timeout: 30_000 });
  complaints.length = 0; // The browser reports the status of the response.
  await page.getByLabel("Token").fill(botToken);
  await page.getByText("Your own Bot API server").click();
  await address.fill(telegram);
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByText("The platform accepts the token. The bot is connecting.").waitFor({ timeout: 30_000 });
  await page.screenshot({ path: beside("steps"), fullPage: true });

  await page.getByLabel("Channel").selectOption("telegram");
  await page.getByLabel("Role").selectOption("member");
  await page.getByRole("button", { name: "Create code" }).click();
  const code = await page.locator(".code code").innerText();
  peers.stdin.write(`${code}\n`);
  await until("Ann is let in", () => heard.length > 0);
  peers.stdin.write("hello\n");
  await until("the bot answers Ann", () => heard.some((text) => text.includes("the connected model")));
  await open(page, "People");
  await page.getByRole("rowheader", { name: "Ann" }).waitFor();
}

async function report() {
  await chat.reload();
  await say(chat, "write a report about rivers");
  const shown = chat.locator('#log > [data-kind="file"]', { hasText: "rivers.pdf" });
  const asked = chat.getByRole("button", { name: "Allow once" });
  await until("the report or a request", async () => (await shown.count()) > 0 || (await asked.count()) > 0);
  if ((await shown.count()) === 0) await asked.click();
  await shown.first().waitFor({ timeout: 60_000 });
  await chat.screenshot({ path: beside("report") });
}

async function rule() {
  await open(page, "Guard rules");
  const editor = page.locator("#editor");
  await editor.getByLabel("Name").fill("no secrets");
  await editor.getByLabel("Tool").first().fill("write_file");
  await editor.getByRole("button", { name: "path", exact: true }).click();
  await editor.getByLabel(/^Arguments, one per line/).fill("path = glob:secret/*");
  await editor.getByLabel("Action").selectOption("deny");
  await editor.getByLabel(/^Arguments, as JSON/).fill('{"path": "secret/a", "content": "x"}');
  await editor.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("Test only; nothing was run.").waitFor();
  assert.match(await editor.locator("pre").innerText(), /The guard refuses\.[\s\S]*no secrets/);
  await looksRight(page, "the rule editor");
  await page.screenshot({ path: beside("rule"), fullPage: true });
  await editor.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("rowheader", { name: "no secrets" }).waitFor();
}

async function decide() {
  await say(chat, "save a note about plants");
  await open(page, "Approvals");
  const question = page.getByRole("article");
  await question.getByText("notes/plants.md").first().waitFor({ timeout: 30_000 });
  await question.getByRole("button", { name: "Allow once" }).click();
  await page.getByText("Decision saved.").waitFor();
  await chat.getByText("Done.").last().waitFor({ timeout: 30_000 });
}

async function week() {
  await open(page, "Models and channels");
  await page.getByRole("link", { name: "Change main" }).click();
  await page.getByLabel(/^model /).fill("another-model");
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("heading", { name: "This would change" }).waitFor();
  await looksRight(page, "the configuration");
  await page.screenshot({ path: beside("configuration"), fullPage: true });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The previous file is").waitFor();
  await open(page, "Settings");
  await page.getByRole("link", { name: "Compare with the file" }).click();
  await page.getByText("another-model").first().waitFor();
  await page.getByRole("button", { name: "Reload", exact: true }).click();
  await page.getByText("The configuration was reloaded.").waitFor({ timeout: 30_000 });
  await open(page, "Search");
  await page.getByLabel("Words").fill("plants");
  await page.getByRole("main").getByRole("button", { name: "Search" }).click();
  await page.getByText("save a note about plants").first().waitFor();
  await looksRight(page, "search");
  for (const title of ["Doctor", "Skills", "Webhooks"]) {
    await open(page, title);
    await looksRight(page, title);
  }
  await page.setViewportSize({ width: 390, height: 780 });
  await page.goto(`${base}/console/overview`);
  await page.screenshot({ path: beside("phone") });
}

try {
  await demo();
  await connect();
  await report();
  await rule();
  await decide();
  await week();
  assert.deepEqual(grave, [], "nothing grave is found");
  assert.deepEqual(complaints, [], "the pages have no errors");
  process.stdout.write("The first hour works in a browser.\n");
} catch (problem) {
  await page.screenshot({ path: beside("failed") }).catch(() => {});
  await chat.screenshot({ path: beside("failed-chat") }).catch(() => {});
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}; heard: ${JSON.stringify(heard)}\n`);
  throw problem;
} finally {
  peers.kill();
  await browser.close();
}
