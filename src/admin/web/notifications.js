// Notifications of approval requests, which each person turns on in each browser.

import { at, base, filled, kept, post, says, send, tell } from "/assets/dom.js";

const box = document.getElementById("notify");
const PATH = "/chat/notifications";

const json = (method, body) => ({
  method, headers: { "content-type": "application/json" }, body: JSON.stringify(body),
});

// Another person may have subscribed with this browser before: only one's own choice counts.
const isWanted = () => kept.read("notify", "") === true;

async function subscribe() {
  const { key } = await send(PATH);
  await navigator.serviceWorker.register("/service-worker.js");
  const { pushManager } = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: key };
  let subscription;
  try {
    subscription = await pushManager.subscribe(options);
  } catch (problem) {
    // A subscription for an earlier key of the server.
    const old = await pushManager.getSubscription();
    if (!old) throw problem;
    await old.unsubscribe();
    subscription = await pushManager.subscribe(options);
  }
  await post(PATH, subscription);
}

async function unsubscribe() {
  const registration = await navigator.serviceWorker.getRegistration("/");
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return;
  await send(PATH, json("DELETE", { endpoint: subscription.endpoint }));
  await subscription.unsubscribe();
}

async function turnOn() {
  if (await Notification.requestPermission() !== "granted") {
    tell(says.notifications_blocked);
    return false;
  }
  try {
    await subscribe();
    return true;
  } catch (problem) {
    tell(filled(says.notifications_failed, { why: problem.message }));
    return false;
  }
}

async function change() {
  box.disabled = true;
  if (box.checked) {
    box.checked = await turnOn();
  } else {
    await unsubscribe().catch((problem) => tell(problem.message));
  }
  kept.write("notify", box.checked ? true : null, "");
  box.disabled = false;
  // The focus was lost while it was disabled.
  if (document.activeElement === document.body) box.focus();
}

// Service workers need HTTPS or this machine, and a frame of another site has none.
if (box && !base && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window) {
  at("notify-row").hidden = false;
  box.checked = isWanted() && Notification.permission === "granted";
  box.addEventListener("change", change);
  // A new session has to know the subscription as well.
  if (box.checked) subscribe().catch(() => { box.checked = false; });
}
