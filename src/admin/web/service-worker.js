// Shows notifications of approval requests, and opens the chat. They do not say what is asked, since
// others may see the screen.
"use strict";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

const windows = () => clients.matchAll({ type: "window", includeUncontrolled: true });
const isAt = (page, url) => new URL(page.url).href === new URL(url, location.origin).href;

addEventListener("push", (event) => {
  const { title = "Countersign", body = "", url = "/" } = event.data?.json() ?? {};
  const show = async () => {
    // A person who looks at the conversation sees the request there.
    if ((await windows()).some((page) => page.focused && isAt(page, url))) return;
    await registration.showNotification(title, {
      body, tag: url, renotify: true, data: url, icon: "/assets/icon-192.png", badge: "/assets/icon-maskable.png",
    });
  };
  event.waitUntil(show());
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = event.notification.data ?? "/";
  const open = async () => {
    const page = (await windows()).find((one) => isAt(one, url));
    if (page) await page.focus();
    else await clients.openWindow(url);
  };
  event.waitUntil(open());
});

// The browser has replaced the subscription: the server learns the new one.
addEventListener("pushsubscriptionchange", (event) => {
  const renew = async () => {
    const { key } = await (await fetch("/chat/notifications")).json();
    const options = { userVisibleOnly: true, applicationServerKey: key };
    const subscription = event.newSubscription ?? await registration.pushManager.subscribe(options);
    await fetch("/chat/notifications", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(subscription),
    });
  };
  event.waitUntil(renew());
});
