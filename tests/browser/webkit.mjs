// WebKitGTK by WebDriver, behind the part of playwright's interface that core cases use.
//
//     WebDriver <- Page: one MiniBrowser with one window <- Locator, Keyboard, Mouse
//
// WebDriver has no script that runs before a page's own and no events. So the page is served with a gate: its code begins
// when the adapter says so, which has then run what `addInitScript` was given (`pageForWebKit`); what the page complains about
// is kept in the page and comes with the answer to whatever is evaluated next.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { patience, sleep, until } from "./harness.mjs";
import { WEB } from "./places.mjs";
import { freePort } from "./tank-server.mjs";

const WAIT_MS = 30_000;

// ---- the page behind its gate ----

let gated = null;

/** A copy of the built page whose code begins when `window.begin` is called. It goes when this program ends. */
export function pageForWebKit() {
  if (gated !== null) return gated;
  gated = mkdtempSync(join(tmpdir(), "tarn-webkit-"));
  process.once("exit", () => rmSync(gated, { recursive: true, force: true }));
  // What is packed of a file that is changed here would be of no use.
  const isPacked = (path) => /index\.html\./.test(path);
  cpSync(join(WEB, "dist"), gated, { recursive: true, filter: (path) => !isPacked(path) });
  const index = join(gated, "index.html");
  const html = readFileSync(index, "utf8");
  const [tag, start] = /<script type="module"[^>]*src="([^"]+)"[^>]*><\/script>/.exec(html);
  const gate = `window.begin = () => import(${JSON.stringify(start)});\n`;
  writeFileSync(join(gated, "gate.js"), gate);
  writeFileSync(index, html.replace(tag, '<script src="./gate.js"></script>'));
  return gated;
}

/** In a page, before its scripts: keeps what it complains about, as playwright's events have it. */
function keepComplaints() {
  window.complaints = [];
  for (const [method, type] of [
    ["error", "error"],
    ["warn", "warning"],
  ]) {
    const say = console[method].bind(console);
    console[method] = (...words) => {
      window.complaints.push(["console", type, words.map(String).join(" ")]);
      say(...words);
    };
  }
  const uncaught = (error) => window.complaints.push(["pageerror", "error", String(error?.message ?? error)]);
  window.addEventListener("error", (event) => uncaught(event.error ?? event.message));
  window.addEventListener("unhandledrejection", (event) => uncaught(event.reason));
  document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    window.complaints.push(["console", "error", `the policy's ${violatedDirective} refuses ${blockedURI}`]),
  );
  const asked = ({ name }) => window.complaints.push(["request", "", name]);
  new PerformanceObserver((list) => list.getEntries().forEach(asked)).observe({
    type: "resource",
    buffered: true,
  });
}

// ---- WebDriver ----

/** One WebKitWebDriver with one MiniBrowser: it can have no more. */
class Driver {
  static async start({ driver, browser, args, trustsAll, env }) {
    const port = await freePort();
    // A group of its own, which ends with it, whoever has started what.
    const child = spawn(driver, [`--port=${port}`], { env, stdio: "ignore", detached: true });
    const made = new Driver(child, port);
    try {
      await until(
        () =>
          made.call("GET", "/status").then(
            ({ ready }) => ready,
            () => false,
          ),
        "WebKitWebDriver answers",
      );
      const { sessionId } = await made.call("POST", "/session", {
        capabilities: {
          alwaysMatch: {
            acceptInsecureCerts: trustsAll,
            "webkitgtk:browserOptions": { binary: browser, args: ["--automation", ...args] },
          },
        },
      });
      made.session = `/session/${sessionId}`;
      await made.send("POST", "/timeouts", { script: patience() * WAIT_MS });
      return made;
    } catch (error) {
      made.kill();
      throw error;
    }
  }

  constructor(child, port) {
    this.child = child;
    this.port = port;
    this.last = Promise.resolve();
    this.killed = () => this.kill();
    process.once("exit", this.killed);
  }

  async call(method, path, body) {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  }

  /** A command of the session, after those before it. */
  send(method, path, body) {
    const answer = this.last.then(() => this.call(method, this.session + path, body));
    this.last = answer.catch(() => {});
    return answer;
  }

  async end() {
    await this.send("DELETE", "").catch(() => {});
    this.kill();
  }

  kill() {
    process.off("exit", this.killed);
    try {
      process.kill(-this.child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

// ---- playwright's interface ----

export function launchWebKit(options) {
  const contexts = new Set();
  return {
    async newContext({ viewport }) {
      const context = new Context(await Driver.start(options), viewport, () => contexts.delete(context));
      contexts.add(context);
      return context;
    },
    close: () => Promise.all([...contexts].map((context) => context.close())),
  };
}

class Context {
  constructor(driver, viewport, closed) {
    this.driver = driver;
    this.viewport = viewport;
    this.closed = closed;
  }

  async newPage() {
    const page = new Page(this);
    await page.resize(this.viewport);
    return page;
  }

  async close() {
    this.closed();
    await this.driver.end();
  }
}

class Page {
  constructor(context) {
    this.owner = context;
    this.driver = context.driver;
    this.before = [];
    this.listeners = new Map();
    this.keyboard = new Keyboard(this.driver);
    this.mouse = new Mouse(this.driver);
    void this.addInitScript(keepComplaints);
  }

  context() {
    return this.owner;
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  emit(event, ...values) {
    for (const listener of this.listeners.get(event) ?? []) listener(...values);
  }

  async addInitScript(script, argument) {
    this.before.push(`(${script})(${JSON.stringify(argument) ?? ""});`);
  }

  /** The window has bars of its own around the page. */
  async resize({ width, height }) {
    const inner = () => this.evaluate(() => [window.innerWidth, window.innerHeight]);
    const rect = { x: 0, y: 0, width, height };
    await this.driver.send("POST", "/window/rect", rect);
    const [w, h] = await inner();
    await this.driver.send("POST", "/window/rect", { ...rect, width: 2 * width - w, height: 2 * height - h });
    await until(
      async () => (await inner()).join() === [width, height].join(),
      `a page of ${width} x ${height}`,
    );
  }

  async goto(url) {
    await this.driver.send("POST", "/url", { url });
    await this.evaluate(() => {});
  }

  /** Each page has a window of its own, of a browser of its own. */
  async bringToFront() {}

  /** Where the page was when something was evaluated last. */
  url() {
    return this.address;
  }

  title() {
    return this.evaluate(() => document.title);
  }

  async evaluate(script, argument) {
    const expression = typeof script === "function" ? `(${script})(arguments[0])` : `(${script})`;
    const source = `return (async () => {
      if (window.begin !== undefined) {
        const { begin } = window;
        delete window.begin;
        ${this.before.join("\n")}
        await begin();
      }
      const address = location.href;
      const complaints = window.complaints?.splice(0) ?? [];
      const value = await ${expression};
      return JSON.stringify({ value, address, complaints }); // as an object its keys would come in another order
    })()`;
    const answer = await this.driver.send("POST", "/execute/sync", {
      script: source,
      args: [argument ?? null],
    });
    const { value, address, complaints } = JSON.parse(answer);
    this.address = address;
    for (const [event, type, text] of complaints) {
      if (event === "console") this.emit(event, { type: () => type, text: () => text });
      else if (event === "request") this.emit(event, { url: () => text });
      else this.emit(event, new Error(text));
    }
    return value;
  }

  async screenshot() {
    return Buffer.from(await this.driver.send("GET", "/screenshot"), "base64");
  }

  /** Waits until `look` gives something true; a page that is on its way elsewhere gives nothing. */
  poll(look, what) {
    return until(() => look().catch(() => null), what, WAIT_MS);
  }

  async waitForFunction(script, argument) {
    await this.poll(() => this.evaluate(script, argument), String(script));
  }

  async waitForURL(wanted) {
    const isSo = (url) => (wanted instanceof RegExp ? wanted.test(url) : url === wanted);
    await this.poll(async () => isSo(await this.evaluate(() => location.href)), `the address is ${wanted}`);
  }

  waitForTimeout(ms) {
    return sleep(ms);
  }

  locator(css, options) {
    return new Locator(this, []).locator(css, options);
  }

  getByRole(role, options) {
    return new Locator(this, []).getByRole(role, options);
  }

  getByLabel(text, options) {
    return new Locator(this, []).getByLabel(text, options);
  }

  getByText(text, options) {
    return new Locator(this, []).getByText(text, options);
  }
}

const KEYS = {
  Enter: "\uE007",
  Escape: "\uE00C",
  Tab: "\uE004",
  Shift: "\uE008",
  Home: "\uE011",
  End: "\uE010",
  ArrowLeft: "\uE012",
  ArrowUp: "\uE013",
  ArrowRight: "\uE014",
  ArrowDown: "\uE015",
};

const act = (driver, type, id, actions, parameters) =>
  driver.send("POST", "/actions", { actions: [{ type, id, parameters, actions }] });

class Keyboard {
  constructor(driver) {
    this.driver = driver;
  }

  do(key, ...types) {
    const value = KEYS[key] ?? key;
    if ([...value].length !== 1) throw new Error(`the adapter knows no key ${key}`);
    return act(
      this.driver,
      "key",
      "keys",
      types.map((type) => ({ type, value })),
    );
  }

  down(key) {
    return this.do(key, "keyDown");
  }

  up(key) {
    return this.do(key, "keyUp");
  }

  press(key) {
    return this.do(key, "keyDown", "keyUp");
  }
}

class Mouse {
  constructor(driver) {
    this.driver = driver;
    this.at = [0, 0];
  }

  do(...actions) {
    return act(this.driver, "pointer", "mouse", actions, { pointerType: "mouse" });
  }

  async move(x, y, { steps = 1 } = {}) {
    const [fromX, fromY] = this.at;
    this.at = [x, y];
    const moves = Array.from({ length: steps }, (_, i) => ({
      type: "pointerMove",
      duration: 0,
      origin: "viewport",
      x: Math.round(fromX + ((x - fromX) * (i + 1)) / steps),
      y: Math.round(fromY + ((y - fromY) * (i + 1)) / steps),
    }));
    await this.do(...moves);
  }

  down() {
    return this.do({ type: "pointerDown", button: 0 });
  }

  up() {
    return this.do({ type: "pointerUp", button: 0 });
  }

  async wheel(deltaX, deltaY) {
    const [x, y] = this.at.map(Math.round);
    await act(this.driver, "wheel", "wheel", [
      { type: "scroll", duration: 0, origin: "viewport", x, y, deltaX, deltaY },
    ]);
  }
}

/**
 * In a page: the elements that steps lead to, each from those before it.
 * @param steps  [{css, hasText}, {role, name, exact}, {label, exact}, {text, exact}, {at}]: texts are [text] or [pattern, flags]
 */
function findAll(steps) {
  const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim();
  const fits = (text, [wanted, flags], exact) => {
    if (flags !== undefined) return new RegExp(wanted, flags).test(tidy(text));
    const [found, word] = [tidy(text), tidy(wanted)];
    return exact ? found === word : found.toLowerCase().includes(word.toLowerCase());
  };
  const named = (ids) =>
    (ids ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join(" ");
  const nameOf = (element) =>
    element.getAttribute("aria-label") ??
    (named(element.getAttribute("aria-labelledby")).trim() || tidy(element.textContent) || element.title);
  const labelsOf = (element) => [
    element.getAttribute("aria-label"),
    named(element.getAttribute("aria-labelledby")),
    ...[...(element.labels ?? [])].map((label) => label.textContent),
  ];
  const ROLES = {
    button: "button, input[type=button], input[type=submit], [role=button]",
    link: "a[href], [role=link]",
    heading: "h1, h2, h3, h4, h5, h6, [role=heading]",
  };
  const inside = (roots, css) => [...new Set(roots.flatMap((root) => [...root.querySelectorAll(css)]))];
  const take = (roots, { css, hasText, role, name, label, text, exact, at }) => {
    if (at !== undefined) return roots.slice(at, at + 1 || undefined);
    if (css !== undefined)
      return inside(roots, css).filter(
        (one) => hasText === undefined || fits(one.textContent, hasText, false),
      );
    if (role !== undefined)
      return inside(roots, ROLES[role]).filter(
        (one) =>
          one.checkVisibility({ visibilityProperty: true }) &&
          (name === undefined || fits(nameOf(one), name, exact)),
      );
    if (label !== undefined)
      return inside(roots, "*").filter((one) => labelsOf(one).some((own) => own && fits(own, label, exact)));
    const says = (one) =>
      !/^(SCRIPT|STYLE|HEAD|TITLE)$/.test(one.tagName) && fits(one.textContent, text, exact);
    return inside(roots, "body *").filter((one) => says(one) && ![...one.children].some(says));
  };
  return steps.reduce(take, [document]);
}

const words = (text) => (text instanceof RegExp ? [text.source, text.flags] : [text]);

class Locator {
  constructor(page, steps) {
    this.page = page;
    this.steps = steps;
  }

  andThen(step) {
    return new Locator(this.page, [...this.steps, step]);
  }

  locator(css, { hasText } = {}) {
    return this.andThen({ css, hasText: hasText === undefined ? undefined : words(hasText) });
  }

  getByRole(role, { name, exact } = {}) {
    return this.andThen({ role, name: name === undefined ? undefined : words(name), exact });
  }

  getByLabel(text, { exact } = {}) {
    return this.andThen({ label: words(text), exact });
  }

  getByText(text, { exact } = {}) {
    return this.andThen({ text: words(text), exact });
  }

  first() {
    return this.andThen({ at: 0 });
  }

  last() {
    return this.andThen({ at: -1 });
  }

  nth(at) {
    return this.andThen({ at });
  }

  evaluateAll(script, argument) {
    return this.page.evaluate(
      `(${script})((${findAll})(${JSON.stringify(this.steps)}), ${JSON.stringify(argument)})`,
    );
  }

  /** What the script says of the first element, once there is one and it says something. */
  async ofFirst(script, argument) {
    const { value } = await this.page.poll(
      () =>
        this.page.evaluate(
          `(async ([one]) => one === undefined ? null : { value: await (${script})(one, ${JSON.stringify(argument)}) })((${findAll})(${JSON.stringify(this.steps)}))`,
        ),
      `there is ${JSON.stringify(this.steps)}`,
    );
    return value;
  }

  evaluate(script, argument) {
    return this.ofFirst(script, argument);
  }

  count() {
    return this.evaluateAll((all) => all.length);
  }

  allTextContents() {
    return this.evaluateAll((all) => all.map((one) => one.textContent));
  }

  isVisible() {
    return this.evaluateAll(([one]) => {
      if (one === undefined) return false;
      const { width, height } = one.getBoundingClientRect();
      return width > 0 && height > 0 && one.checkVisibility({ visibilityProperty: true });
    });
  }

  isDisabled() {
    return this.ofFirst((one) => one.matches(":disabled"));
  }

  textContent() {
    return this.ofFirst((one) => one.textContent);
  }

  inputValue() {
    return this.ofFirst((one) => one.value);
  }

  getAttribute(name) {
    return this.ofFirst((one, name) => one.getAttribute(name), name);
  }

  boundingBox() {
    return this.ofFirst((one) => {
      const { x, y, width, height } = one.getBoundingClientRect();
      return { x, y, width, height };
    });
  }

  scrollIntoViewIfNeeded() {
    return this.ofFirst((one) => one.scrollIntoView({ block: "nearest" }));
  }

  focus() {
    return this.ofFirst((one) => one.focus());
  }

  dispatchEvent(type) {
    return this.ofFirst((one, type) => {
      one.dispatchEvent(new Event(type, { bubbles: true }));
    }, type);
  }

  async waitFor({ state = "visible" } = {}) {
    const wanted = state === "visible";
    await this.page.poll(
      async () => (await this.isVisible()) === wanted,
      `${JSON.stringify(this.steps)} is ${state}`,
    );
  }

  /** Where it is, once it stands still and nothing lies over it. */
  async click() {
    let before = null;
    const [x, y] = await this.page.poll(
      async () => {
        const place = await this.evaluateAll(([one]) => {
          if (one === undefined || one.matches(":disabled")) return null;
          one.scrollIntoView({ block: "nearest" });
          const { left, top, width, height } = one.getBoundingClientRect();
          const at = [left + width / 2, top + height / 2];
          const hit = document.elementFromPoint(...at);
          // A label stands for what it names.
          return one.contains(hit) || [...(one.labels ?? [])].some((label) => label.contains(hit))
            ? at
            : null;
        });
        const isStill = place !== null && place.join() === before?.join();
        before = place;
        return isStill && place;
      },
      `${JSON.stringify(this.steps)} can be pressed`,
    );
    await this.page.mouse.move(x, y);
    await this.page.mouse.down();
    await this.page.mouse.up();
  }

  async check() {
    if (!(await this.ofFirst((one) => one.checked))) await this.click();
    if (!(await this.ofFirst((one) => one.checked)))
      throw new Error(`${JSON.stringify(this.steps)} isn't checked by a click`);
  }

  async press(key) {
    await this.focus();
    await this.page.keyboard.press(key);
  }

  /** As if it were typed over what was there. */
  async fill(value) {
    await this.ofFirst((one, value) => {
      one.focus();
      if (/^(color|range|date)$/.test(one.type)) {
        one.value = value;
        one.dispatchEvent(new Event("input", { bubbles: true }));
        one.dispatchEvent(new Event("change", { bubbles: true }));
        return;
      }
      one.select();
      document.execCommand("insertText", false, value);
    }, value);
  }

  /** @param wanted  a value, or {label} */
  async selectOption(wanted) {
    const pick = (select, wanted) => {
      const fits = ({ value, label }) =>
        wanted.label === undefined ? value === wanted : label === wanted.label;
      const option = [...select.options].find(fits);
      if (option === undefined || select.disabled) return false;
      option.selected = true;
      select.dispatchEvent(new Event("input", { bubbles: true }));
      select.dispatchEvent(new Event("change", { bubbles: true }));
      return true;
    };
    await this.page.poll(
      () => this.ofFirst(pick, wanted),
      `${JSON.stringify(this.steps)} offers ${JSON.stringify(wanted)}`,
    );
  }
}
