// Notifications of approval requests: a person turns them on, a push service of its own decrypts what
// the gateway sends, and the service worker shows it.
//
//   node tests/browser/notifications.mjs BASE_URL SIGN_IN_TOKEN PYTHON PUSH_PORT OUT.png
//
// PYTHON has the packages of requirements.txt; the gateway may send to 127.0.0.1:PUSH_PORT. The browser
// has no push service of its own here, so its subscription is that of push_service.py, and what
// arrives there is handed to the service worker as Chromium would.

import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { complaints, grave, launch, listen, looksRight, say, signIn } from "./browser.mjs";

const [base, token, python, port, out] = process.argv.slice(2);
assert(out, "usage: node notifications.mjs BASE_URL SIGN_IN_TOKEN PYTHON PUSH_PORT OUT.png");

const service = spawn(python, ["push_service.py", port], { stdio: ["ignore", "pipe", "inherit"] });
const lines = createInterface({ input: service.stdout });
const [first] = await once(lines, "line");
const subscription = JSON.parse(first);
const received = [];
lines.on("line", (line) => received.push(JSON.parse(line)));

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1100, height: 820 }, reducedMotion: "reduce" });
await context.grantPermissions(["notifications"], { origin: base });
await context.addInitScript((own) => {
  const made = { endpoint: own.endpoint, toJSON: () => own, unsubscribe: async () => { localStorage.removeItem("subscribed"); return true; } };
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error("it would be silent");
    localStorage.setItem("subscribed", applicationServerKey);
    return made;
  };
  PushManager.prototype.getSubscription = async () => localStorage.getItem("subscribed") ? made : null;
}, subscription);
const page = await context.newPage();
listen(page);

async function until(what, claim) {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await claim()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`this never happened: ${what}`);
}

// Hands a message to the service worker, as the browser does when it arrives.
async function deliver(message) {
  const cdp = await context.newCDPSession(page);
  const registered = new Promise((resolve) => {
    cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      const own = registrations.find(({ scopeURL, isDeleted }) => scopeURL === `${base}/` && !isDeleted);
      if (own) resolve(own.registrationId);
    });
  });
  await cdp.send("ServiceWorker.enable");
  const data = JSON.stringify(message);
  await cdp.send("ServiceWorker.deliverPushMessage", { origin: base, registrationId: await registered, data });
  await cdp.detach();
}

const shown = () => page.evaluate(async () => {
  const registration = await navigator.serviceWorker.getRegistration("/");
  const notifications = await registration.getNotifications();
  return notifications.map(({ title, body, data, tag }) => ({ title, body, data, tag }));
});

try {
  await signIn(page, base, token);
  const box = page.getByLabel("Notify me about approvals");
  await box.waitFor();
  assert.equal(await box.isChecked(), false, "nobody is notified without asking for it");
  await say(page, "save a note: before");
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.getByText("Allowed by").first().waitFor();
  assert.deepEqual(received, []);

  await Promise.all([
    page.waitForResponse((answer) => answer.url().endsWith("/chat/notifications") && answer.request().method() === "POST"),
    box.check(),
  ]);
  await until("the box is enabled again", () => box.isEnabled());
  assert(await box.isChecked(), "it is turned on");
  await looksRight(page, "the chat with notifications");
  await page.screenshot({ path: out });
  const key = await page.evaluate(() => localStorage.getItem("subscribed"));

  await say(page, "save a note: the cat is secret");
  await until("the push service receives it", () => received.length > 0);
  const [message] = received;
  assert.equal(message.fault, undefined);
  assert.equal(message.key, key, "the request is signed with the key of the subscription");
  assert.deepEqual(message.text, { title: "Countersign", body: "An approval request is waiting for you.", url: "/" });

  // Nothing is shown to a person who looks at the conversation; elsewhere it is.
  await page.bringToFront();
  await page.goto(`${base}/console/approvals`);
  await deliver(message.text);
  await until("a notification is shown", async () => (await shown()).length > 0);
  assert.deepEqual(await shown(), [{ title: "Countersign", body: message.text.body, data: "/", tag: "/" }]);
  await deliver(message.text);
  assert.equal((await shown()).length, 1, "one for each conversation");

  // It stays on after a reload, and is turned off again.
  await page.goto(base);
  await until("it is still on", () => box.isChecked());
  await Promise.all([
    page.waitForResponse((answer) => answer.request().method() === "DELETE"),
    box.uncheck(),
  ]);
  await page.getByRole("button", { name: "Allow once" }).click();
  await until("it is decided", async () => (await page.getByRole("button", { name: "Allow once" }).count()) === 0);
  await say(page, "save a note: after");
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  await page.waitForTimeout(1_000);
  assert.equal(received.length, 1, "nothing more is sent");

  assert.deepEqual(grave, [], "nothing grave is found");
  assert.deepEqual(complaints, [], "the page has no errors");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("countersign token").waitFor();
  await until("the service worker is gone", () => page.evaluate(async () => !(await navigator.serviceWorker.getRegistration("/"))));
  process.stdout.write("Notifications work in a browser.\n");
} catch (problem) {
  await page.screenshot({ path: out.replace(/(\.png)?$/, "-failed.png") }).catch(() => {});
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}; received: ${JSON.stringify(received)}\n`);
  throw problem;
} finally {
  service.kill();
  await browser.close();
}
