import { assert, assertEqual, test, until } from "../harness.mjs";
import { look } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 720, height: 405 } } };

test("P pauses for everybody, S makes one step, P resumes", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [a, b] = [await world.watch(server.url), await world.watch(server.url)];
  await a.keyboard.press("p");
  const still = async (page) => {
    const first = await look(page, "paused", "step");
    await page.waitForTimeout(300);
    const second = await look(page, "paused", "step");
    return first.paused && second.paused && first.step === second.step;
  };
  await until(() => still(a), "the first page is paused");
  await until(() => still(b), "the second page is paused");
  const { step } = await look(a, "step");
  assertEqual((await look(b, "step")).step, step, "step of the second page");
  await a.keyboard.press("s");
  await until(async () => (await look(b, "step")).step === step + 1, "both see one step more");
  await a.keyboard.press("p");
  await until(async () => (await look(b, "step")).step > step + 2, "time goes on");
});

test("R starts the tank afresh", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await until(async () => (await look(page, "step")).step > 20, "some steps pass");
  const before = await look(page, "epoch", "step");
  await page.keyboard.press("r");
  await until(async () => (await look(page, "epoch")).epoch !== before.epoch, "a new epoch begins");
});

test("the panel loads another scene for everybody", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [a, b] = [await world.watch(server.url, WIDE), await world.watch(server.url, WIDE)];
  const names = await a.locator("#panel select option").allTextContents();
  assert(names.includes("Still pool") && names[0] === "Small pool", `the list has: ${names}`);
  await a.locator("#panel select").selectOption({ label: "Still pool" });
  await until(
    async () => (await look(b, "sizeM")).sizeM[2] === 1,
    "the second page shows the other tank",
    20_000,
  );
  await until(async () => (await look(b, "particles")).particles === 65_536, "with its particles", 20_000);
  const shown = await b.locator("#panel select").evaluate((select) => select.selectedOptions[0].textContent);
  assertEqual(shown, "Still pool", "the second page's list");
  const left = await b.locator("#panel select option").allTextContents();
  assert(!left.includes("Small pool"), `a scene that can't be loaded again is still in the list: ${left}`);
});

test("a parameter that one page changes shows on the other", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [a, b] = [await world.watch(server.url, WIDE), await world.watch(server.url, WIDE)];
  for (const page of [a, b]) await page.getByRole("button", { name: "Parameters" }).click();
  const gravity = (page) => page.locator("#panel .lil-number", { hasText: "Gravity" }).locator("input");
  await gravity(a).fill("3");
  await gravity(a).press("Enter");
  await until(async () => Number(await gravity(b).inputValue()) === 3, "the second page shows 3 m/s²");
});
