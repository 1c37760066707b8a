// What a page asks of a tank's past, and how it reads the answers.
import { describe, expect, it } from "vitest";
import { PastClient, patiently } from "../src/lobby/past-client.js";
import { SessionsError } from "../src/lobby/sessions.js";
import { linkTo, momentIn } from "../src/state/links.js";
import { replayLeftS } from "../src/state/past.js";

interface Asked {
  path: string;
  method: string;
  key: string;
  body: unknown;
}

function client(status: number, answer: unknown): { past: PastClient; asked: Asked[] } {
  const asked: Asked[] = [];
  const fetch = (path: string, init?: RequestInit): Promise<Response> => {
    const headers = new Headers(init?.headers);
    asked.push({
      path,
      method: init?.method ?? "GET",
      key: headers.get("authorization") ?? "",
      body: typeof init?.body === "string" ? JSON.parse(init.body) : null,
    });
    return Promise.resolve(new Response(JSON.stringify(answer), { status }));
  };
  return { past: new PastClient(fetch, "a b", "secret"), asked };
}

describe("a tank's past", () => {
  it("is read, without marks that make no sense", async () => {
    const marks = [
      { id: 1, t: 2.5, name: "wave" },
      { id: "2", t: 1, name: "x" },
      { id: 3, t: null, name: "y" },
    ];
    const { past, asked } = client(200, { from: 0.5, until: 9, speed: 1, marks });
    expect(await past.look()).toEqual({ from: 0.5, until: 9, speed: 1, marks: [marks[0]] });
    expect(asked).toEqual([
      { path: "sessions/a%20b/history", method: "GET", key: "Bearer secret", body: null },
    ]);
    await expect(client(200, { from: 0 }).past.look()).rejects.toThrow("can't be read");
  });

  it("is asked for with the owners' key", async () => {
    const { past, asked } = client(202, {});
    await past.goBack(1.5);
    await past.playAgain(2.5);
    await past.mark(2, "wave");
    await past.unmark(7);
    expect(asked.map(({ path, body }) => [path, body])).toEqual([
      ["sessions/a%20b/rewind", { t: 1.5 }],
      ["sessions/a%20b/rewind", { t: 2.5, replay: true }],
      ["sessions/a%20b/marks", { t: 2, name: "wave" }],
      ["sessions/a%20b/marks", { remove: 7 }],
    ]);
    expect(asked.every(({ method, key }) => method === "POST" && key === "Bearer secret")).toBe(true);
  });

  it("leads to another tank", async () => {
    const { past } = client(201, { session: "fork", keys: { own: "theirs" } });
    expect(await past.fork(3, "")).toEqual({ session: "fork", ownKey: "theirs" });
    await expect(client(201, { session: "fork" }).past.fork(3, "")).rejects.toThrow("can't be read");
  });

  it("is tried again while the server is busy, and no longer", async () => {
    let tries = 0;
    const busy = (until: number) => (): Promise<string> =>
      ++tries < until
        ? Promise.reject(new SessionsError("The server refused: try again in a moment."))
        : Promise.resolve("done");
    expect(await patiently(busy(4), () => Promise.resolve())).toBe("done");
    expect(tries).toBe(4);
    tries = 0;
    await expect(patiently(busy(1000), () => Promise.resolve())).rejects.toThrow("try again");
    expect(tries).toBe(20);
    const wrong = (): Promise<void> => Promise.reject(new SessionsError("The server refused: no."));
    await expect(patiently(wrong, () => Promise.resolve())).rejects.toThrow("no");
  });
});

describe("what is played back", () => {
  it("lasts as long as there are steps left", () => {
    const state = { replayUntil: 720, dtS: 1 / 60 };
    expect(replayLeftS(state, 600)).toBeCloseTo(2);
    expect(replayLeftS(state, 0)).toBeCloseTo(12);
    expect(replayLeftS(state, 720)).toBe(null);
    expect(replayLeftS(state, 800)).toBe(null); // a frame may come before the state that says so
    expect(replayLeftS({ replayUntil: 0, dtS: 1 / 60 }, 0)).toBe(null);
    expect(replayLeftS(null, 5)).toBe(null);
    expect(replayLeftS(state, null)).toBe(null);
  });
});

describe("a link to a moment", () => {
  it("has it behind the '#', beside the key", () => {
    const link = linkTo("https://tank.example/x/?session=old&panel=0#key=old&t=1", "main", "own", 12.345);
    expect(link).toBe("https://tank.example/x/?session=main#key=own&t=12.35");
    expect(momentIn(new URL(link))).toBe(12.35);
    expect(linkTo("https://tank.example/", "main", "")).toBe("https://tank.example/?session=main");
  });

  it("makes sense or is none", () => {
    for (const t of ["", "x", "-1", "Infinity", "%20"])
      expect(momentIn(new URL(`https://tank.example/#t=${t}`))).toBe(null);
    expect(momentIn(new URL("https://tank.example/?t=5"))).toBe(null);
  });
});
