/** The agent's view: what it sees, and what it expects to see in k steps; as cells of bits, or as pictures. */

import { WEIGHT_OF_P, css, mixed } from "./colours.js";
import { drawAgent, drawObject, drawRing, gridCanvas } from "./grid.js";

/** Cells of the view whose channel c is set in `frame` ([V, V, C]), as [row, col]. */
function cellsOf(frame, { V, C }, c) {
  const cells = [];
  if (c >= 0) for (let i = 0; i < V * V; i++) if (frame[i * C + c]) cells.push([Math.floor(i / V), i % V]);
  return cells;
}

function wallsOf(episode) {
  return episode.meta.channels.findIndex((channel) => channel.kind === "binary");
}

/** Draws RGB pixels (rows x cols x 3) over the whole of a grid's canvas. */
function makePicture(grid) {
  const small = document.createElement("canvas");
  return (pixels, rows, cols) => {
    const image = new ImageData(cols, rows);
    for (let i = 0; i < rows * cols; i++) {
      image.data.set(pixels.subarray(3 * i, 3 * i + 3), 4 * i);
      image.data[4 * i + 3] = 255;
    }
    [small.width, small.height] = [cols, rows];
    small.getContext("2d").putImageData(image, 0, 0);
    grid.context.imageSmoothingEnabled = false;
    grid.context.drawImage(small, 0, 0, grid.width, grid.height);
  };
}

function clear(grid, palette) {
  grid.context.fillStyle = css(palette.floor);
  grid.context.fillRect(0, 0, grid.width, grid.height);
}

/** o_t. */
export function seenView(canvas) {
  const grid = gridCanvas(canvas);
  const picture = makePicture(grid);

  function draw(episode, palette, { t }) {
    if (episode.isPictured) return picture(episode.at("seen", t), episode.sizes.Y, episode.sizes.X);
    const { V } = episode.sizes;
    const o = episode.at("o", t);
    clear(grid, palette);
    grid.context.fillStyle = css(palette.wall);
    for (const cell of cellsOf(o, episode.sizes, wallsOf(episode))) grid.fill(...cell);
    grid.lines(css(palette.grid, 0.55));
    episode.meta.objects.forEach((object, i) => {
      for (const cell of cellsOf(o, episode.sizes, episode.channelOf[i])) drawObject(grid, cell, object, palette);
    });
    drawAgent(grid, [(V - 1) / 2, (V - 1) / 2], palette);
  }

  return { grid, draw };
}

/** The world's own picture of itself. */
export function drawnView(canvas) {
  const grid = gridCanvas(canvas);
  const picture = makePicture(grid);
  return { grid, draw: (episode, palette, { t }) => picture(episode.at("drawn", t), episode.sizes.H, episode.sizes.S) };
}

/** P(o_{t+k} = 1 | t), and over it, once it is known, what came: dots for walls, rings for objects. */
export function expectedView(canvas) {
  const grid = gridCanvas(canvas);
  const picture = makePicture(grid);

  function drawPicture(episode, palette, t, k, isPredicted) {
    const { Y, X } = episode.sizes;
    if (!isPredicted) return clear(grid, palette);
    picture(episode.at("expected", t).subarray((k - 1) * Y * X * 3, k * Y * X * 3), Y, X);
  }

  function draw(episode, palette, { t, k, hidden }) {
    const { V, C, K } = episode.sizes;
    const { context } = grid;
    const isPredicted = k >= 1 && k <= K && t + k <= episode.end;
    if (episode.isPictured) return drawPicture(episode, palette, t, k, isPredicted);
    const expected = episode.at("ahead", t).subarray((k - 1) * V * V * C, k * V * V * C);
    const walls = wallsOf(episode);
    for (let cell = 0; cell < V * V; cell++) {
      let colour = palette.floor;
      if (isPredicted && walls >= 0) colour = mixed(colour, palette.wall, expected[cell * C + walls] / 255);
      episode.meta.objects.forEach((object, i) => {
        const c = episode.channelOf[i];
        if (!isPredicted || c < 0 || hidden.has(i)) return;
        colour = mixed(colour, object.colour, WEIGHT_OF_P[expected[cell * C + c]]);
      });
      context.fillStyle = css(colour);
      grid.fill(Math.floor(cell / V), cell % V);
    }
    grid.lines(css(palette.grid, 0.55));
    if (!isPredicted || !episode.isComparable(t, k)) return;
    const came = episode.at("o", t + k);
    context.fillStyle = css(palette.muted, 0.9);
    for (const [row, col] of cellsOf(came, episode.sizes, walls)) {
      context.beginPath();
      context.arc(grid.x(col + 0.5), grid.y(row + 0.5), grid.cell * 0.07, 0, 2 * Math.PI);
      context.fill();
    }
    episode.meta.objects.forEach((object, i) => {
      if (hidden.has(i)) return;
      const cells = cellsOf(came, episode.sizes, episode.channelOf[i]);
      for (const cell of cells) drawRing(grid, cell, object.colour, palette);
    });
  }

  return { grid, draw };
}
