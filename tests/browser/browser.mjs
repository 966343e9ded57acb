// A real browser that complains of what its pages complain of.
//
// Needs the npm package playwright-core (PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1) and a Chromium
// (CHROMIUM, or /usr/bin/chromium).

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
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

// Sends a message in the web chat.
export async function say(chat, words) {
  const field = chat.getByLabel(/^Message to/);
  await field.fill(words);
  await field.press("Enter");
}

// Opens a page of the console.
export async function open(page, title) {
  await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: title, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
}

// What axe calls serious or critical, or is wider than a phone, on any page.
export const grave = [];

// Needs the npm package axe-core.
export async function looksRight(page, where) {
  const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const { id, impact, nodes } of violations) {
      if (!["serious", "critical"].includes(impact)) continue;
      const places = nodes.slice(0, 3).map((node) => node.html);
      grave.push(`${where}, ${colorScheme}: ${id} at ${nodes.length}, as ${places.join(" | ")}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 780 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  if (wide > 390) grave.push(`${where}: ${wide} wide on a phone`);
  await page.setViewportSize({ width: 1100, height: 820 });
}
