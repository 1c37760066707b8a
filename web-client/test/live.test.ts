import { expect, test } from "vitest";
import { PlainError, plainly } from "../src/net/plain.js";
import { NO_ANSWER } from "../src/protocol/conversation.js";
import { explainSilence, socketUrlBeside } from "../src/protocol/live.js";
import { linkTo, startPage } from "../src/state/links.js";

/** What is told where the socket's address answers a plain request so; null: not at all. */
async function told(status: number | null): Promise<string> {
  const asked: [string, RequestInit][] = [];
  const text = await explainSilence(async (address, init) => {
    asked.push([address, init]);
    if (status === null) throw new TypeError("Failed to fetch");
    return new Response(null, { status });
  }, "wss://tank.example/a/ws");
  expect(asked.map(([address]) => address)).toEqual(["https://tank.example/a/ws"]);
  expect(asked[0]?.[1].credentials).toBe("omit"); // else a password that sockets don't send would hide
  return text;
}

test("why no WebSocket comes about is told by what its address answers", async () => {
  expect(await told(426)).toMatch(/proxy .* Upgrade and Connection/);
  expect(await told(401)).toMatch(/password/);
  expect(await told(502)).toMatch(/proxy .*502.*\/ws/);
  expect(await told(200)).toMatch(/proxy/);
  expect(await told(null)).toBe(NO_ANSWER);
});

test("no address has the password of the page's", () => {
  const page = "http://kiosk:secret@tank.example/tarn/?session=main#key=abc";
  const made = [socketUrlBeside(page), linkTo(page, "main", "k"), startPage(page, "k")];
  for (const address of made) {
    expect(address).toContain("//tank.example/");
    expect(address).not.toContain("secret");
    expect(address).not.toContain("kiosk");
  }
});

test("people are told what is written for them, and nothing else of an error", () => {
  const engine = new TypeError(
    "Request cannot be constructed from a URL that includes credentials: http://a:secret@b",
  );
  expect(plainly(new PlainError("it ends early"), "it can't be read")).toBe("it ends early");
  expect(plainly(engine, "it can't be read")).toBe("it can't be read");
  expect(plainly("text", "it can't be read")).toBe("it can't be read");
});
