// A real browser that complains of what its pages complain of.
//
// Needs the npm package playwright-core (PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1) and a Chromium
// (CHROMIUM, or /usr/bin/chromium).

import { chromium } from "playwright-core";

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

// Every console error and every fault of a script, of all pages that were listened to.
export const complaints = [];

export function listen(page) {
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
}

// The link shows a button; pressing it leads into the chat; the link is used up.
export async function signIn(page, base, token) {
  await page.goto(`${base}/sign-in?token=${encodeURIComponent(token)}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${base}/`);
}
