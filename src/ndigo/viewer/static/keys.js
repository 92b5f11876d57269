/** What every key does, in one table: it is both the key map and the help. */

import { button, make } from "./dom.js";

const DIGITS = "123456789".split("");
const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
const way = (key) => key.slice("Arrow".length).toLowerCase();

function actOrHide(player, key) {
  const i = Number(key) - 1;
  if (!player.act(i)) player.layer(i);
}

// [modes ("" for all), keys, how the help prints them, what they do, how]
const KEYS = [
  ["watch", [" "], "space", "play or pause", (player) => player.toggle()],
  ["", ["p"], "P", "play or pause, in any mode", (player) => player.toggle()],
  ["watch", ["ArrowLeft"], "←", "one step back", (player) => player.step(-1)],
  ["watch", ["ArrowRight"], "→", "one step on", (player) => player.step(1)],
  ["", ["PageUp"], "page up", "ten steps back", (player) => player.step(-10)],
  ["", ["PageDown"], "page down", "ten steps on", (player) => player.step(10)],
  ["", ["Home"], "home", "first step", (player) => player.seek(0)],
  ["", ["End"], "end", "last step that is known", (player) => player.seek(Infinity)],
  ["", ["."], ".", "the next moment", (player) => player.moment(1)],
  ["", [","], ",", "the moment before", (player) => player.moment(-1)],
  ["", ["+", "="], "+", "faster", (player) => player.faster(1)],
  ["", ["-"], "−", "slower", (player) => player.faster(-1)],
  ["", ["n"], "N", "next episode", (player) => player.nextEpisode(1)],
  ["", ["N"], "shift N", "previous episode", (player) => player.nextEpisode(-1)],
  ["", ["c"], "C", "two agents side by side, on the same world", (player) => player.compare()],
  ["watch", DIGITS, "1 to 9", "show or hide an object", (player, key) => player.layer(Number(key) - 1)],
  ["", ["t"], "T", "rings on the belief, where things truly are", (player) => player.truth()],
  ["", ["b"], "B", "the exact belief, what a perfect memory knows", (player) => player.exact()],
  ["", ["k"], "K", "look one step further ahead", (player) => player.lookFurther(1)],
  ["", ["j"], "J", "look one step less ahead", (player) => player.lookFurther(-1)],
  ["", ["l"], "L", "dark or light", (player) => player.theme()],
  ["", ["?", "h"], "?", "this help", (player) => player.help()],
];

const LIVE_KEYS = [
  ["", ["w"], "W", "take the wheel", (player) => player.setMode("wheel")],
  ["wheel", ARROWS, "arrows", "walk, with the wheel", (player, key) => player.walk(way(key))],
  ["wheel", [" "], "space", "stay, with the wheel", (player) => player.walk("stay")],
  ["wheel", DIGITS, "1 to 9", "an action by its number; where arrows walk, an object shown or hidden", actOrHide],
  ["", ["d"], "D", "move an object, behind the agent's back", (player) => player.setMode("drop")],
  ["drop", DIGITS, "1 to 9", "which object to move", (player, key) => player.chooseObject(Number(key) - 1)],
  ["drop", ARROWS, "arrows", "to which cell", (player, key) => player.moveCursor(way(key))],
  ["drop", ["Enter", " "], "enter, click", "put it there", (player) => player.put()],
  ["", ["Escape"], "escape", "back to watching", (player) => player.setMode("watch")],
];

const NATIVE = { SELECT: /./, INPUT: /^(Arrow.*|Home|End|Page.*|[0-9\-+]|Enter| )$/, BUTTON: /^(Enter| )$/ };

/** The key's name in the table: a letter is small unless shift is held, whatever Caps Lock makes of it. */
function nameOf({ key, shiftKey }, table) {
  if (key.length > 1) return key;
  const name = shiftKey ? key.toUpperCase() : key.toLowerCase();
  return table.some(([, keys]) => keys.includes(name)) ? name : name.toLowerCase();
}

/** Listens on `target`; `modeOf()` tells what the keys do now. */
export function listenToKeys(target, actions, modeOf, isLive) {
  const table = isLive ? [...KEYS, ...LIVE_KEYS] : KEYS;
  target.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("dialog[open]")) return;
    const [key, element] = [nameOf(event, table), event.target];
    if (NATIVE[element.tagName]?.test(key)) return; // the control's own key
    // The timeline is a slider, whatever the keys do elsewhere.
    const mode = element.getAttribute?.("role") === "slider" ? "watch" : modeOf();
    const entry = table.find(([modes, keys]) => keys.includes(key) && (!modes || modes.includes(mode)));
    if (!entry) return;
    event.preventDefault();
    entry[4](actions, key);
  });
  // A control that was used with a pointer gives the keys back; one used with keys keeps them.
  let isPointed = false;
  target.addEventListener("pointerdown", () => (isPointed = true), true);
  target.addEventListener("keydown", () => (isPointed = false), true);
  target.addEventListener("change", (event) => {
    if (!isPointed) return;
    if (target === document) event.target.blur();
    else target.focus({ preventScroll: true });
  });
}

function keyList(title, table) {
  const rows = table.flatMap(([, , print, does]) => [make("dt", {}, make("kbd", {}, print)), make("dd", {}, does)]);
  return make("section", {}, make("h2", {}, title), make("dl", {}, ...rows));
}

/** The help, in a dialog that the escape key closes. */
export function makeHelp(isLive) {
  const close = button(() => dialog.close(), { autofocus: true }, "Close");
  const dialog = make(
    "dialog",
    { class: "help", "aria-label": "Help" },
    make("header", {}, make("h2", {}, "What you see"), close),
    make(
      "p",
      {},
      "The world as it is, and beside it the world the agent believes in: for each object the chance, cell by cell, ",
      "that it is there. A ring marks where it truly is. The exact belief is what a perfect memory of the same frames ",
      "would know. The agent, a diamond, sees only the square around it, and is ",
      "paid for what a new frame tells it about the frames to come. What it expects to see is drawn the same way; ",
      "rings and dots on it are what came. The timeline has what each step paid, by what it was paid for, and how ",
      "little the agent knows: a discovery loss of 0 is an object found. Click it to go there. Dots above it are ",
      "moments: first sights, with what the ten steps from there were paid for it, and the largest reward. A world ",
      "without a map shows its frames as pictures, and how much each frame surprised the model.",
    ),
    make("div", { class: "keys" }, keyList("Watching", KEYS), isLive ? keyList("Taking part", LIVE_KEYS) : ""),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
