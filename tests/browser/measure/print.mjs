// Numbers for people.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Prints rows of text below their titles: the first column to the left, the others to the right. */
export function table(titles, rows) {
  const all = [titles, ...rows].map((row) => row.map(String));
  const widths = titles.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  for (const row of all)
    console.log(
      row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join("  "),
    );
}
