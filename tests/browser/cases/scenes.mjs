// Scenes of an owner's own, by the page: chosen, dropped, refused, loaded, downloaded, removed.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { ROOT } from "../places.mjs";
import { cheap } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

const DUCK = join(ROOT, "server", "scenes", "duck.obj");
const TAKES = { scene: SMALL_POOL, args: ["--uploads", "64M"] };

/** A scene with a mesh, under a name of its own. */
const SCENE = {
  title: "One duck",
  size_m: [1, 1, 1],
  cell_m: 0.0625,
  blocks: [{ min_m: [0, 0, 0], max_m: [1, 0.3, 1] }],
  solids: [{ shape: { mesh: { file: "duck.obj" } }, position_m: [0.5, 0.5, 0.5] }],
};

const openScenes = async (page) => {
  await page.getByRole("button", { name: "Own scenes", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Scenes of your own" });
  await dialog.waitFor();
  return dialog;
};

const says = (dialog, text) => dialog.getByRole("status").filter({ hasText: text }).waitFor();
/** What the panel says the tank was made from. */
const sceneOf = (page) =>
  page
    .locator("#panel select")
    .first()
    .evaluate((select) => select.selectedOptions[0].textContent);

/** Drops files on the page, as a file manager does. */
async function drop(page, files) {
  await page.evaluate((list) => {
    const transfer = new DataTransfer();
    for (const { name, text } of list) transfer.items.add(new File([text], name));
    for (const type of ["dragover", "drop"])
      document.body.dispatchEvent(
        new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
  }, files);
}

test("an owner chooses a scene's files, loads it, and gets it back as a file", async (world) => {
  const server = await world.tank(TAKES);
  const page = await world.watch(cheap(server.url));
  const folder = world.folder();
  writeFileSync(join(folder, "one-duck.json"), JSON.stringify(SCENE));
  const dialog = await openScenes(page);
  await dialog.getByLabel("Files of a scene").setInputFiles([join(folder, "one-duck.json"), DUCK]);
  await says(dialog, '"One duck" is here');
  await dialog.getByRole("button", { name: "Load one-duck" }).click();
  await until(async () => (await sceneOf(page)) === "One duck", "the tank is made from the scene");

  const again = await openScenes(page);
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    again.getByRole("button", { name: "Download this tank" }).click(),
  ]);
  assertEqual(saved.suggestedFilename(), "one-duck.tar", "the file's name");
  const path = join(folder, "back.tar");
  await saved.saveAs(path);
  assertEqual(
    execFileSync("tar", ["tf", path]).toString(),
    "one-duck.json\nliquid-1.ply\nduck.obj\n",
    "what is in it",
  );
  const mesh = execFileSync("tar", ["xOf", path, "duck.obj"], { maxBuffer: 1 << 24 });
  assert(mesh.equals(readFileSync(DUCK)), "the mesh is as it was");
  await says(again, "one-duck.tar has the tank as it stands");

  // What is downloaded is a scene of its own.
  await again.getByLabel("Files of a scene").setInputFiles([path]);
  await says(again, '"One duck" is here');
  const left = again.getByRole("button", { name: /^Load/ });
  for (let count = 1; count >= 0; count--) {
    await again.getByRole("button", { name: "Remove one-duck" }).first().click();
    await until(async () => (await left.count()) === count, `scenes that are left: ${count}`);
    await says(again, "It is removed");
  }
  assertEqual(await sceneOf(page), "One duck", "the tank's scene");
});

test("what is dropped on the tank is uploaded, and what is wrong with it is said", async (world) => {
  const server = await world.tank(TAKES);
  const page = await world.watch(cheap(server.url));
  world.expected.push(/status of 400/);
  await drop(page, [{ name: "mine.json", text: JSON.stringify({ ...SCENE, cell_m: -1 }) }]);
  const dialog = page.getByRole("dialog", { name: "Scenes of your own" });
  await says(dialog, "mine.json: cell_m: found -1");
  await drop(page, [
    { name: "mine.json", text: JSON.stringify({ ...SCENE, title: "Mine", solids: undefined }) },
    { name: "notes.txt", text: "nothing" },
  ]);
  await says(dialog, '"Mine" is here');
  assertEqual(await dialog.getByRole("button", { name: /^Load/ }).count(), 1, "scenes");
  await drop(page, [{ name: "my scene.json", text: "{}" }]);
  await says(dialog, 'The file name "my scene.json" can\'t be used');
});

test("a server that takes no scenes says so, and gives the tank's nonetheless", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL, args: ["--store", join(world.folder(), "store")] });
  const page = await world.watch(cheap(server.url));
  const dialog = await openScenes(page);
  await says(dialog, "This server takes no scenes");
  assert(
    !(await dialog.getByRole("button", { name: "Choose files" }).isVisible()),
    "there is no place for any",
  );
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Download this tank" }).click(),
  ]);
  assertEqual(saved.suggestedFilename(), "small-pool.tar", "the file's name");
});

test("whoever plays has no scenes of their own, and a drop is nobody's", async (world) => {
  const server = await world.tank({ ...TAKES, args: [...TAKES.args, "--guests", "play"] });
  const page = await world.watch(cheap(server.url));
  assert(!(await page.locator("#scenes").isVisible()), "there is no button");
  await drop(page, [{ name: "mine.json", text: JSON.stringify(SCENE) }]);
  await page
    .locator("#status, #notice")
    .filter({ hasText: /recording/i })
    .first()
    .waitFor();
  assertEqual(await page.getByRole("dialog").count(), 0, "dialogs");
});

/** A scene of its own under the file name of one that comes with Tarn. */
const NAMESAKE = { ...SCENE, title: "A namesake", solids: undefined };

test("an uploaded scene with a shipped one's file name has its own title on the start page", async (world) => {
  const server = await world.tank({ ...TAKES, scene: "dam-break" });
  const page = await world.watch(cheap(server.url));
  await drop(page, [{ name: "dam-break.json", text: JSON.stringify(NAMESAKE) }]);
  const dialog = page.getByRole("dialog", { name: "Scenes of your own" });
  await dialog.getByRole("button", { name: "Load dam-break" }).click();
  await until(async () => (await page.locator("#heading").textContent()) === NAMESAKE.title, "it is loaded");
  const lobby = await world.open(server.url, { lobby: true });
  const card = lobby.locator(".cards:not(.scenes) strong");
  await card.waitFor();
  assertEqual(await card.textContent(), NAMESAKE.title, "the tank's name");
  const shipped = lobby.locator("button[data-scene=dam-break]");
  await shipped.locator("img").waitFor();
  assertEqual(
    await shipped.locator("strong").textContent(),
    "Dam break",
    "the scene that a tank can be made from",
  );
});

test("a server's own scene with a shipped one's file name has its own title, and not that one's picture", async (world) => {
  const scene = join(world.folder(), "dam-break.json");
  writeFileSync(scene, JSON.stringify(NAMESAKE));
  const server = await world.tank({ scene });
  const lobby = await world.open(server.url, { lobby: true });
  const own = lobby.locator("button[data-scene=dam-break]");
  await lobby.locator("button[data-scene=maze] img").waitFor();
  assertEqual(await own.locator("strong").textContent(), NAMESAKE.title, "its title");
  assertEqual(await own.locator("img").count(), 0, "pictures");
  assertEqual(
    await lobby.locator(".cards:not(.scenes) strong").textContent(),
    NAMESAKE.title,
    "the tank's name",
  );
});

test("a scene that was uploaded has its title everywhere, and nothing is asked for that isn't there", async (world) => {
  const server = await world.tank({
    ...TAKES,
    args: [...TAKES.args, "--store", join(world.folder(), "store")],
  });
  const missing = [];
  const prepare = async (blank) =>
    blank.on("response", (response) => {
      if (response.status() >= 400) missing.push(`${response.status()} ${response.url()}`);
    });
  const hills = {
    shape: { heightfield: { spacing_m: 0.25, file: "hills.pgm", height_m: 0.2 } },
    position_m: [0, 0, 0],
  };
  const owners = [];
  for (const title of ["One pond", "Another pond"]) {
    const made = await fetch(`${server.url}sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ scene: "small-pool" }),
    }).then((response) => response.json());
    const page = await world.watch(`${cheap(`${server.url}?session=${made.session}`)}#key=${made.keys.own}`, {
      prepare,
    });
    await drop(page, [
      { name: "pond.json", text: JSON.stringify({ ...SCENE, title, solids: [hills] }) },
      { name: "hills.pgm", text: `P2 4 4 255 ${Array(16).fill(90).join(" ")}` },
    ]);
    const dialog = page.getByRole("dialog", { name: "Scenes of your own" });
    await dialog.getByRole("button", { name: "Load pond" }).click();
    await until(async () => (await page.locator("#heading").textContent()) === title, `${title} is shown`);
    await until(() => page.evaluate(() => window.tarn.solids === 1), "its hills are drawn");
    owners.push(page);
  }
  const guest = await world.watch(owners[1].url().split("#")[0], { prepare });
  await until(
    async () => (await guest.locator("#heading").textContent()) === "Another pond",
    "a guest sees it",
  );
  const lobby = await world.open(server.url, { lobby: true, prepare });
  const names = () => lobby.locator(".cards:not(.scenes) strong").allTextContents();
  const all = ["Another pond", "One pond", "Small pool"];
  await until(async () => JSON.stringify((await names()).sort()) === JSON.stringify(all), "titles of both");
  assertEqual(missing, [], "what isn't there");
});
