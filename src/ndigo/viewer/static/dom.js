/** Elements, made in one expression. */

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M6.5 5h4v14h-4zM13.5 5h4v14h-4z",
  back: "M17 5v14l-9.5-7zM5 5h2.2v14H5z",
  forward: "M7 5v14l9.5-7zM16.8 5H19v14h-2.2z",
  restart: "M12 5V1.8L7 6l5 4.2V7a5.5 5.5 0 1 1-5.5 5.5H4.4A7.6 7.6 0 1 0 12 5z",
  next: "M12 4.5l7 7.5-7 7.5v-5H4.5v-5H12z",
  previous: "M12 4.5L5 12l7 7.5v-5h7.5v-5H12z",
  earlier: "M15 5l-7 7 7 7V5zM5 9.8L7.2 12 5 14.2 2.8 12z",
  later: "M9 5l7 7-7 7V5zM19 9.8l2.2 2.2-2.2 2.2-2.2-2.2z",
  theme: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 1 0-14z",
  compare: "M3.5 4.5h7.2v15H3.5zm2 2v11h3.2v-11zm7.8-2h7.2v15h-7.2zm2 2v11h3.2v-11z",
};

/** An element with attributes, listeners (`onclick: f`) and children; false and null attributes are left out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function button(onclick, attributes, ...children) {
  return make("button", { type: "button", onclick, ...attributes }, ...children);
}

/** A button that shows an icon or a sign, and is read as `label`. */
export function iconButton(sign, label, onclick) {
  return button(onclick, { class: "icon", "aria-label": label, title: label }, sign in ICONS ? icon(sign) : sign);
}

/** Makes these the children of a node. What stays is not moved: it would lose the focus. */
export function fill(node, children) {
  for (const old of [...node.children]) if (!children.includes(old)) old.remove();
  children.forEach((child, i) => child === node.children[i] || node.insertBefore(child, node.children[i] ?? null));
}

/** Writes text only where it differs: an untouched node costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Replaces a menu's options, [{value, label, disabled}], and chooses one. */
export function setOptions(select, options, value) {
  const wanted = JSON.stringify(options);
  if (select.dataset.options !== wanted) {
    select.dataset.options = wanted;
    select.replaceChildren(
      ...options.map((o) => make("option", { value: String(o.value), disabled: o.disabled || false }, o.label)),
    );
  }
  select.value = String(value);
}
