/** Colours of the canvases: the theme's from the style sheet, the objects' from the episode. */

const NAMES = ["floor", "wall", "grid", "agent", "edge", "text", "muted", "line", "accent", "surface"];

/** The theme's colours as [r, g, b], read from the custom properties ("r g b") of the player's root. */
export function paletteOf(root) {
  const style = getComputedStyle(root);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim().split(/\s+/).map(Number)]),
  );
}

/** Weight of an object's colour for belief 255 sqrt(p): p^0.4, so that a room of 48 cells still shows as one. */
export const WEIGHT = Float32Array.from({ length: 256 }, (_, q) => (q / 255) ** 0.8);

/** The same for a probability 255 p. */
export const WEIGHT_OF_P = Float32Array.from({ length: 256 }, (_, q) => (q / 255) ** 0.4);

export function css([r, g, b], alpha = 1) {
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

export function mixed(a, b, weight) {
  return a.map((x, i) => Math.round(x + (b[i] - x) * weight));
}
