/** A canvas divided into cells, and the marks in them. Sizes are read when they change, never while drawing. */

import { css } from "./colours.js";

/**
 * The drawing surface of `canvas` for rows x cols cells. The style sheet gives its size on the page; the surface has
 * the screen's own pixels. `onresize` is called when it has to be drawn again.
 */
export function gridCanvas(canvas) {
  const layers = new Map(); // name -> canvas: what is drawn once for each size and theme
  const grid = {
    canvas,
    context: canvas.getContext("2d", { alpha: false }),
    rows: 1,
    cols: 1,
    width: 1,
    height: 1,
    cell: 1,
    hair: 1, // the width of a thin line
    onresize: () => {},
    x: (col) => Math.round((col * grid.width) / grid.cols),
    y: (row) => Math.round((row * grid.height) / grid.rows),
    fill(row, col) {
      grid.context.fillRect(grid.x(col), grid.y(row), grid.x(col + 1) - grid.x(col), grid.y(row + 1) - grid.y(row));
    },
    lines(style) {
      grid.context.fillStyle = style;
      for (let c = 1; c < grid.cols; c++) grid.context.fillRect(grid.x(c), 0, grid.hair, grid.height);
      for (let r = 1; r < grid.rows; r++) grid.context.fillRect(0, grid.y(r), grid.width, grid.hair);
    },
    /** Draws `paint` once, and from then on its copy. */
    drawLayer(name, paint) {
      const copy = layers.get(name);
      if (copy) return grid.context.drawImage(copy, 0, 0);
      paint();
      const kept = document.createElement("canvas");
      [kept.width, kept.height] = [grid.width, grid.height];
      kept.getContext("2d").drawImage(canvas, 0, 0);
      layers.set(name, kept);
    },
    forgetLayers: () => layers.clear(),
    shape(rows, cols) {
      [grid.rows, grid.cols] = [rows, cols];
      canvas.style.aspectRatio = `${cols} / ${rows}`;
      grid.forgetLayers();
      grid.cell = grid.width / cols;
    },
    /** The cell [row, col] under a pointer. */
    cellAt(event) {
      const box = canvas.getBoundingClientRect();
      const inside = (x, size, cells) => Math.min(cells - 1, Math.max(0, Math.floor((x / size) * cells)));
      return [
        inside(event.clientY - box.top, box.height, grid.rows),
        inside(event.clientX - box.left, box.width, grid.cols),
      ];
    },
  };

  new ResizeObserver(([entry]) => {
    const scale = window.devicePixelRatio || 1;
    const { width, height } = entry.contentRect;
    [grid.width, grid.height] = [width, height].map((x) => Math.max(1, Math.round(x * scale)));
    [canvas.width, canvas.height] = [grid.width, grid.height];
    grid.cell = grid.width / grid.cols;
    grid.hair = Math.max(1, Math.round(scale));
    grid.forgetLayers();
    grid.onresize();
  }).observe(canvas);
  return grid;
}

/** The agent: a diamond, the only thing that is not a square. */
export function drawAgent(grid, [row, col], palette) {
  const { context, cell } = grid;
  const [x, y, reach] = [grid.x(col + 0.5), grid.y(row + 0.5), cell * 0.42];
  context.beginPath();
  context.moveTo(x, y - reach);
  context.lineTo(x + reach, y);
  context.lineTo(x, y + reach);
  context.lineTo(x - reach, y);
  context.closePath();
  context.fillStyle = css(palette.agent);
  context.fill();
  context.lineWidth = grid.hair;
  context.strokeStyle = css(palette.edge);
  context.stroke();
}

function square(grid, [row, col], inset) {
  const margin = grid.cell * inset;
  const [x, y] = [grid.x(col) + margin, grid.y(row) + margin];
  return [x, y, grid.cell - 2 * margin, grid.cell - 2 * margin];
}

/** An object: a square of its colour, with its label where there is room. */
export function drawObject(grid, cell, { colour, label }, palette) {
  const { context } = grid;
  const box = square(grid, cell, 0.1);
  context.fillStyle = css(colour);
  context.fillRect(...box);
  context.lineWidth = grid.hair;
  context.strokeStyle = css(palette.edge, 0.85);
  context.strokeRect(...box);
  if (grid.cell < 14 * grid.hair) return;
  context.fillStyle = "rgb(16, 18, 23)"; // every object's colour is light enough for dark letters
  context.font = `600 ${Math.round(grid.cell * (label.length > 1 ? 0.42 : 0.55))}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(label, grid.x(cell[1] + 0.5), grid.y(cell[0] + 0.53));
}

/** Where something truly is, or truly came: an open square of its colour, edged so that it shows on any ground. */
export function drawRing(grid, cell, colour, palette) {
  const { context } = grid;
  const width = Math.max(2 * grid.hair, grid.cell * 0.1);
  const box = square(grid, cell, 0.06);
  context.lineWidth = width + 2 * grid.hair;
  context.strokeStyle = css(palette.edge);
  context.strokeRect(...box);
  context.lineWidth = width;
  context.strokeStyle = css(colour);
  context.strokeRect(...box);
}

export function strokeCell(grid, cell, style, width) {
  grid.context.lineWidth = width;
  grid.context.strokeStyle = style;
  grid.context.strokeRect(...square(grid, cell, 0.02));
}
