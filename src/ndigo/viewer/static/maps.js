/** The maps: the world as it is, as the agent believes it to be, and as the exact filter knows it. */

import { WEIGHT, css, mixed } from "./colours.js";
import { drawAgent, drawObject, drawRing, gridCanvas, strokeCell } from "./grid.js";

const TRAIL = 24; // steps of the agent's way that stay visible

/** Where a thing is drawn while it moves; what jumps further than one cell does not slide. */
function between(from, to, fraction) {
  const distance = Math.abs(from[0] - to[0]) + Math.abs(from[1] - to[1]);
  return distance === 1 ? [0, 1].map((i) => from[i] + (to[i] - from[i]) * fraction) : to;
}

/** Truth at t on its way from t - 1: {agent, objects}, cells as [row, col]. */
function placesAt(episode, t, fraction) {
  const before = fraction < 1 && t > 0 ? t - 1 : t;
  const cell = (name, s, i) => episode.at(name, s).subarray(2 * i, 2 * i + 2);
  return {
    agent: between(cell("agent", before, 0), cell("agent", t, 0), fraction),
    objects: episode.meta.objects.map((_, i) => between(cell("objects", before, i), cell("objects", t, i), fraction)),
  };
}

/** Floor, walls and a faint grid, drawn once for each size and theme. */
function background(episode, grid, palette) {
  const { context } = grid;
  context.fillStyle = css(palette.floor);
  context.fillRect(0, 0, grid.width, grid.height);
  context.fillStyle = css(palette.wall);
  episode.walls.forEach((isWall, cell) => isWall && grid.fill(Math.floor(cell / grid.cols), cell % grid.cols));
  grid.lines(css(palette.grid, 0.55));
}

/** The true map: things where they are, the cells the agent sees, its way, and the cell chosen for a drop. */
export function worldMap(canvas) {
  const grid = gridCanvas(canvas);

  function draw(episode, palette, { t, fraction, cursor, object }) {
    grid.drawLayer("background", () => background(episode, grid, palette));
    const { agent, objects } = placesAt(episode, t, fraction);
    drawTrail(episode, palette, t, agent);
    if (!episode.isPictured) drawReach(episode, palette, agent);
    objects.forEach((cell, i) => drawObject(grid, cell, episode.meta.objects[i], palette));
    drawAgent(grid, agent, palette);
    if (cursor) {
      drawRing(grid, cursor, episode.meta.objects[object].colour, palette);
      strokeCell(grid, cursor, css(palette.accent), 2 * grid.hair);
    }
  }

  /** The cells in view. */
  function drawReach(episode, palette, agent) {
    const { context } = grid;
    const reach = episode.sizes.V / 2;
    const [top, left] = [grid.y(Math.max(0, agent[0] + 0.5 - reach)), grid.x(Math.max(0, agent[1] + 0.5 - reach))];
    const [bottom, right] = [agent[0] + 0.5 + reach, agent[1] + 0.5 + reach];
    const [height, width] = [grid.y(Math.min(bottom, grid.rows)) - top, grid.x(Math.min(right, grid.cols)) - left];
    context.fillStyle = css(palette.agent, 0.07);
    context.fillRect(left, top, width, height);
    context.strokeStyle = css(palette.agent, 0.4);
    context.lineWidth = grid.hair;
    context.strokeRect(left + grid.hair / 2, top + grid.hair / 2, width - grid.hair, height - grid.hair);
  }

  function drawTrail(episode, palette, t, agent) {
    const { context } = grid;
    context.lineCap = "round"; // the colours are opaque: ends that meet do not add up
    context.lineWidth = Math.max(grid.hair, grid.cell * 0.12);
    const start = Math.max(0, t - TRAIL);
    let [row, col] = episode.at("agent", start);
    for (let s = start + 1; s <= t; s++) {
      const [r, c] = s === t ? agent : episode.at("agent", s);
      if (r === row && c === col) continue;
      context.strokeStyle = css(mixed(palette.floor, palette.agent, 0.35 * (1 - (t - s) / TRAIL)));
      context.beginPath();
      context.moveTo(grid.x(col + 0.5), grid.y(row + 0.5));
      context.lineTo(grid.x(c + 0.5), grid.y(r + 0.5));
      context.stroke();
      [row, col] = [r, c];
    }
  }

  return { grid, draw };
}

/** A belief (`belief`, or the `exact` one): every shown object's distribution in its colour, rings at the truth. */
export function beliefMap(canvas, field = "belief") {
  const grid = gridCanvas(canvas);
  const small = document.createElement("canvas"); // one pixel a cell, enlarged by the browser
  let image = null;

  function paintHeat(episode, palette, { t, fraction, hidden }) {
    const { N, R, W } = episode.sizes;
    if (!image || image.width !== W || image.height !== R) {
      [small.width, small.height] = [W, R];
      image = small.getContext("2d").createImageData(W, R);
      image.data.fill(255);
    }
    const now = episode.at(field, t);
    const before = fraction < 1 && t > 0 ? episode.at(field, t - 1) : now;
    const colours = episode.meta.objects.map((object) => object.colour);
    for (let cell = 0; cell < R * W; cell++) {
      let [r, g, b] = episode.walls[cell] ? palette.wall : palette.floor;
      for (let i = 0; i < N; i++) {
        if (hidden.has(i)) continue;
        const [old, young] = [WEIGHT[before[i * R * W + cell]], WEIGHT[now[i * R * W + cell]]];
        const weight = old + (young - old) * fraction;
        const colour = colours[i];
        r += (colour[0] - r) * weight;
        g += (colour[1] - g) * weight;
        b += (colour[2] - b) * weight;
      }
      image.data[4 * cell] = r + 0.5;
      image.data[4 * cell + 1] = g + 0.5;
      image.data[4 * cell + 2] = b + 0.5;
    }
    small.getContext("2d").putImageData(image, 0, 0);
  }

  function draw(episode, palette, view) {
    const { context } = grid;
    paintHeat(episode, palette, view);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, grid.width, grid.height);
    grid.lines(css(palette.grid, 0.55));
    const { agent, objects } = placesAt(episode, view.t, view.fraction);
    if (view.truth) {
      objects.forEach((cell, i) => {
        if (!view.hidden.has(i)) drawRing(grid, cell, episode.meta.objects[i].colour, palette);
      });
    }
    drawAgent(grid, agent, palette);
  }

  return { grid, draw };
}
