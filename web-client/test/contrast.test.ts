// What is written can be read, in either of the interface's schemes and on any picture: ratios of contrast as WCAG 2 has
// them, 4.5 or more.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Colour = readonly number[];

const CSS = readFileSync(new URL("../src/ui/page.css", import.meta.url), "utf8");
const BLACK: Colour = [0, 0, 0, 1];
const WHITE: Colour = [255, 255, 255, 1];
/** The brightest that is around a tank at night. */
const NIGHT: Colour = [26, 55, 77, 1];

/** The variables of the first block after some text. */
function variablesAfter(start: string): Map<string, string> {
  const from = CSS.indexOf(start);
  expect(from, start).toBeGreaterThanOrEqual(0);
  const block = CSS.slice(from, CSS.indexOf("}", from));
  return new Map(
    [...block.matchAll(/(--[a-z-]+): ([^;]+);/g)].map((match) => [match[1] as string, match[2] as string]),
  );
}

function colourOf(text: string | undefined): Colour {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/.exec(text ?? "");
  if (hex !== null) return [...hex.slice(1).map((part) => Number.parseInt(part, 16)), 1];
  const rgb = /^rgb\((\d+) (\d+) (\d+) \/ (\d+)%\)$/.exec(text ?? "");
  if (rgb === null) throw new Error(`no colour: ${text}`);
  const [r, g, b, share] = rgb.slice(1).map(Number) as [number, number, number, number];
  return [r, g, b, share / 100];
}

function over(top: Colour, below: Colour): Colour {
  const share = top[3] as number;
  return [...[0, 1, 2].map((i) => share * (top[i] as number) + (1 - share) * (below[i] as number)), 1];
}

function luminance(colour: Colour): number {
  const [r, g, b] = colour.slice(0, 3).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Colour, b: Colour): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const dark = variablesAfter(":root {");
const light = new Map([...dark, ...variablesAfter("(prefers-color-scheme: light)")]);

for (const [scheme, variables] of Object.entries({ dark, light }))
  test(`texts on panes have contrast in the ${scheme} scheme`, () => {
    const named = (name: string) => colourOf(variables.get(name));
    const page = named("--page");
    const grounds: Record<string, Colour> = {
      page,
      sheet: named("--sheet"),
      "pane at night": over(named("--pane"), NIGHT),
      "pane in the dark": over(named("--pane"), BLACK),
      "pane on the page": over(named("--pane"), page),
      "pane before what is bright": over(named("--pane-bright"), WHITE),
      "pane before what is dark": over(named("--pane-bright"), BLACK),
      "button on the page": over(named("--button"), page),
      "button before what is bright": over(named("--button"), over(named("--pane-bright"), WHITE)),
      "button before what is dark": over(named("--button"), over(named("--pane-bright"), BLACK)),
      "veil before what is bright": over(named("--veil"), WHITE),
      "veil before what is dark": over(named("--veil"), BLACK),
    };
    for (const [where, ground] of Object.entries(grounds))
      for (const name of ["--ink", "--quiet", "--accent", "--number", "--warn", "--bad"])
        expect(contrast(named(name), ground), `${name} on the ${where}`).toBeGreaterThanOrEqual(4.5);
  });
