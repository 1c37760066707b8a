// Several people in a tank, links by role, and the start page with several tanks.
import { assert, assertEqual, sleep, test, until } from "../harness.mjs";
import { freePort } from "../tank-server.mjs";
import { cheap, look } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Puts the mouse over a point of the tank. */
async function pointAt(page, at) {
  const [x, y] = await page.evaluate((point) => window.tarn.project(point), at);
  await page.mouse.move(x, y);
}

/** What the page shows of others: name, place and colour. */
const people = (page) =>
  page.locator("#people .person").evaluateAll((labels) =>
    labels.map((label) => {
      const box = label.getBoundingClientRect();
      return {
        name: label.textContent,
        x: box.x,
        y: box.y,
        colour: label.style.getPropertyValue("--person"),
      };
    }),
  );

/** Wide enough for the panel to be open, and so high that the header, with a busy server's pace, lies over none of the tank. */
const WIDE = { context: { viewport: { width: 660, height: 420 } } };

const openPeople = (page) => page.locator("#panel button", { hasText: "People" }).click();

test("two pages see each other's cursors, and a new name shows", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [one, two] = [await world.watch(cheap(server.url), WIDE), await world.watch(cheap(server.url))];
  await pointAt(one, [0.3, 0.2, 0.25]);
  const [seen] = await until(async () => {
    const found = await people(two);
    return found.length === 1 && found;
  }, "the second page shows the first one's cursor");
  await pointAt(one, [0.8, 0.2, 0.25]);
  await until(async () => {
    const [now] = await people(two);
    return now !== undefined && now.x > seen.x + 20;
  }, "it follows");
  assertEqual((await people(one)).length, 0, "cursors that the first page shows of itself");

  await openPeople(one);
  const name = one.getByLabel("Your name");
  await name.fill("Zoë");
  await name.press("Enter");
  // The mouse is over the panel now, and the cursor gone with it.
  const listed = () =>
    two
      .locator("#panel .viewers li")
      .evaluateAll((items) =>
        items.map((item) => [
          item.querySelector("span").textContent,
          item.querySelector("i").style.background,
        ]),
      );
  await until(async () => (await listed()).some(([name]) => name === "Zoë"), "the new name shows");
  await one.getByLabel("Your colour").fill("#ff8800");
  await one.getByLabel("Your colour").dispatchEvent("change");
  await until(
    async () => (await listed()).some(([, colour]) => colour === "rgb(255, 136, 0)"),
    "the new colour shows",
  );
  await pointAt(one, [0.5, 0.2, 0.25]);
  await until(async () => {
    const [now] = await people(two);
    return now?.name === "Zoë" && now.colour === "#ff8800";
  }, "the cursor has both");
  const kept = await one.evaluate(() => [
    localStorage.getItem("tarn.name"),
    localStorage.getItem("tarn.colour"),
  ]);
  assertEqual(kept, ["Zoë", "#ff8800"], "what the browser keeps for the next visit");
  await one.mouse.move(2, 2);
  await until(async () => (await people(two)).length === 0, "a cursor that left the tank is gone");
});

test("a link to watch can't push, one to play can't pause, one to own can both", {
  core: true,
}, async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const owner = await world.watch(cheap(server.url));
  await owner.getByRole("button", { name: "Share" }).click();
  const links = {};
  for (const role of ["Watch", "Watch and play", "Own"]) {
    await owner.getByLabel(role, { exact: true }).check();
    links[role] = await owner.getByLabel("Link", { exact: true }).inputValue();
    assertEqual(await owner.locator("#share-dialog svg.qr").count(), 1, "QR codes");
  }
  assertEqual(new Set(Object.values(links)).size, 3, "links");
  await owner.getByText("This link works on this machine only").waitFor();
  await owner.evaluate(() => document.activeElement.blur());
  await owner.keyboard.press("h");
  assertEqual(await owner.locator("#keys").count(), 0, "lists of keys that a key opens behind a dialog");
  await owner.keyboard.press("Escape");
  await until(async () => (await owner.locator("#share-dialog").count()) === 0, "Escape closes the dialog");
  // The focus is back on the button that opened it.
  await owner.keyboard.press("h");
  await owner.locator("#keys").waitFor();
  await owner.keyboard.press("Escape");
  await owner.keyboard.press(" ");
  await owner.locator("#share-dialog").waitFor();
  await owner.keyboard.press("Escape");

  const watcher = await world.watch(cheap(links.Watch), WIDE);
  assertEqual(await watcher.evaluate(() => document.body.dataset.role), "watch", "the watcher's role");
  await pointAt(watcher, [0.5, 0.2, 0.25]);
  await watcher.mouse.down();
  await watcher.mouse.up();
  await watcher.keyboard.press("p");
  await sleep(300);
  assertEqual(await watcher.evaluate(() => window.tarn.sequence), 0, "inputs of the watcher");
  const button = (name) => watcher.locator("#panel button", { hasText: name }).isVisible();
  assertEqual(
    [await button("Pause"), await button("Centre the view")],
    [false, true],
    "buttons for pause and view",
  );
  const tools = watcher.locator("#tools button");
  const shown = await tools.evaluateAll((all) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute("aria-label")),
  );
  assertEqual(shown, ["Help"], "the watcher's bar");
  assertEqual(
    await watcher.locator("#help").textContent(),
    "You are watching · drag to look around",
    "the hint",
  );
  await watcher.keyboard.press("3");
  assertEqual(await watcher.evaluate(() => window.tarn.tool), "push", "the watcher's tool");
  const corner = () => watcher.evaluate(() => window.tarn.project([0, 0, 0])[0]);
  const before = await corner();
  await watcher.mouse.down();
  await watcher.mouse.move(400, 100);
  await watcher.mouse.up();
  await until(async () => Math.abs((await corner()) - before) > 3, "a drag on the water turns the view");
  await watcher.context().close();

  const player = await world.watch(cheap(links["Watch and play"]));
  await player.keyboard.press("p");
  assertEqual(await player.evaluate(() => window.tarn.sequence), 0, "controls of the player");
  await pointAt(player, [0.5, 0.2, 0.25]);
  await player.mouse.down();
  await player.mouse.up();
  await until(() => player.evaluate(() => window.tarn.sequence >= 2), "the player's push is sent");
  await player.context().close();

  const second = await world.watch(cheap(links.Own));
  await second.keyboard.press("p");
  await until(() => owner.evaluate(() => window.tarn.paused), "the second owner pauses the tank");
});

test("a link with a wrong key says so", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.open(`${server.url}?session=main#key=0123456789abcdef0123456789abcdef`);
  await until(
    async () => (await page.locator("#notice").textContent()).includes("This link doesn't fit"),
    "the page says that the link is wrong",
  );
  await page.getByRole("button", { name: "Open it without the key" }).click();
  await until(() => page.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 0), "the tank is seen", 30_000);
  assertEqual(page.url(), `${server.url}?session=main`, "the address");
});

test("a link of old works, and its key goes where nobody logs it", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL, args: ["--guests", "watch"] });
  const made = await fetch(`${server.url}sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ scene: "small-pool" }),
  }).then((response) => response.json());
  const asked = [];
  const here = `${server.url}?session=${made.session}`;
  const page = await world.open(`${here}&key=${made.keys.play}&quality=low`, {
    prepare: async (blank) => blank.on("request", (request) => asked.push(request.url())),
  });
  const comesTo = (role) => page.waitForFunction((word) => document.body.dataset.role === word, role);
  await comesTo("play");
  assertEqual(page.url(), `${here}&quality=low#key=${made.keys.play}`, "the address");
  assertEqual(
    asked.slice(1).filter((url) => url.includes(made.keys.play)),
    [],
    "requests with the key after the page's own",
  );
  // The same page with another key is another person's.
  await page.goto(`${here}&quality=low#key=${made.keys.own}`);
  await comesTo("own");
  await page.goto(here);
  await comesTo("watch");
});

test("a tank that isn't there is named, and the way leads to the others", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.open(`${server.url}?session=nope`);
  await page.getByText('There is no tank "nope" here: it may have ended.').waitFor();
  assertEqual((await look(page, "connection")).connection, "ended", "connection");
  assertEqual(await page.locator("#notice button").allTextContents(), ["All tanks"], "buttons");
  await page.getByRole("button", { name: "All tanks" }).click();
  await page.getByRole("heading", { name: "Running tanks" }).waitFor();
});

test("the start page shows live tanks and makes one", { core: true }, async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const lobby = await world.open(server.url, { lobby: true });
  const card = lobby.locator('[data-session="main"]');
  await until(
    async () => Number(await card.locator("canvas").getAttribute("data-frames")) > 0,
    "a picture of a tank that nobody watches",
  );
  const drawn = await card.locator("canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  });
  assert(drawn > 500, `the thumbnail has ${drawn} pixels of water`);
  assert((await card.textContent()).includes("0 people"), "a glimpse counts as somebody");
  assertEqual(
    await lobby.evaluate(() => window.tarn === undefined),
    true,
    "the start page is without the tank's code",
  );

  await lobby.getByLabel("Its name (optional)").fill("Zoë's tank");
  await lobby.getByText("Waterfall over steps").waitFor();
  await lobby.getByLabel("Its name (optional)").press("Enter");
  assertEqual(
    await lobby.evaluate(() => document.activeElement.closest(".scenes") !== null),
    true,
    "Enter in the name leads to the scenes",
  );
  const waterfall = lobby.locator('[data-scene="waterfall"]');
  await waterfall.scrollIntoViewIfNeeded();
  await until(
    () => waterfall.locator("img").evaluate((image) => image.complete && image.naturalWidth === 480),
    "the scene's picture",
  );
  await waterfall.click();
  await lobby.waitForURL(/session=[a-z0-9]{10}#key=[0-9a-f]{32}/);
  const made = lobby.url();
  await until(
    () => lobby.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 1),
    "the new tank shows frames",
    30_000,
  );
  assertEqual(await lobby.evaluate(() => document.body.dataset.role), "own", "role in one's own tank");
  const named = async () => [
    await lobby.locator("#title h1").textContent(),
    await lobby.locator("#subtitle").textContent(),
    await lobby.title(),
  ];
  await until(async () => (await named())[1] === "Waterfall over steps", "the scene's title");
  assertEqual(
    await named(),
    ["Zoë's tank", "Waterfall over steps", "Tarn – Zoë's tank"],
    "what heads the page",
  );
  const again = await world.open(server.url, { lobby: true });
  await again.getByText("Zoë's tank").first().waitFor();
  await again.getByText("1 person").first().waitFor();
  const link = (page) => page.getByRole("link", { name: /Zoë's tank/ }).getAttribute("href");
  assert(!(await link(again)).includes("key="), "another tab gets no key");
  // Whoever made it comes back to it as its owner.
  await lobby.goto(server.url);
  await lobby.getByText(/ yours · 0 people/).waitFor();
  assertEqual(await link(lobby), made, "the way back");
});

test("the start page loads pictures of scenes as they come into view", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const loaded = [];
  const lobby = await world.open(server.url, {
    lobby: true,
    prepare: (page) => page.on("request", (request) => loaded.push(request.url())),
  });
  const pictures = () => new Set(loaded.filter((url) => url.endsWith(".webp"))).size;
  await lobby.locator('[data-scene="wave-tank"]').waitFor();
  const without = await lobby
    .locator(".scenes button:not(:has(img))")
    .evaluateAll((buttons) => buttons.map((button) => button.dataset.scene));
  assertEqual(without, ["small-pool"], "scenes without a picture: the server's own");
  const listed = await lobby
    .locator(".scenes button")
    .evaluateAll((buttons) => buttons.map((button) => button.dataset.scene));
  assertEqual(listed.slice(0, 3), ["small-pool", "dam-break", "double-dam-break"], "the first scenes");
  assertEqual(
    listed.slice(-3),
    ["lesson-pressure", "lesson-buoyancy", "lesson-waves"],
    "the last scenes: lessons",
  );
  const ground = () => lobby.locator("#heading").evaluate((title) => getComputedStyle(title).backgroundColor);
  assertEqual(await ground(), "rgba(0, 0, 0, 0)", "what the title stands on, where no picture is behind it");
  const scenes = await lobby.locator(".scenes img").count();
  assert(pictures() < scenes, `${pictures()} of ${scenes} pictures are loaded at once`);
  for (let i = 0; i < scenes; i += 2) await lobby.locator(".scenes img").nth(i).scrollIntoViewIfNeeded();
  await lobby.locator(".scenes img").last().scrollIntoViewIfNeeded();
  await until(() => pictures() === scenes, "who looked at all of them has all of them");
});

test("an owner ends a tank after being asked, and everybody hears of it", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const made = await fetch(`${server.url}sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ scene: "small-pool", name: "Zoë's tank" }),
  }).then((response) => response.json());
  const owner = await world.watch(cheap(server.url));
  assertEqual(await owner.locator("#end").isVisible(), false, "the first tank can be ended");
  await owner.goto(`${server.url}?session=${made.session}#key=${made.keys.own}`);
  await owner.locator("#end").waitFor();
  const guest = await world.open(`${server.url}?session=${made.session}&key=${made.keys.play}`);
  await until(() => guest.evaluate(() => document.body.dataset.role === "play"), "a player joins", 30_000);
  assertEqual(await guest.locator("#end").isVisible(), false, "a player can end the tank");
  await owner.locator("#end").click();
  await owner.getByRole("heading", { name: "End Zoë's tank?" }).waitFor();
  await owner.getByRole("button", { name: "Keep it" }).click();
  await until(async () => (await owner.locator("#end-dialog").count()) === 0, "the dialog is gone");
  assertEqual(await owner.evaluate(() => window.tarn.connection), "connected", "a tank that is kept");
  await owner.locator("#end").click();
  await owner.getByRole("button", { name: "End it" }).click();
  await owner.waitForURL(server.url);
  await until(
    async () => (await guest.locator("#notice").textContent()).includes("ended this tank"),
    "the others hear why it is gone",
  );
});

test("a display shows a code to scan and starts an idle tank afresh", async (world) => {
  const port = await freePort();
  const there = `http://${world.engine.host}:${port}`; // where others come to
  const server = await world.tank({ scene: SMALL_POOL, port, args: ["--origin", there] });
  await world.useBrowser({});
  // The browser ignores headers that count over TLS only, and says so.
  world.expected.push(/Cross-Origin-(Opener|Embedder)-Policy/);
  const page = await world.watch(`${there}/?session=main&display=1&idle=5`, {
    prepare: (blank) =>
      blank.route(/\/scenes?\/[^/]*\.json$/, async (route) => {
        await sleep(1500); // the code is there before
        await route.fulfill({ json: { title: "A pond of its own" } });
      }),
  });
  await page.locator("#display svg.qr").waitFor();
  assertEqual(await page.locator("#panel").isVisible(), false, "a panel");
  assertEqual(await page.locator("#title").isVisible(), false, "a header");
  await until(
    async () => (await page.locator("#display strong").textContent()) === "A pond of its own",
    "the scene's title stands for the tank's name",
  );
  await page.locator("#display").getByText("Scan to play").waitFor();
  // Where there is no code that leads anywhere, or none is wanted, nothing is said of one.
  for (const address of [`${there}/?session=main&display=1&code=0`, `${server.url}?session=main&display=1`]) {
    const other = await world.watch(cheap(address));
    await other.locator("#display strong").waitFor();
    assertEqual(await other.locator("#display").textContent(), "Small pool", "all that a display says");
    assertEqual(await other.locator("#display svg").count(), 0, "codes");
    await other.close();
  }
  const epoch = await page.evaluate(() => window.tarn.epoch);
  await until(
    async () => (await page.evaluate(() => window.tarn.epoch)) !== epoch,
    "the idle tank starts afresh",
  );
});

test("who comes by a display's keyboard stops nothing, and what was stopped goes on by itself", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const owner = await world.watch(cheap(server.url));
  await owner.keyboard.press("<");
  await owner.keyboard.press("p");
  await owner.waitForFunction(() => window.tarn.paused && window.tarn.speed < 1);
  const display = await world.watch(`${server.url}?session=main&display=1&idle=5`);
  await display.waitForFunction(() => !window.tarn.paused && window.tarn.speed === 1);
  for (const key of ["p", "<", "h", "0"]) await display.keyboard.press(key);
  await display.waitForTimeout(1000);
  assertEqual(
    await display.evaluate(() => window.tarn.paused || window.tarn.speed < 1),
    false,
    "stopped by keys",
  );
  assertEqual(await display.locator("#keys").count(), 0, "lists of keys on a display");
  const own = await world.watch(`${server.url}?session=main&display=1&keys=1`);
  await own.keyboard.press("p");
  await own.waitForFunction(() => window.tarn.paused);
});

test("on a phone the controls leave the header's buttons free", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(cheap(server.url), { context: { viewport: { width: 390, height: 640 } } });
  const bottom = await page
    .locator("#title nav")
    .evaluate((nav) => Math.max(...[...nav.children].map((one) => one.getBoundingClientRect().bottom)));
  const top = async () => (await page.locator("#panel").boundingBox()).y;
  assert((await top()) >= bottom, `the controls begin at ${await top()}, the buttons end at ${bottom}`);
  assertEqual(await page.locator("#help").isVisible(), true, "the hint beside folded controls");
  await page.getByRole("button", { name: "Controls" }).click();
  assert((await top()) >= bottom, "open controls");
  await until(async () => !(await page.locator("#help").isVisible()), "the hint is hidden behind open ones");
});
