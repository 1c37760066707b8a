import { expect, test } from "vitest";
import { ownFingerprint } from "../src/net/here.js";

const SHA256 = Array.from({ length: 32 }, (_, i) => (i + 100).toString(16).toUpperCase()).join(":");
const HERE = "https://tank.example/?session=main";

const says =
  (body: string, status = 200) =>
  async () =>
    new Response(body, { status });

test("a self-signed certificate's fingerprint is told", async () => {
  const server = says(JSON.stringify({ self_signed: true, sha256: SHA256 }));
  expect(await ownFingerprint(server, HERE)).toBe(SHA256);
});

test("one that browsers trust, or none, isn't told of", async () => {
  expect(await ownFingerprint(says(JSON.stringify({ self_signed: false, sha256: SHA256 })), HERE)).toBe("");
  expect(await ownFingerprint(says(JSON.stringify({ self_signed: false, sha256: null })), HERE)).toBe("");
});

test("a page without TLS doesn't ask", async () => {
  const server = async (): Promise<Response> => {
    throw new Error("asked");
  };
  expect(await ownFingerprint(server, "http://tank.example/")).toBe("");
});

test("an answer that can't be read tells nothing", async () => {
  const wrong = ["", "[]", "null", "{", '{"self_signed": true}', '{"self_signed": true, "sha256": "AB:CD"}'];
  for (const body of wrong) expect(await ownFingerprint(says(body), HERE)).toBe("");
  expect(await ownFingerprint(says(JSON.stringify({ self_signed: true, sha256: SHA256 }), 404), HERE)).toBe(
    "",
  );
  expect(await ownFingerprint(() => Promise.reject(new Error("gone")), HERE)).toBe("");
});
