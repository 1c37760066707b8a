import { assert, assertEqual, sleep, test, until } from "../harness.mjs";
import { cheap, hasSaid, look, said } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

const bar = (page) => page.locator("#time");
const press = (page, name) => bar(page).getByRole("button", { name, exact: true }).click();
const slider = (page) => bar(page).getByLabel("Moment", { exact: true });
const range = (page) =>
  slider(page).evaluate(({ min, max, value }) => ({
    from: Number(min),
    until: Number(max),
    at: Number(value),
  }));

async function moveTo(page, seconds) {
  await slider(page).evaluate((input, value) => {
    input.value = String(value);
    input.dispatchEvent(new Event("input"));
  }, seconds);
}

/** By the key, which the time line doesn't get. */
async function togglePause(page) {
  await page.locator("canvas").first().focus();
  await page.keyboard.press("p");
}

/** How many steps a tank makes in so many ms. */
async function steps(page, ms) {
  const before = await look(page, "step");
  await sleep(ms);
  return (await look(page, "step")).step - before.step;
}

/** Of a server that keeps the past of its tanks. */
const withStore = (world, act) =>
  act({ scene: SMALL_POOL, args: ["--store", world.folder(), "--durability", "50"] });

test("an owner goes back, sees the earlier water, marks it and copies it", { core: true }, async (world) => {
  await withStore(world, async (options) => {
    const server = await world.tank(options);
    const page = await world.watch(cheap(server.url));
    await page.getByRole("button", { name: "Time", exact: true }).click();
    await until(async () => (await range(page)).until > 6, "there is some past");
    const before = await look(page, "epoch", "step");
    await moveTo(page, 1);
    assert(/^0:\d\d\.\d ago$/.test(await bar(page).locator("span").textContent()), "how long ago it is");
    await press(page, "Go back");
    const after = await until(async () => {
      const now = await look(page, "epoch", "step");
      return now.epoch > before.epoch && now;
    }, "the tank was gone back with");
    assert(after.step >= 60 && after.step < before.step, `step ${after.step}, after ${before.step}`);

    // By keys: an arrow moves the slider, away from now.
    await until(async () => (await range(page)).until > 4, "it goes on");
    await slider(page).focus();
    await page.keyboard.press("Home");
    const { from, at } = await range(page);
    assertEqual(at, from, "where Home leads");
    await page.keyboard.press("ArrowRight");
    assert((await range(page)).at > from, "an arrow moves on");

    await moveTo(page, 2);
    await bar(page).getByLabel("Name of this moment").fill("The splash");
    await page.keyboard.press("Enter");
    await bar(page).getByRole("button", { name: "The splash", exact: true }).waitFor();
    await moveTo(page, 3);
    await press(page, "The splash");
    assertEqual((await range(page)).at, 2, "where the mark leads");

    await press(page, "Make my own copy");
    const link = bar(page).getByRole("link", { name: "Open it" });
    await link.waitFor();
    const copy = await world.watch(cheap(await link.getAttribute("href")));
    assertEqual(await copy.evaluate(() => document.body.dataset.role), "own", "the role in the copy");
    assert(
      (await look(copy, "session")).session !== (await look(page, "session")).session,
      "another session",
    );
    assert((await look(copy, "step")).step >= 120 - 1, "it goes on from there");

    await press(page, "Remove the mark The splash");
    await until(
      async () => (await bar(page).getByRole("button", { name: "The splash", exact: true }).count()) === 0,
      "the mark is gone",
    );
    await bar(page).getByLabel("Speed of the tank's clock").selectOption("0.25");
    await until(async () => (await steps(page, 1000)) < 30, "the clock goes slower");
    await slider(page).focus();
    await page.keyboard.press("Escape");
    await until(async () => (await bar(page).count()) === 0, "Escape closes it");
  });
});

test("an owner has what happened play again, everybody sees until when, and a touch ends it", async (world) => {
  await withStore(world, async (options) => {
    const server = await world.tank(options);
    const owner = await world.watch(cheap(server.url));
    const says = async (page) => bar(page).locator("span").textContent();
    await owner.getByRole("button", { name: "Time", exact: true }).click();
    await until(async () => (await range(owner)).until > 10, "there is some past");
    await moveTo(owner, 1);
    await press(owner, "Play again");
    await until(async () => /^Playing again, 0:\d\d\.\d left$/.test(await says(owner)), "how much is left");
    const happened = "what happened before";
    await until(async () => (await said(owner)).includes(happened), "it says what is seen");
    const { until: end, at } = await range(owner);
    assert(end - at > 1, `the slider is at ${at} of ${end}, which is where it ends`);
    // A pause keeps it.
    await togglePause(owner);
    await until(async () => (await look(owner, "paused")).paused, "it is paused");
    assert((await says(owner)).startsWith("Playing again"), "what is said while it is paused");
    await togglePause(owner);
    // Whoever acts goes on live.
    const place = (x) => owner.evaluate((at) => window.tarn.project(at), [x, 0.2, 0.25]);
    await owner.mouse.move(...(await place(0.4)));
    await owner.mouse.down();
    await until(async () => {
      await owner.mouse.move(...(await place(0.3 + 0.4 * Math.random())));
      return (await says(owner)).startsWith("Now");
    }, "a touch ends it");
    await owner.mouse.up();
    await until(async () => !(await said(owner)).includes(happened), "nothing is said of it any more");

    // Left alone it ends by itself.
    await moveTo(owner, (await range(owner)).until - 4);
    await press(owner, "Play again");
    await until(async () => (await says(owner)).startsWith("Playing again"), "it plays again");
    await until(async () => (await says(owner)).startsWith("Now"), "it ends");
  });
});

test("a link to a moment opens the time line for owners, and says to others why not", async (world) => {
  await withStore(world, async (options) => {
    const server = await world.tank(options);
    const owner = await world.watch(cheap(server.url));
    await owner.getByRole("button", { name: "Time", exact: true }).click();
    await until(async () => (await range(owner)).until > 2, "there is some past");
    await owner.keyboard.press("Escape");
    await owner.getByRole("button", { name: "Share" }).click();
    await owner.getByLabel("Watch", { exact: true }).check();
    const watch = await owner.getByLabel("Link", { exact: true }).inputValue();
    await owner.getByLabel("Own", { exact: true }).check();
    const own = await owner.getByLabel("Link", { exact: true }).inputValue();

    const led = await world.watch(cheap(`${own}&t=1.00`));
    await bar(led).getByText("This is the moment that the link leads to").waitFor();
    await until(async () => (await range(led)).at === 1, "the slider is there");
    const { epoch } = await look(owner, "epoch");
    assertEqual((await look(led, "epoch")).epoch, epoch, "nothing happens by itself");

    const watcher = await world.watch(cheap(`${watch}&t=1.00`));
    await hasSaid(watcher, "only its owners may go back");
    assertEqual(await watcher.locator("#past").isVisible(), false, "a button for whoever may not");
    assertEqual(await bar(watcher).count(), 0, "time lines");
  });
});

test("where the server keeps no past there is no time line", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(`${server.url}#t=5`);
  await hasSaid(page, "keeps no past");
  assertEqual(await page.locator("#past").isVisible(), false, "a button for nothing");
});
