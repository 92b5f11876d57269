/** What is said over the page, and moves nothing on it: a warning, and what the page is waiting for. */

import { button, make, setText } from "./dom.js";

const STAYS = 8000; // milliseconds that a warning stays

/** `isShowing()` tells whether there is anything else on the page; a warning stays where there is not. */
export function makeMessages(root, isShowing) {
  const message = make("span");
  const close = button(() => warn(""), {}, "Close");
  const notice = make("div", { class: "notice", role: "alert", hidden: true }, message, close);
  const loading = make("div", { class: "loading", role: "status" }, make("span", { class: "spinner" }), make("span"));
  let timer = 0;

  function warn(text) {
    clearTimeout(timer);
    setText(message, text);
    notice.hidden = text === "";
    if (text && isShowing()) timer = setTimeout(() => warn(""), STAYS);
  }

  /** Says in the middle of the page what it waits for; "" when it no longer does. */
  function wait(text) {
    setText(loading.lastChild, text);
    loading.hidden = text === "";
    if (text) root.setAttribute("aria-busy", "true");
    else root.removeAttribute("aria-busy");
  }

  return { elements: [notice, loading], warn, wait };
}
