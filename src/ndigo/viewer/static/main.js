/** Where a page begins: each element with `data-ndigo` becomes a player, live or of a recording. */

import { make } from "./dom.js";
import { liveSource } from "./live.js";
import { bytesOfBase64, unpack } from "./payload.js";
import { mountPlayer } from "./player.js";
import { recordedSource } from "./recorded.js";

async function sourceOf(root) {
  if (root.dataset.ndigo === "live") return liveSource(new URL("session", location.href.replace(/^http/, "ws")).href);
  if (root.dataset.ndigo === "served") {
    const response = await fetch("recording");
    if (!response.ok) throw new Error("ndigo does not answer; is it still running?");
    return recordedSource(await unpack(await response.arrayBuffer()));
  }
  return recordedSource(await unpack(embedded(root)));
}

function embedded(root) {
  try {
    return bytesOfBase64(root.querySelector("script").textContent);
  } catch {
    throw new Error("the recording is damaged: it is not base64");
  }
}

async function mount(root) {
  try {
    const source = await sourceOf(root);
    const isWhole = root.hasAttribute("data-whole"); // the page is this player's: keys are heard wherever the focus is
    if (!isWhole) root.tabIndex = 0;
    await mountPlayer(root, source, isWhole ? document : root);
  } catch (error) {
    const message = `This cannot be shown: ${error.message}.`;
    root.replaceChildren(make("p", { class: "notice failed", role: "alert" }, message));
  }
}

// A player far down a long page is built when it comes near.
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      nearby.unobserve(target);
      mount(target);
    }
  },
  { rootMargin: "400px" },
);
for (const root of document.querySelectorAll("[data-ndigo]")) nearby.observe(root);
