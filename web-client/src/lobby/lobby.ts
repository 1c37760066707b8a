import { bare, beside, fetchBeside, here } from "../net/here.js";
import { FAILED, plainly } from "../net/plain.js";
import "./lobby.css";
// The start page: the tanks that run, each with a live thumbnail, and the scenes that a new one can be made from.
import wasmUrl from "../codec/codec.wasm?url";
import DecodeWorker from "../codec/decode-worker.js?worker";
import { socketUrlBeside } from "../protocol/live.js";
import { clipName } from "../protocol/messages.js";
import { keyIn, linkTo } from "../state/links.js";
import { inOrder, SceneTexts } from "../state/scene-texts.js";
import { NAME_BYTES_MAX } from "../tables/protocol-tables.js";
import { Glimpse, type GlimpseEnvironment } from "./glimpse.js";
import { MadeHere } from "./made-here.js";
import { pictureOf } from "./scene-pictures.js";
import { listSessions, makeSession, type SessionInfo, type SessionList, withKey } from "./sessions.js";

const LIST_EVERY_MS = 4000;
/** Thumbnails that live at once. */
const GLIMPSES_MAX = 6;
const PICTURE = [320, 180] as const;
const LOAD_WORDS = "Load: how much of the time that a step may take the server needs for it";

interface Card {
  item: HTMLElement;
  link: HTMLAnchorElement;
  canvas: HTMLCanvasElement;
  name: HTMLElement;
  facts: HTMLElement;
  visible: boolean;
  glimpse: Glimpse | null;
}

export function openLobby(): void {
  document.body.classList.add("lobby");
  document.title = "Tarn – tanks of water";
  const page = document.createElement("main");
  page.id = "lobby";
  for (const id of ["tank", "panel", "readout", "help", "tools"]) document.getElementById(id)?.remove();
  document.getElementById("title")?.after(page);
  new Lobby(page).start();
}

class Lobby {
  private readonly cards = new Map<string, Card>();
  private readonly list = document.createElement("ul");
  private readonly problem = createLine();
  /** Why a tank could not be made: it stays until the next try. */
  private readonly refusal = createLine();
  private readonly gallery = document.createElement("ul");
  private readonly name = document.createElement("input");
  private readonly making = document.createElement("section");
  private readonly hint = document.createElement("p");
  private readonly watcher = new IntersectionObserver((entries) => this.seen(entries));
  private environment: GlimpseEnvironment | null = null;
  private scenesShown = "";
  private readonly key = keyIn(new URL(here()));
  private readonly made = new MadeHere(() => window.sessionStorage);
  private readonly texts = new SceneTexts((path) => fetchBeside(`scenes/${path}`));
  /** Of scenes that were uploaded to a tank: another tank's may have the same name. */
  private readonly ownTexts = new Map<string, SceneTexts>();

  constructor(page: HTMLElement) {
    this.list.className = "cards";
    this.gallery.className = "cards scenes";
    this.hint.textContent = "Press a scene to start it.";
    this.making.append(heading("A new tank"), this.hint, this.nameField(), this.refusal, this.gallery);
    page.append(heading("Running tanks"), this.problem, this.list, this.making);
  }

  start(): void {
    void this.refresh();
    window.setInterval(() => {
      if (!document.hidden) void this.refresh();
    }, LIST_EVERY_MS);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.refresh();
      this.chooseGlimpses();
    });
    fetch(bare(wasmUrl))
      .then((response) => response.arrayBuffer())
      .then((wasm) => {
        this.environment = {
          socketUrl: socketUrlBeside(beside("./")),
          decoder: () => new DecodeWorker(),
          wasm,
        };
        this.chooseGlimpses();
      })
      .catch(() => {}); // the list works without pictures
  }

  private nameField(): HTMLElement {
    const label = document.createElement("label");
    label.textContent = "Its name (optional) ";
    this.name.type = "text";
    this.name.id = "tank-name";
    this.name.maxLength = NAME_BYTES_MAX;
    // The name alone makes no tank: next comes the scene.
    this.name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // or it presses what it focusses
      this.gallery.querySelector("button")?.focus();
    });
    label.append(this.name);
    return label;
  }

  private async refresh(): Promise<void> {
    try {
      const found = await listSessions(fetchBeside, this.key);
      await this.readTitles(found);
      this.show(found);
      this.say("");
    } catch (error) {
      this.say(plainly(error, FAILED));
    }
  }

  /** What was uploaded to a tank lies with it, and not with the scenes that all tanks can be made from. */
  private async readTitles({ sessions, scenes }: SessionList): Promise<void> {
    const isShared = ({ scene, sceneIsOwn }: SessionInfo): boolean => !sceneIsOwn && scenes.includes(scene);
    const shared = sessions.filter(isShared).map(({ scene }) => scene);
    for (const { session } of sessions.filter(isShared)) this.ownTexts.delete(session);
    const own = sessions.filter((info) => !isShared(info));
    await Promise.all([
      this.texts.read(shared),
      ...own.map(({ session, scene }) => this.textsOf(session).read([scene])),
    ]);
  }

  private textsOf(session: string): SceneTexts {
    let texts = this.ownTexts.get(session);
    if (texts === undefined) {
      const headers = withKey(this.made.keyOf(session) || this.key);
      const folder = `sessions/${encodeURIComponent(session)}/scene/`;
      texts = new SceneTexts((path) => fetchBeside(folder + path, { headers }));
      this.ownTexts.set(session, texts);
    }
    return texts;
  }

  private say(text: string): void {
    if (this.problem.textContent !== text) this.problem.textContent = text;
  }

  private show({ sessions, scenes, create }: SessionList): void {
    const there = new Set(sessions.map(({ session }) => session));
    for (const [session, card] of this.cards) if (!there.has(session)) this.remove(session, card);
    for (const info of sessions) {
      const card = this.cards.get(info.session) ?? this.add(info.session);
      const scene = (this.ownTexts.get(info.session) ?? this.texts).of(info.scene).title;
      card.name.textContent = info.title || scene;
      card.facts.textContent = facts(info, scene, this.made.keyOf(info.session) !== "");
      card.facts.title = info.realtimeFactor === 0 ? "" : LOAD_WORDS;
    }
    this.making.classList.toggle("closed", !create);
    this.hint.hidden = !create;
    for (const button of this.gallery.querySelectorAll("button")) button.disabled = !create;
    void this.showScenes(scenes);
    this.chooseGlimpses();
  }

  private add(session: string): Card {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = linkTo(beside("./"), session, this.made.keyOf(session));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = PICTURE;
    canvas.setAttribute("aria-hidden", "true");
    const name = document.createElement("strong");
    const about = document.createElement("span");
    link.append(canvas, name, about);
    item.append(link);
    item.dataset.session = session;
    this.list.append(item);
    this.watcher.observe(item);
    const card = { item, link, canvas, name, facts: about, visible: false, glimpse: null };
    this.cards.set(session, card);
    return card;
  }

  private remove(session: string, card: Card): void {
    this.cards.delete(session);
    this.ownTexts.delete(session);
    this.watcher.unobserve(card.item);
    card.glimpse?.close();
    card.item.remove();
  }

  private seen(entries: readonly IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      const card = this.cards.get((entry.target as HTMLElement).dataset.session ?? "");
      if (card !== undefined) card.visible = entry.isIntersecting;
    }
    this.chooseGlimpses();
  }

  /** The first visible cards live; the others keep their last picture. */
  private chooseGlimpses(): void {
    const { environment } = this;
    if (environment === null) return;
    let room = document.hidden ? 0 : GLIMPSES_MAX;
    for (const [session, card] of this.cards) {
      const lives = card.visible && room > 0;
      if (lives) room--;
      if (lives && card.glimpse === null) card.glimpse = new Glimpse(environment, session, card.canvas);
      if (lives || card.glimpse === null) continue;
      card.glimpse.close();
      card.glimpse = null;
    }
  }

  private async showScenes(scenes: readonly string[]): Promise<void> {
    const key = scenes.join("\n");
    if (key === this.scenesShown) return;
    this.scenesShown = key;
    await this.texts.read(scenes);
    if (key !== this.scenesShown) return; // a newer list came meanwhile
    this.gallery.replaceChildren(...inOrder(scenes).map((scene) => this.sceneCard(scene)));
  }

  private sceneCard(scene: string): HTMLElement {
    const about = this.texts.of(scene);
    const picture = pictureOf(scene, about.mark);
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.scene = scene;
    button.disabled = this.making.classList.contains("closed");
    const name = document.createElement("strong");
    name.textContent = about.title;
    const text = document.createElement("span");
    text.textContent = about.description;
    if (picture !== null) button.append(picture);
    button.append(name, text);
    button.addEventListener("click", () => void this.make(scene, button));
    item.append(button);
    return item;
  }

  /** It is there before the list says so, and for whoever comes back. */
  private showMade(session: string, title: string): Card {
    const card = this.cards.get(session) ?? this.add(session);
    card.name.textContent = title;
    card.facts.textContent = "yours · being made";
    return card;
  }

  private async make(scene: string, button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    this.refusal.textContent = "";
    try {
      const title = clipName(this.name.value);
      const { session, ownKey } = await makeSession(fetchBeside, scene, title, this.key);
      this.made.add(session, ownKey);
      const { link } = this.showMade(session, title || this.texts.of(scene).title);
      window.location.assign(link.href);
    } catch (error) {
      this.refusal.textContent = plainly(error, FAILED);
      this.refusal.scrollIntoView({ block: "nearest" });
      button.disabled = false;
    }
  }
}

/** @param scene  its title @param isOwn  who looks made it */
function facts(
  { viewers, particles, realtimeFactor, load, title }: SessionInfo,
  scene: string,
  isOwn: boolean,
): string {
  const people = viewers === 1 ? "1 person" : `${viewers} people`;
  const parts = [
    ...(isOwn ? ["yours"] : []),
    people,
    `${particles.toLocaleString("en-GB")} particles`,
    paceText(realtimeFactor, load),
  ];
  return (title === "" ? parts : [scene, ...parts]).join(" · ");
}

/** How well the server keeps up with a tank. */
function paceText(realtimeFactor: number, load: number): string {
  if (realtimeFactor === 0) return "at rest";
  return realtimeFactor < 0.9
    ? `${realtimeFactor.toFixed(2)} × real time`
    : `load ${Math.round(100 * Math.min(1, load))} %`;
}

/** Of what is wrong. */
function createLine(): HTMLElement {
  const line = document.createElement("p");
  line.className = "problem";
  line.setAttribute("role", "status");
  return line;
}

function heading(text: string): HTMLElement {
  const element = document.createElement("h2");
  element.textContent = text;
  return element;
}
