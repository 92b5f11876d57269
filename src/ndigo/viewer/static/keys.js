/** What every key does, in one table: it is both the key map and the help. */

import { make } from "./dom.js";

// [modes or null for all, keys, what the help prints for them, what they do, how]
const KEYS = [
  ["watch", [" "], "space", "play or pause", (do_) => do_.toggle()],
  [null, ["p"], "P", "play or pause, in any mode", (do_) => do_.toggle()],
  ["watch", ["ArrowLeft", "ArrowRight"], "← →", "one step back or on", (do_, key) => do_.step(key === "ArrowLeft" ? -1 : 1)],
  [null, ["PageUp", "PageDown"], "page up, down", "ten steps back or on", (do_, key) => do_.step(key === "PageUp" ? -10 : 10)],
  [null, ["Home", "End"], "home, end", "first or last known step", (do_, key) => do_.seek(key === "Home" ? 0 : Infinity)],
  [null, ["+", "=", "-"], "+ −", "faster or slower", (do_, key) => do_.faster(key === "-" ? -1 : 1)],
  [null, ["n", "N"], "N, shift N", "next or previous episode", (do_, key) => do_.nextEpisode(key === "n" ? 1 : -1)],
  [null, ["c"], "C", "two agents side by side, on the same world", (do_) => do_.compare()],
  ["watch wheel", "123456789".split(""), "1 to 9", "show or hide an object", (do_, key) => do_.layer(Number(key) - 1)],
  [null, ["t"], "T", "rings on the belief: where things truly are", (do_) => do_.truth()],
  [null, ["j", "k"], "J K", "look fewer or more steps ahead", (do_, key) => do_.lookFurther(key === "k" ? 1 : -1)],
  [null, ["l"], "L", "dark or light", (do_) => do_.theme()],
  [null, ["?", "h"], "?", "this help", (do_) => do_.help()],
];

const LIVE_KEYS = [
  [null, ["w"], "W", "take the wheel: walk the agent yourself", (do_) => do_.setMode("wheel")],
  ["wheel", ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], "arrows", "walk, with the wheel", (do_, key) => do_.walk(key.slice(5).toLowerCase())],
  ["wheel", [" "], "space", "stay, with the wheel", (do_) => do_.walk("stay")],
  [null, ["d"], "D", "move an object behind the agent's back", (do_) => do_.setMode("drop")],
  ["drop", "123456789".split(""), "1 to 9", "which object to move", (do_, key) => do_.chooseObject(Number(key) - 1)],
  ["drop", ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], "arrows", "to which cell", (do_, key) => do_.moveCursor(key.slice(5).toLowerCase())],
  ["drop", ["Enter", " "], "enter, click", "put it there", (do_) => do_.put()],
  [null, ["Escape"], "escape", "back to watching", (do_) => do_.setMode("watch")],
];

const NATIVE = { SELECT: /./, INPUT: /^(Arrow.*|Home|End|Page.*|[0-9\-+]|Enter| )$/, BUTTON: /^(Enter| )$/ };

/** Listens on `target`; `modeOf()` tells what the keys do now. */
export function listenToKeys(target, actions, modeOf, isLive) {
  const table = isLive ? [...KEYS, ...LIVE_KEYS] : KEYS;
  target.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("dialog")) return;
    const { key, target: element } = event;
    if (NATIVE[element.tagName]?.test(key)) return; // the control's own key
    // The timeline is a slider, whatever the keys do elsewhere.
    const mode = element.getAttribute?.("role") === "slider" ? "watch" : modeOf();
    const entry = table.find(([modes, keys]) => keys.includes(key) && (!modes || modes.split(" ").includes(mode)));
    if (!entry) return;
    event.preventDefault();
    entry[4](actions, key);
  });
}

function keyList(title, table) {
  const rows = table.flatMap(([, , print, does]) => [make("dt", {}, make("kbd", {}, print)), make("dd", {}, does)]);
  return make("section", {}, make("h2", {}, title), make("dl", {}, ...rows));
}

/** The help, in a dialog that the escape key closes. */
export function makeHelp(isLive) {
  const close = make("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close");
  const dialog = make(
    "dialog",
    { class: "help", "aria-label": "Help" },
    make("header", {}, make("h2", {}, "What you see"), close),
    make(
      "p",
      {},
      "The world as it is, and beside it the world the agent believes in: for each object the chance, cell by cell, that it ",
      "is there. A ring marks where it truly is. The agent, a diamond, sees only the square around it, and is paid for what ",
      "a new frame tells it about the frames to come. Expected frames are drawn the same way; rings and dots on them are what ",
      "came. The timeline has what each step paid, by what it was paid for, and how little the agent knows: a discovery loss ",
      "of 0 is an object found. Click it to go there.",
    ),
    make("div", { class: "keys" }, keyList("Watching", KEYS), isLive ? keyList("Taking part", LIVE_KEYS) : ""),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
