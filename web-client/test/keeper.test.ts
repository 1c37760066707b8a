import { expect, test } from "vitest";
import { clipType, fileName } from "../src/keep/keeper.js";

test("a clip is WebM where the browser can, else MP4, else none", () => {
  expect(clipType(() => true)).toBe("video/webm;codecs=vp9");
  expect(clipType((type) => type.startsWith("video/mp4"))).toBe("video/mp4;codecs=avc1"); // as Safari
  expect(clipType((type) => type === "video/mp4")).toBe("video/mp4");
  expect(clipType(() => false)).toBeNull();
});

test("a file's name says of what and when it is", () => {
  const at = new Date(2026, 0, 2, 3, 4, 5);
  expect(fileName("dam break/2", at, "mp4")).toBe("tarn-dam-break-2-2026-01-02-03-04-05.mp4");
  expect(fileName("", at, "webm")).toBe("tarn-tank-2026-01-02-03-04-05.webm");
});
