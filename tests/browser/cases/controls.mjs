import { assert, assertEqual, settled, test, until } from "../harness.mjs";
import { cheap, look, said } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 720, height: 405 } } };

test("P pauses for everybody, S makes one step, P resumes", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [a, b] = [await world.watch(cheap(server.url)), await world.watch(cheap(server.url))];
  await a.keyboard.press("p");
  const both = () => Promise.all([a, b].map((page) => look(page, "paused", "step")));
  const agree = async () => {
    const [first, second] = await both();
    return first.paused && second.paused && first.step === second.step;
  };
  await until(agree, "both pages are paused at the same step");
  const [first, second] = await settled(both, "both stand still");
  assertEqual(second, first, "the second page");
  await a.keyboard.press("s");
  await until(async () => (await agree()) && (await look(b, "step")).step > first.step, "both see a step");
  const after = { paused: true, step: first.step + 1 };
  assertEqual(await settled(both, "both stand still again"), [after, after], "after one step");
  await a.keyboard.press("p");
  await until(async () => (await look(b, "step")).step > after.step + 2, "time goes on");
});

test("< slows time down for everybody, who are told; whoever comes later sees it so, too", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [a, b] = [await world.watch(cheap(server.url), WIDE), await world.watch(cheap(server.url))];
  for (let i = 0; i < 4; i++) await a.keyboard.press("<"); // the last two before the first is answered
  await until(async () => (await look(b, "speed")).speed < 1, "the second page hears of it");
  const choice = a.getByLabel("Speed (<  >)");
  await choice.selectOption({ label: "0.05×" });
  await until(async () => (await said(b)) === "Slow motion 0.05×", "the second page says so");
  assertEqual(await b.locator("#status").getAttribute("role"), "status", "it is read aloud");
  const late = await world.watch(cheap(server.url));
  assertEqual((await look(late, "speed")).speed, 0.05, "the speed that the last page hears of");
  const { step } = await look(late, "step");
  await until(async () => (await look(late, "step")).step > step + 3, "steps are made");
  // What moves is shown in each picture, though steps are seldom.
  const moved = await late.evaluate(async () => {
    const times = [];
    for (let i = 0; i < 40; i++) {
      await new Promise((drawn) => requestAnimationFrame(drawn));
      times.push(window.tarn.shownS);
    }
    return times.filter((time, i) => i > 0 && time > times[i - 1]).length;
  });
  assert(moved > 20, `of 40 pictures ${moved} show something else than the one before`);
  await a.keyboard.press("p");
  await until(async () => (await said(b)) === "Paused · slow motion 0.05×", "a pause is told, too");
  await until(async () => (await look(a, "paused")).paused, "the first page knows");
  await a.keyboard.press("p");
  for (let speed = 0.05; speed < 1; speed = (await look(a, "speed")).speed) {
    await a.keyboard.press(">");
    await until(async () => (await look(a, "speed")).speed > speed, `faster than ${speed}`);
  }
  await until(async () => (await said(b)) === "", "nothing is said of it any more");
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
  const [a, b] = [await world.watch(cheap(server.url), WIDE), await world.watch(cheap(server.url), WIDE)];
  const choice = (page) => page.locator("#panel select").first();
  const names = () => choice(a).locator("option").allTextContents();
  await until(
    async () => (await names()).includes("Waterfall over steps"),
    "the list has the scenes' titles",
  );
  assert((await names()).includes("Small pool"), `the list has: ${await names()}`);
  await choice(a).selectOption({ label: "Still pool" });
  await until(
    async () => (await look(b, "sizeM")).sizeM[2] === 1,
    "the second page shows the other tank",
    20_000,
  );
  await until(async () => (await look(b, "particles")).particles === 65_536, "with its particles", 20_000);
  const shown = () => choice(b).evaluate((select) => select.selectedOptions[0].textContent);
  await until(async () => (await shown()) === "Still pool", "the second page's list shows it");
  await choice(b).selectOption({ label: "Small pool" });
  await until(
    async () => (await look(a, "sizeM")).sizeM[2] !== 1,
    "the server's own scene is back for the first page",
    20_000,
  );
});

test("a parameter that one page changes shows on the other", { core: true }, async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [a, b] = [await world.watch(cheap(server.url), WIDE), await world.watch(cheap(server.url), WIDE)];
  for (const page of [a, b]) await page.getByRole("button", { name: "Parameters" }).click();
  const gravity = (page) => page.locator("#panel .lil-number", { hasText: "Gravity" }).locator("input");
  // What is typed counts once the field loses the focus, which only the window in front has.
  await a.bringToFront();
  await gravity(a).fill("3");
  await gravity(a).press("Enter");
  await until(async () => Number(await gravity(b).inputValue()) === 3, "the second page shows 3 m/s²");
  const row = (page, text) => page.locator("#panel .lil-controller", { hasText: text });
  await row(a, "Surface tension, N/m").waitFor();
  const tolerance = (page) => row(page, "Tolerance").locator(".lil-display").textContent();
  assertEqual(await tolerance(b), "1e-4", "the tolerance at first");
  await row(a, "Tolerance").locator("select").selectOption({ label: "1e-5" });
  await until(async () => (await tolerance(b)) === "1e-5", "the second page shows the other tolerance");
});
