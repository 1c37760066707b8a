import { expect, test, vi } from "vitest";
import { Announcer } from "../src/app/announcer.js";
import { sentence } from "../src/protocol/live.js";
import { ViewModel } from "../src/state/view-model.js";

function announcer(session = "") {
  const said: string[] = [];
  const stops: (string | undefined)[][] = [];
  const model = new ViewModel();
  const notices = {
    say: (text: string) => void said.push(text),
    stop: (title: string, text: string, action: { label: string } | null) =>
      void stops.push([title, text, action?.label]),
    clear: () => {},
  };
  return { made: new Announcer(notices, model, session), model, said, stops };
}

test("an unknown tank is named in plain words, and the way leads to the others", () => {
  const { made, stops } = announcer("nope");
  made.ended("session", 'join.session: there is no session "nope"');
  expect(stops).toEqual([["No such tank", 'There is no tank "nope" here: it may have ended.', "All tanks"]]);
});

test("a tank that ends under its viewers goes with the server's reason", () => {
  const { made, stops } = announcer("pond");
  made.ended("session", "one of its owners ended this tank");
  expect(stops).toEqual([["This tank is gone", "One of its owners ended this tank.", "All tanks"]]);
});

test("a key that opens nothing can be left behind", () => {
  const { made, stops } = announcer("pond");
  made.ended("key", "the key of this link opens nothing here");
  expect(stops[0]?.[0]).toBe("This link doesn't fit");
  expect(stops[0]?.[1]).toMatch(/^The key of this link opens nothing here\. Ask whoever gave it to you/);
  expect(stops[0]?.[2]).toBe("Open it without the key");
});

test("a message's field doesn't reach people", () => {
  expect(sentence('control.scene: there is no scene "x"')).toBe('There is no scene "x".');
  expect(sentence("maze.json: it is no scene")).toBe("Maze.json: it is no scene.");
});

test("a longer sentence stays longer", () => {
  vi.useFakeTimers({ toFake: ["performance"], now: 0 });
  const { made, model, said } = announcer();
  const isShown = (text: string, afterMs: number): boolean => {
    model.connection = "playing";
    const now = performance.now();
    made.say(text);
    made.show(null, now + afterMs);
    return said.at(-1) === text;
  };
  expect(isShown("Short.", 4900)).toBe(true);
  expect(isShown("Short.", 5100)).toBe(false);
  expect(isShown("x".repeat(200), 11_900)).toBe(true);
  expect(isShown("x".repeat(200), 12_100)).toBe(false);
  vi.useRealTimers();
});

test("what acts otherwise than asked for is said once, to whom it is for", () => {
  const { made, model, said } = announcer();
  model.connection = "connected";
  const full = "emitters[0] has stopped: what it pours into is full";
  const thin = "drains[0] is 0.008 m thin: it drains as if it were as thick as a cell of 0.02 m";
  made.remark([thin], false);
  expect(said).toEqual([]);
  made.remark([thin, full], true);
  expect(said).toEqual([full]);
  made.remark([thin, full], true);
  expect(said).toHaveLength(1);
  made.remark([], true);
  made.remark([thin, full], true); // it is so again
  expect(said.at(-1)).toBe(`${thin} (and 1 more, under Controls)`);
});
