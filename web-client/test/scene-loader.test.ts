import { expect, test } from "vitest";
import { SceneLoader } from "../src/scenes/scene-loader.js";
import type { Solid } from "../src/state/scene-solids.js";

const TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

function loader(files: Record<string, string | Promise<string>>) {
  const asked: string[] = [];
  const shown: { solids: readonly Solid[]; files: string[] }[] = [];
  const problems: string[] = [];
  const read: [string, unknown][] = [];
  const made = new SceneLoader(
    async (path) => {
      asked.push(path);
      const body = files[path];
      const headers = { etag: `"${String(body).length}"` };
      return body === undefined ? new Response("", { status: 404 }) : new Response(await body, { headers });
    },
    {
      onFile: (scene, file) => read.push([scene, file]),
      onSolids: (solids, found) => shown.push({ solids, files: [...found.keys()] }),
      onProblem: (text) => problems.push(text),
    },
  );
  return { made, asked, shown, problems, read };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

test("a scene is fetched once, and each of its files", async () => {
  const mesh = { shape: { mesh: { file: "duck.obj" } } };
  const { made, asked, shown, problems } = loader({
    "pond.json": JSON.stringify({ solids: [mesh, { shape: { sphere: { radius_m: 1 } } }, mesh] }),
    "duck.obj": TRIANGLE,
  });
  made.use("pond");
  made.use("pond");
  await expect.poll(() => shown.at(-1)?.files).toEqual(["duck.obj"]);
  expect(asked).toEqual(["pond.json", "duck.obj"]);
  expect(shown.at(-1)?.solids.map((solid) => solid.index)).toEqual([0, 1, 2]);
  expect(shown.at(-1)?.files).toEqual(["duck.obj"]);
  expect(problems).toEqual([]);
});

test("meshes of each kind have their reader", async () => {
  const mesh = (file: string) => ({ shape: { mesh: { file } } });
  const solids = [mesh("scan.ply"), mesh("fish.glb")];
  const { made, shown, problems } = loader({
    "pond.json": JSON.stringify({ solids: solids.slice(0, 1) }),
    "sea.json": JSON.stringify({ solids }),
    "scan.ply":
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n" +
      "element face 1\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
    "fish.glb": "solid fish",
  });
  made.use("pond");
  await expect.poll(() => shown.at(-1)?.files).toEqual(["scan.ply"]);
  made.use("sea");
  await expect.poll(() => problems).toHaveLength(1);
  expect(problems[0]).toContain("fish.glb: it is no binary glTF 2.0");
});

test("an answer that comes after another scene was loaded is worthless", async () => {
  let answer = (_: string) => {};
  const late = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const box = { shape: { box: { size_m: [1, 1, 1] } } };
  const { made, shown, read } = loader({
    "slow.json": late,
    "quick.json": JSON.stringify({ title: "Quick", solids: [box, box] }),
  });
  made.use("slow");
  made.use("quick");
  await settle();
  answer(JSON.stringify({ solids: [box] }));
  await settle();
  expect(shown.at(-1)?.solids).toHaveLength(2);
  expect(read).toEqual([["quick", expect.objectContaining({ title: "Quick" })]]);
});

test("a tank that begins anew may have another scene of the same name", async () => {
  const box = { shape: { box: { size_m: [1, 1, 1] } } };
  const mesh = { shape: { mesh: { file: "duck.obj" } } };
  const files: Record<string, string> = {
    "pond.json": JSON.stringify({ title: "Later", solids: [box, mesh] }),
    "duck.obj": TRIANGLE,
  };
  const { made, asked, shown, read, problems } = loader(files);
  made.use("pond");
  made.see(5);
  made.see(5);
  await settle();
  const before = shown.length;
  expect(asked).toHaveLength(2);
  made.see(6); // a fresh start: what is the same isn't shown again
  await settle();
  expect(asked).toHaveLength(4);
  expect(shown).toHaveLength(before);
  files["duck.obj"] = `${TRIANGLE}f 3 2 1\n`;
  made.see(7);
  await settle();
  expect(shown).toHaveLength(before + 1);
  files["pond.json"] = JSON.stringify({ title: "Earlier", solids: [box] });
  made.see(8);
  await settle();
  expect(shown.at(-1)?.solids).toHaveLength(1);
  expect(read.map(([, file]) => (file as { title: string }).title)).toEqual(["Later", "Earlier"]);
  files["pond.json"] = JSON.stringify({ solids: [] });
  made.see(9);
  made.see(10); // the newest counts, whichever answer comes last
  await settle();
  expect(shown.at(-1)?.solids).toEqual([]);
  expect(problems).toEqual([]);
});

test("a scene that the server doesn't give out has no solids, and nobody is asked", async () => {
  const { made, asked, shown } = loader({});
  made.use("");
  await settle();
  expect(asked).toEqual([]);
  made.use("gone");
  made.use("");
  expect(shown.at(-1)?.solids).toEqual([]);
});

test("what goes wrong is said in words", async () => {
  const missing = loader({});
  missing.made.use("gone");
  const broken = loader({ "bad.json": "{" });
  broken.made.use("bad");
  const wrong = loader({
    "pond.json": JSON.stringify({ solids: [{ shape: { mesh: { file: "duck.obj" } } }] }),
    "duck.obj": "nothing",
  });
  wrong.made.use("pond");
  await settle();
  expect(missing.problems[0]).toContain("gone.json: the server answers 404");
  expect(broken.problems).toHaveLength(1);
  expect(wrong.problems[0]).toContain("duck.obj: it has no faces");
});
