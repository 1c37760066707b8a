import { expect, test } from "vitest";
import { PushTool } from "../src/input/push-tool.js";
import type { PointerInput } from "../src/protocol/messages.js";

function tool(link = { open: true }): { push: PushTool; log: string[]; sent: PointerInput[] } {
  const log: string[] = [];
  const sent: PointerInput[] = [];
  const push = new PushTool({
    rayAt: (x, _y, ray) => {
      ray.origin[0] = x;
    },
    depth: () => 2,
    send: (input) => {
      if (!link.open) return false;
      sent.push(input);
      log.push(`${input.id} ${input.phase} ${input.origin_m[0]}`);
      return true;
    },
  });
  return { push, log, sent };
}

test("moves between two pictures become one, presses and releases are sent at once", () => {
  const { push, log } = tool();
  push.down(0, 1, 0);
  push.move(0, 2, 0);
  push.move(0, 3, 0);
  push.flush();
  push.flush();
  push.move(0, 4, 0);
  push.up(0, 5, 0);
  push.flush();
  expect(log).toEqual(["0 down 1", "0 move 3", "0 up 5"]);
});

test("fingers push independently", () => {
  const { push, log } = tool();
  push.down(0, 1, 0);
  push.down(1, 10, 0);
  push.move(1, 11, 0);
  push.flush();
  push.up(0, 2, 0);
  expect(log).toEqual(["0 down 1", "1 down 10", "1 move 11", "0 up 2"]);
  expect(push.pressed).toBe(true);
});

test("a release that was never pressed is not sent", () => {
  const { push, log } = tool();
  push.up(0, 1, 0);
  push.move(0, 1, 0);
  push.flush();
  expect(log).toEqual([]);
});

test("a press slides along the plane that it took hold of", () => {
  const { push } = tool();
  const at: [number, number, number] = [0, 0, 0];
  expect(push.place(at)).toBe(false);
  push.down(0, 1, 0);
  push.move(0, 5, 0);
  expect(push.place(at)).toBe(true);
  expect(at).toEqual([5, 0, -2]);
});

test("a press keeps its tool; what adds something says its colour", () => {
  const { push, sent } = tool();
  push.colour = 0x123456;
  push.tool = "vortex";
  push.down(0, 1, 0);
  push.down(1, 2, 0, "pour");
  push.tool = "drain";
  expect(push.acting).toBe("pour");
  push.up(1, 2, 0);
  push.up(0, 1, 0);
  expect(push.acting).toBe("drain");
  expect(sent.map(({ tool: name, colour }) => [name, colour])).toEqual([
    ["vortex", undefined],
    ["pour", 0x123456],
    ["pour", 0x123456],
    ["vortex", undefined],
  ]);
});

test("a release that could not be sent follows, from where it was", () => {
  const link = { open: true };
  const { push, log } = tool(link);
  push.down(0, 1, 0);
  push.down(1, 10, 0);
  link.open = false;
  push.up(0, 2, 0);
  push.move(1, 11, 0);
  push.flush();
  link.open = true;
  push.flush();
  push.flush();
  expect(log).toEqual(["0 down 1", "1 down 10", "0 up 2", "1 move 11"]);
});

test("a press that could not be sent follows while it lasts; its release isn't sent without it", () => {
  const link = { open: true };
  const { push, log } = tool(link);
  push.down(0, 1, 0);
  link.open = false;
  push.up(0, 2, 0);
  push.down(0, 3, 0);
  push.down(1, 4, 0);
  push.up(1, 5, 0);
  push.move(0, 6, 0);
  push.flush();
  link.open = true;
  push.flush();
  push.up(0, 7, 0);
  push.flush();
  expect(log).toEqual(["0 down 1", "0 up 2", "0 down 6", "0 up 7"]);
});
