// What an owner does about the others, by the page: with the keyboard, and told to those whom it is about.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { cheap } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 660, height: 240 } } };

const openPeople = (page) => page.locator("#panel button", { hasText: "People" }).click();
const sequence = (page) => page.evaluate(() => window.tarn.sequence);
const says = (page, text) => page.locator("#status", { hasText: text }).waitFor();

/** A named page, and its context, which has a browser's storage of its own. */
async function come(world, url, name) {
  const address = new URL(cheap(url));
  address.searchParams.set("name", name);
  return await world.watch(address.href, WIDE);
}

async function push(page) {
  const [x, y] = await page.evaluate(() => window.tarn.project([0.5, 0.2, 0.25]));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.up();
}

/** Until the owner's own list says what Bob may do: what a dialog offers is of the moment at which it opens. */
async function listedAs(owner, player, standing) {
  const id = await player.evaluate(() => window.tarn.viewerId);
  const bobs = owner.locator("#panel .viewers li", { hasText: "Bob" });
  const listed = bobs.filter({ has: owner.locator(`[data-viewer="${id}"]`) }).locator("small");
  await until(
    async () => (await bobs.count()) === 1 && (await listed.allTextContents()).join() === standing,
    `the owner's list says: ${standing}`,
  );
}

/** By keys alone: to the button, into the dialog, to the choice. */
async function choose(owner, name, choice) {
  await owner.getByRole("button", { name: `What to do about ${name}` }).focus();
  await owner.keyboard.press("Enter");
  const dialog = owner.getByRole("dialog", { name });
  await dialog.waitFor();
  const button = dialog.getByRole("button", { name: choice, exact: true });
  for (let i = 0; i < 8 && !(await button.evaluate((one) => one === document.activeElement)); i++)
    await owner.keyboard.press("Tab");
  await owner.keyboard.press("Enter");
  await until(async () => (await dialog.count()) === 0, "the choice closes the dialog");
}

/** An owner and somebody who plays, in a tank where guests play. */
async function meet(world, run) {
  const store = world.folder();
  const server = await world.tank({ scene: SMALL_POOL, args: ["--guests", "play", "--store", store] });
  const key = /#key=(\S+)/.exec(readFileSync(join(store, "owner-link"), "utf8"))[1];
  const owner = await come(world, `${server.url}#key=${key}`, "Ada");
  const player = await come(world, server.url, "Bob");
  await openPeople(owner);
  await run({ server, owner, player });
}

test("an owner mutes and removes somebody, who is told and comes back so", async (world) => {
  await meet(world, async ({ owner, player }) => {
    await openPeople(player);
    assertEqual(
      await player.locator("#panel .viewers button, #panel .people .locks:visible").count(),
      0,
      "what a player is offered about the others",
    );
    await push(player);
    await until(async () => (await sequence(player)) >= 2, "the player's push is sent");
    await choose(owner, "Bob", "Mute");
    await says(player, "An owner has muted you");
    await listedAs(owner, player, "plays, muted");
    assert(
      (await player.locator("#panel .role").textContent()).includes("muted you"),
      "the list says so, too",
    );
    const before = await sequence(player);
    await push(player);
    assertEqual(await sequence(player), before, "inputs of one who is muted");
    await player.reload();
    await player.waitForFunction(() => window.tarn?.framesDecoded > 0);
    await listedAs(owner, player, "plays, muted"); // It stays so when the page comes again.
    await choose(owner, "Bob", "Unmute");
    await says(player, "You are no longer muted");
    await choose(owner, "Bob", "Remove");
    await player.getByText("You were removed").waitFor();
    await player.reload();
    await player.getByText("come again in 10 minutes").waitFor();
  });
});

test("an owner locks tools, hands over and steps back, and those affected are told", async (world) => {
  await meet(world, async ({ server, owner, player }) => {
    const pulls = (page) => page.locator('#tools [data-tool="pull"]').count();
    const parameters = player.locator("#panel button", { hasText: "Parameters" });
    await owner.getByRole("button", { name: "What players may do" }).focus();
    await owner.keyboard.press("Enter");
    const locks = owner.getByRole("dialog", { name: "What players may do" });
    await locks.getByLabel("pulling").focus();
    await owner.keyboard.press("Space");
    await says(player, "The owners have locked pulling for now");
    assertEqual([await pulls(player), await pulls(owner)], [0, 1], "buttons of what is locked");
    assertEqual(await parameters.isVisible(), false, "parameters");
    await locks.getByLabel("setting parameters").focus();
    await owner.keyboard.press("Space");
    await says(player, "You may set this tank's parameters now");
    await parameters.waitFor();
    await owner.keyboard.press("Escape");
    await player.reload(); // as whoever comes later
    await player.waitForFunction(() => window.tarn?.framesDecoded > 0);
    assertEqual(await pulls(player), 0, "locked buttons of who comes later");
    await listedAs(owner, player, "plays");

    await choose(owner, "Bob", "Make an owner");
    await says(player, "You own this tank now");
    assertEqual(await player.evaluate(() => document.body.dataset.role), "own", "the new owner's role");
    assertEqual(await pulls(player), 1, "the new owner's buttons");
    // The tank's past is theirs at once, and as long as they are owners.
    await player.getByRole("button", { name: "Time", exact: true }).click();
    await player.locator("#time").getByLabel("Name of this moment").waitFor();
    await until(
      async () =>
        Number(await player.locator("#time").getByLabel("Moment", { exact: true }).getAttribute("max")) > 1,
      "the new owner sees the past",
    );
    await listedAs(owner, player, "owns");
    await choose(owner, "Bob", "Let play");
    await says(player, "You may play here now");
    await until(async () => (await player.locator("#time").count()) === 0, "the time line is gone");
    assertEqual(await player.locator("#past").isVisible(), false, "a button for whoever may no longer");
    await listedAs(owner, player, "plays");
    await choose(owner, "Bob", "Make an owner");
    await player.getByRole("button", { name: "Time", exact: true }).waitFor();
    await listedAs(owner, player, "owns");
    await owner.getByRole("button", { name: "Step back" }).click();
    await owner.getByRole("button", { name: "Only play" }).click();
    await says(owner, "You may play here now");
    assertEqual(await owner.locator("#panel .people .locks:visible").count(), 0, "what it is still offered");
    assert(server.log.join("").includes("was made an owner by"), "the log has it");
  });
});
