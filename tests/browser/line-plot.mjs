// A plot of lines as SVG.

const [WIDTH, HEIGHT, EDGE] = [960, 420, 46];

/** @param lines  [{colour, points: [[x, y], ...], dots}] */
export function linePlot(title, lines) {
  const all = lines.flatMap(({ points }) => points);
  const [xs, ys] = [0, 1].map((i) => all.map((point) => point[i]));
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const place = ([x, y]) => [
    (EDGE + ((x - x0) / (x1 - x0 || 1)) * (WIDTH - 2 * EDGE)).toFixed(1),
    (HEIGHT - EDGE - ((y - y0) / (y1 - y0 || 1)) * (HEIGHT - 2 * EDGE)).toFixed(1),
  ];
  const drawn = lines.flatMap(({ colour, points, dots }) => [
    `<polyline fill="none" stroke="${colour}" points="${points.map((point) => place(point).join(",")).join(" ")}"/>`,
    ...(dots
      ? points.map(place).map(([x, y]) => `<circle cx="${x}" cy="${y}" r="1.6" fill="${colour}"/>`)
      : []),
  ]);
  const label = (x, y, text) =>
    `<text x="${x}" y="${y}" font-size="13" font-family="sans-serif">${text}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    label(EDGE, 24, title),
    label(EDGE, HEIGHT - 16, x0.toFixed(2)),
    label(WIDTH - EDGE - 24, HEIGHT - 16, x1.toFixed(2)),
    label(4, HEIGHT - EDGE, y0.toFixed(2)),
    label(4, EDGE, y1.toFixed(2)),
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}
