import { expect, test } from "vitest";
import { endSession, listSessions, makeSession } from "../src/lobby/sessions.js";
import type { Joined } from "../src/protocol/messages.js";
import { IdentityShelf, readColour } from "../src/state/identity.js";
import {
  isOfThisMachine,
  keyIn,
  keysOf,
  linkTo,
  startPage,
  withHiddenKey,
  withoutKey,
} from "../src/state/links.js";

const answering = (status: number, body: unknown) => async (): Promise<Response> =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status });

test("the list of tanks is read, and what is no tank is left out", async () => {
  const whole = {
    session: "main",
    title: "",
    scene: "maze",
    viewers: 2,
    particles: 9,
    realtime_factor: 1,
    load: 0.5,
  };
  const list = await listSessions(
    answering(200, { sessions: [whole, { session: 5 }, null, { session: "a", scene: "b", viewers: "x" }] }),
    "",
  );
  expect(list.sessions.map(({ session, viewers, load }) => [session, viewers, load])).toEqual([
    ["main", 2, 0.5],
    ["a", 0, 0],
  ]);
  expect(list.create).toBe(false);
});

test("a refusal is told in the server's words, anything else in plain ones", async () => {
  const refused = answering(503, { error: "there are 8 tanks" });
  await expect(makeSession(refused, "maze", "", "")).rejects.toThrow(
    "The server refused: there are 8 tanks.",
  );
  await expect(listSessions(answering(200, "<html>"), "")).rejects.toThrow("can't be read");
  await expect(listSessions(answering(502, "<html>"), "")).rejects.toThrow("status 502");
  const gone = (): Promise<Response> => Promise.reject(new TypeError("fetch failed"));
  await expect(listSessions(gone, "")).rejects.toThrow("The server doesn't answer.");
});

test("a tank is ended with its owners' key, which stands in no address", async () => {
  const asked: [string, RequestInit | undefined][] = [];
  const ended = async (path: string, init?: RequestInit): Promise<Response> => {
    asked.push([path, init]);
    return new Response("{}");
  };
  await endSession(ended, "a/b", "secret");
  expect(asked).toEqual([
    ["sessions/a%2Fb", { method: "DELETE", headers: { authorization: "Bearer secret" } }],
  ]);
  const refused = answering(403, { error: "only its owners" });
  await expect(endSession(refused, "main", "")).rejects.toThrow("The server refused: only its owners.");
});

test("a new tank comes with its owners' key", async () => {
  const made = await makeSession(
    answering(201, { session: "k3", keys: { watch: "a", play: "b", own: "c" } }),
    "maze",
    "Ada's",
    "",
  );
  expect(made).toEqual({ session: "k3", ownKey: "c" });
});

test("where only owners make tanks the start page shows an owner's key", async () => {
  const headers: unknown[] = [];
  const asked = async (_path: string, init?: RequestInit): Promise<Response> => {
    headers.push((init?.headers as Record<string, string> | undefined)?.authorization);
    return new Response(JSON.stringify({ sessions: [], session: "k3", keys: { own: "c" } }));
  };
  await listSessions(asked, "0f");
  await makeSession(asked, "maze", "", "0f");
  await listSessions(asked, "");
  expect(headers).toEqual(["Bearer 0f", "Bearer 0f", undefined]);
  expect(startPage("https://water.example/tarn/", "0f")).toBe("https://water.example/tarn/#key=0f");
  expect(startPage("https://water.example/tarn/", "")).toBe("https://water.example/tarn/");
});

test("links keep the server and the path, and nothing else of the page's address", () => {
  const here = "https://water.example/tarn/?session=old&key=secret&quality=low#x";
  expect(linkTo(here, "a b", "0f")).toBe("https://water.example/tarn/?session=a+b#key=0f");
  expect(linkTo(here, "main", "")).toBe("https://water.example/tarn/?session=main");
});

test("a key is read behind the '#', and where links of old have it", () => {
  const key = (rest: string): string => keyIn(new URL(`https://water.example/?session=main${rest}`));
  expect(key("#key=0f")).toBe("0f");
  expect(key("&key=0e")).toBe("0e");
  expect(key("&key=0e#key=0f")).toBe("0f");
  expect(key("#x&key=a%2Fb")).toBe("a/b");
  expect(key("#keys=0f")).toBe("");
  expect(key("")).toBe("");
});

test("an address of old gets its key behind the '#' and keeps the rest", () => {
  const here = "https://water.example/tarn/?session=main";
  expect(withHiddenKey(`${here}&key=0f&idle=300`)).toBe(`${here}&idle=300#key=0f`);
  expect(withHiddenKey(`${here}&key=0e#x=1`)).toBe(`${here}#x=1&key=0e`);
  expect(withHiddenKey(`${here}&key=0e#key=0f`)).toBe(`${here}#key=0f`);
  expect(withHiddenKey(`${here}&key=`)).toBe(here);
  expect(withHiddenKey(`${here}#key=0f`)).toBe(null);
});

test("only roles with a key can be passed on", () => {
  const joined = { watchKey: "w", playKey: "p", ownKey: "" } as Joined;
  expect(keysOf(joined).map(([role]) => role)).toEqual(["watch", "play"]);
});

test("name and colour are kept, and a browser that keeps nothing is no failure", () => {
  const kept = new Map<string, string>();
  const shelf = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (k: string, v: string) => kept.set(k, v),
  };
  new IdentityShelf(() => shelf as never).keep("Zoë", 0xff8800);
  const found = new IdentityShelf(() => shelf as never);
  expect([found.name, found.colour]).toEqual(["Zoë", 0xff8800]);
  const broken = new IdentityShelf(() => {
    throw new Error("denied");
  });
  broken.keep("Ada", 1);
  expect([broken.name, broken.colour, broken.browser]).toEqual(["", 0, ""]);
  expect(found.browser).toMatch(/^[0-9a-f]{32}$/);
  expect(new IdentityShelf(() => shelf as never).browser).toBe(found.browser);
  expect(readColour("red")).toBeNull();
});

test("an address of the loopback leads to one's own machine only", () => {
  const own = [
    "http://127.0.0.1:8080/",
    "http://127.9.0.1/",
    "https://localhost/x",
    "http://a.localhost/",
    "http://[::1]:8080/",
  ];
  const others = [
    "http://192.168.0.7:8080/",
    "https://tarn.example/",
    "http://localhost.example/",
    "http://127.0.0.1.example/",
  ];
  expect(own.filter((address) => !isOfThisMachine(address))).toEqual([]);
  expect(others.filter(isOfThisMachine)).toEqual([]);
});

test("an address loses its key, and nothing else", () => {
  const there = "http://host/?session=pond&quality=low";
  expect(withoutKey(`${there}#key=abc`)).toBe(there);
  expect(withoutKey(`${there}#key=abc&t=1.50`)).toBe(`${there}#t=1.50`);
});
