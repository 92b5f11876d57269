/** Dark and light: as the system has it, until the person chooses. The style sheet reads `data-theme`. */

const NAME = "ndigo-theme";
const system = matchMedia("(prefers-color-scheme: light)");

function chosen() {
  try {
    const theme = localStorage.getItem(NAME);
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null; // a page from disk may have no storage
  }
}

function apply(theme) {
  document.documentElement.dataset.theme = theme;
}

export function toggleTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  apply(theme);
  try {
    localStorage.setItem(NAME, theme);
  } catch {
    // not kept, then
  }
}

/** Calls `onchange` now, and whenever the colours are others. */
export function watchTheme(onchange) {
  const follow = () => apply(chosen() ?? (system.matches ? "light" : "dark"));
  follow();
  system.addEventListener("change", follow);
  new MutationObserver(onchange).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  onchange();
}
