// The smallest test runner that does: cases run in lanes beside each other, each says what it needs to be true.

const CASE_MS = 90_000;

let factor = 1;

/** How many times as long as elsewhere is waited: browsers without a graphics card of their own kind need it. */
export const patience = () => factor;
export const setPatience = (times) => {
  factor = times;
};

export class Skip extends Error {}

export function assert(condition, text) {
  if (!condition) throw new Error(text);
}

export function assertEqual(found, expected, what) {
  assert(
    JSON.stringify(found) === JSON.stringify(expected),
    `${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
  );
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until `look` gives something true. @returns what it gave */
export async function until(look, what, timeoutMs = 15_000) {
  const waitMs = factor * timeoutMs;
  const end = Date.now() + waitMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`still not so after ${waitMs / 1000} s: ${what}`);
    await sleep(50);
  }
}

/** Polls until `look` gives the same, as JSON, for `stillMs`. @returns what it gave */
export async function settled(look, what, stillMs = 300) {
  return until(async () => {
    const before = await look();
    await sleep(stillMs);
    return JSON.stringify(await look()) === JSON.stringify(before) && { value: before };
  }, what).then(({ value }) => value);
}

const cases = [];

/**
 * Registers a case: test(name, run), or test(name, options, run). `run` gets the world: browser, servers, and the means
 * to make pages.
 * @param options.alone  it runs when no other case does: it follows something in real time
 * @param options.core   it runs in every engine (engines.mjs), not in Chromium alone
 */
export function test(name, ...rest) {
  const run = rest.pop();
  const [{ alone = false, core = false } = {}] = rest;
  cases.push({ name, run, alone, core });
}

/** The cases whose names contain `words`; of all or of those that every engine runs. */
export function casesOf(words, onlyCore = false) {
  return cases.filter(({ name, core }) => name.includes(words) && (core || !onlyCore));
}

const WORDS = { passed: "ok  ", failed: "FAIL", skipped: "skip" };

/**
 * Runs cases: beside each other, a lane of them for each maker of worlds, and in the end one after the other those that
 * want to be alone.
 * They run in real time against a server beside a browser that draws in software: one that fails is run again in the
 * end, alone, and passes as unsteady if it then does.
 * @param makers  each gives a case of its lane a world of its own: {world, check(), details(), end()}
 * @param where   stands before each name
 */
export async function runCases(wanted, makers, where = "") {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const beside = wanted.filter((one) => !one.alone);
  const alone = wanted.filter((one) => one.alone);
  const again = [];
  const run = async (one, makeWorld, isLast) => {
    const began = Date.now();
    const { result, text } = await runCase(one.run, makeWorld);
    const isAgain = result === "failed" && !isLast;
    const word = isAgain ? "unsteady:" : WORDS[result];
    console.log(`${word} ${where}${one.name} (${((Date.now() - began) / 1000).toFixed(1)} s)${text}`);
    if (isAgain) again.push(one);
    else counts[result]++;
  };
  const runLane = async (makeWorld) => {
    for (let one = beside.shift(); one !== undefined; one = beside.shift()) await run(one, makeWorld, false);
  };
  await Promise.all(makers.map(runLane));
  for (const one of alone) await run(one, makers[0], false);
  for (const one of again) await run(one, makers[0], true);
  return counts;
}

async function runCase(run, makeWorld) {
  let made = null;
  let timer = null;
  try {
    made = await makeWorld();
    const late = new Promise((_, reject) => {
      const limitMs = factor * CASE_MS;
      timer = setTimeout(() => reject(new Error(`not finished after ${limitMs / 1000} s`)), limitMs);
    });
    await Promise.race([run(made.world), late]);
    await made.check();
    return { result: "passed", text: "" };
  } catch (error) {
    if (error instanceof Skip) return { result: "skipped", text: `: ${error.message}` };
    const details = made === null ? "" : made.details();
    return { result: "failed", text: `\n     ${error.message.split("\n").join("\n     ")}${details}` };
  } finally {
    clearTimeout(timer);
    if (made !== null) await made.end();
  }
}
