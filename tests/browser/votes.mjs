// A request that two people have to allow, in a real browser: the votes so far are shown live.
//
//   node tests/browser/votes.mjs BASE_URL SIGN_IN_TOKEN
//
// The guard of the gateway behind BASE_URL needs two votes. Fails on any console error.

import { strict as assert } from "node:assert";
import { complaints, launch, listen, signIn } from "./browser.mjs";

const [base, token] = process.argv.slice(2);
assert(token, "usage: node votes.mjs BASE_URL SIGN_IN_TOKEN");

const browser = await launch();
const page = await (await browser.newContext()).newPage();
listen(page);

try {
  await signIn(page, base, token);
  const field = page.getByLabel(/^Message to/);
  await field.fill("save a note: water the plants");
  await field.press("Enter");
  const question = page.locator('#log > [data-kind="question"]');
  await question.waitFor({ timeout: 30_000 });
  assert.doesNotMatch(await question.innerText(), /1 of 2/);
  await question.getByRole("button", { name: "Allow once" }).click();
  await question.getByText("1 of 2").waitFor();
  // The request stays open, with the vote. The button is enabled again when the press has returned.
  await question.getByRole("button", { name: "Allow once" }).click();
  await question.getByText("1 of 2").waitFor();
  await question.getByRole("button", { name: "Withdraw vote" }).click();
  await question.getByText("0 of 2").waitFor();
  await question.getByRole("button", { name: "Withdraw vote" }).waitFor({ state: "detached" });
  assert.deepEqual(complaints, [], "the console has no errors");
  process.stdout.write("Votes are shown live in a browser.\n");
} catch (problem) {
  process.stderr.write(`console errors: ${JSON.stringify(complaints)}\n`);
  throw problem;
} finally {
  await browser.close();
}
