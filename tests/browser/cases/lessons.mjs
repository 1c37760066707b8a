import { assert, assertEqual, test, until } from "../harness.mjs";
import { cheap } from "../world.mjs";

/** Wide enough for a lesson to be open. */
const WIDE = { context: { viewport: { width: 960, height: 600 } } };

test("a lesson stands beside its tank, its answer hidden, and goes with its scene", {
  core: true,
}, async (world) => {
  const server = await world.tank({ scene: "lesson-pressure" });
  const page = await world.watch(cheap(server.url), WIDE);
  const lesson = page.locator("#lesson");
  await lesson.getByText(/p = density × gravity × depth/).waitFor();
  assert(await lesson.getByText(/Read the pressure/).isVisible(), "the task is seen");
  const answer = lesson.getByText(/9810 Pa for each metre/);
  assertEqual(await answer.isVisible(), false, "whether the answer is seen at once");
  await lesson.getByText("Answer", { exact: true }).focus();
  await page.keyboard.press("Enter");
  assert(await answer.isVisible(), "who asks sees it, by keys alone");
  await page.locator("#panel select").first().selectOption({ label: "Lesson: waves and their speed" });
  await lesson.getByText(/square root of gravity/).waitFor();
  await page.locator("#panel select").first().selectOption({ label: "Still pool" });
  await until(async () => (await lesson.count()) === 0, "a scene without a lesson shows none", 20_000);
  const narrow = await world.watch(cheap(server.url));
  assertEqual(await narrow.locator("#lesson").count(), 0, "lessons of another page");
});
