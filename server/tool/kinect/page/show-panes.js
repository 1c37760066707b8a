// What the bridge shows, as pictures: reads its binary message, and draws each of its planes. The layout of the message
// is in show.h.

const HEAD_BYTES = 32;
const VERSION = 1;
const DEPTH_STEP_M = 0.04;
/** The difference that is as bright as it gets. */
const DIFFERENCE_BRIGHT = 80;
const FLAG_LEARNING = 1;
const FLAG_GOES_OUT = 2;
/** Arrows stand so many cells of a pane of 480 pixels apart. */
const ARROWS_ACROSS = 20;

/** @returns null: it isn't whole */
export function readPicture(buffer) {
  if (buffer.byteLength < HEAD_BYTES) return null;
  const view = new DataView(buffer);
  if (view.getUint8(0) !== VERSION) return null;
  const size = (at) => ({ columns: view.getUint16(at, true), rows: view.getUint16(at + 2, true) });
  const [depth, motion, grid] = [8, 12, 16].map(size);
  const [depthCells, motionCells, gridCells] = [depth, motion, grid].map(
    ({ columns, rows }) => columns * rows,
  );
  if (buffer.byteLength !== HEAD_BYTES + 2 * depthCells + 4 * (motionCells + gridCells)) return null;
  let at = HEAD_BYTES;
  const take = (Type, count) => {
    const plane = new Type(buffer, at, count);
    at += count;
    return plane;
  };
  const flow = (count) => ({
    presence: take(Uint8Array, count),
    right: take(Int8Array, count),
    up: take(Int8Array, count),
    away: take(Int8Array, count),
  });
  return {
    learning: (view.getUint8(1) & FLAG_LEARNING) !== 0,
    goesOut: (view.getUint8(1) & FLAG_GOES_OUT) !== 0,
    people: view.getUint8(2),
    width: view.getUint16(4, true),
    height: view.getUint16(6, true),
    number: view.getUint32(28, true),
    depth: { ...depth, depth: take(Uint8Array, depthCells), difference: take(Uint8Array, depthCells) },
    motion: { ...motion, speed: view.getFloat32(20, true), ...flow(motionCells) },
    grid: { ...grid, speed: view.getFloat32(24, true), ...flow(gridCells) },
  };
}

/** Draws one pixel a cell. @param colour  (cell, out: [r, g, b]) */
function drawCells(canvas, { columns, rows }, colour) {
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
  }
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const rgb = [0, 0, 0];
  for (let i = 0; i < columns * rows; i++) {
    colour(i, rgb);
    image.data.set(rgb, 4 * i);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/** The colours stand in the page's legend, too. */
export function drawDepth(canvas, depth, near, far) {
  drawCells(canvas, depth, (i, rgb) => {
    const z = depth.depth[i] * DEPTH_STEP_M;
    if (z === 0) [rgb[0], rgb[1], rgb[2]] = [5, 12, 18];
    else if (z < near) [rgb[0], rgb[1], rgb[2]] = [214, 92, 72];
    else if (z > far) {
      const light = Math.max(0.35, 1 - (z - far) / 6);
      [rgb[0], rgb[1], rgb[2]] = [56 * light, 62 * light, 118 * light];
    } else {
      const share = (z - near) / Math.max(far - near, 0.01);
      [rgb[0], rgb[1], rgb[2]] = [235 - 207 * share, 250 - 174 * share, 255 - 165 * share];
    }
  });
}

export function drawDifference(canvas, depth) {
  drawCells(canvas, depth, (i, rgb) => {
    const light = Math.min(1, depth.difference[i] / DIFFERENCE_BRIGHT) ** 1.1;
    [rgb[0], rgb[1], rgb[2]] = [8 + 247 * light, 14 + 190 * light, 20 + 110 * light ** 2];
  });
}

/** The colour of a direction: every way its own, as bright as it is fast. */
function paintDirection(rgb, right, up, light) {
  const angle = Math.atan2(up, right);
  for (let k = 0; k < 3; k++) rgb[k] += light * (120 + 110 * Math.cos(angle - (k * 2 * Math.PI) / 3));
}

const scratch = document.createElement("canvas");

function drawArrow(context, x, y, dx, dy) {
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(5, length);
  context.moveTo(x, y);
  context.lineTo(x + dx, y + dy);
  context.lineTo(x + dx - head * (ux + 0.6 * uy), y + dy - head * (uy - 0.6 * ux));
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - head * (ux - 0.6 * uy), y + dy - head * (uy + 0.6 * ux));
}

/** The mean of what moves around a cell, in units of the planes; null: nothing does. */
function meanAround(flow, column, row, step) {
  let [right, up, count] = [0, 0, 0];
  for (let y = row; y < Math.min(row + step, flow.rows); y++) {
    for (let x = column; x < Math.min(column + step, flow.columns); x++) {
      const i = y * flow.columns + x;
      if (flow.right[i] === 0 && flow.up[i] === 0) continue;
      right += flow.right[i];
      up += flow.up[i];
      count++;
    }
  }
  return 3 * count < step * step ? null : { right: right / count, up: up / count };
}

/**
 * Draws who is where and how it goes.
 * @param fromBottom  the first row is the lowest
 */
export function drawFlow(canvas, flow, fromBottom) {
  const { columns, rows, presence, right, up } = flow;
  if (columns === 0) return;
  const height = Math.round((canvas.width * rows) / columns);
  if (canvas.height !== height) canvas.height = height;
  drawCells(scratch, flow, (i, rgb) => {
    const cell = fromBottom ? (rows - 1 - Math.floor(i / columns)) * columns + (i % columns) : i;
    const grey = presence[cell] / 255;
    [rgb[0], rgb[1], rgb[2]] = [8 + 62 * grey, 16 + 70 * grey, 24 + 76 * grey];
    const light = Math.hypot(right[cell], up[cell]) / 127;
    if (light > 0) paintDirection(rgb, right[cell], up[cell], Math.min(1, 0.25 + light) * 0.75);
  });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(scratch, 0, 0, canvas.width, canvas.height);
  const side = canvas.width / columns;
  const step = Math.max(1, Math.round(columns / ARROWS_ACROSS));
  context.beginPath();
  for (let row = 0; row < rows; row += step) {
    for (let column = 0; column < columns; column += step) {
      const mean = meanAround(flow, column, row, step);
      if (mean === null) continue;
      const middle = row + step / 2;
      const y = (fromBottom ? rows - middle : middle) * side;
      const reach = (1.4 * step * side) / 127;
      drawArrow(context, (column + step / 2) * side, y, mean.right * reach, -mean.up * reach);
    }
  }
  context.strokeStyle = "#f4fbff";
  context.lineWidth = 1.5;
  context.stroke();
}
