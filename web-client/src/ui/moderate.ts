// The dialogs of an owner: what to do about somebody, and what players may not do for now. Escape closes them.
import type { Lock, Moderation, ViewerInfo } from "../protocol/messages.js";
import { LOCK_WORDS } from "../protocol/standing.js";
import { makeSheet, sheetButton, showSheet } from "./sheet.js";

const WORDS: Readonly<Record<Moderation, string>> = {
  mute: "Mute",
  unmute: "Unmute",
  own: "Make an owner",
  play: "Let play",
  watch: "Let only watch",
  remove: "Remove",
};
const HINTS: Readonly<Record<Moderation, string>> = {
  mute: "What they do has no effect until you take it back.",
  unmute: "What they do has an effect again.",
  own: "As long as they are here they may do what you may, but not remove you.",
  play: "They may push, and not pause or change things.",
  watch: "They see the tank and may not touch it.",
  remove: "Out at once, and kept out for ten minutes.",
};
const OWN_HINTS: Readonly<Partial<Record<Moderation, string>>> = {
  play: "You step back, and only play.",
  watch: "You step back, and only watch.",
};

/** @param offered  what may be done about this viewer */
export function openModerate(
  viewer: ViewerInfo,
  isOwn: boolean,
  offered: readonly Moderation[],
  run: (action: Moderation) => void,
): void {
  const sheet = makeSheet("moderate-dialog", isOwn ? "Step back" : viewer.name);
  const list = document.createElement("ul");
  list.className = "choices";
  for (const action of offered) {
    const item = document.createElement("li");
    item.className = "choice";
    const hint = document.createElement("small");
    const button = sheetButton(
      isOwn ? (action === "play" ? "Only play" : "Only watch") : WORDS[action],
      () => {
        sheet.close();
        run(action);
      },
    );
    hint.id = `moderate-${action}`;
    hint.className = "why";
    hint.textContent = (isOwn ? OWN_HINTS[action] : undefined) ?? HINTS[action];
    button.setAttribute("aria-describedby", hint.id);
    item.append(button, hint);
    list.append(item);
  }
  sheet.append(
    list,
    sheetButton("Cancel", () => sheet.close()),
  );
  showSheet(sheet);
}

/**
 * @param all     what may be locked in this tank
 * @param change  once for each change, with all that is locked then
 */
export function openLocks(
  all: readonly Lock[],
  now: { locked: readonly Lock[]; openParameters: boolean },
  change: (locked: readonly Lock[], openParameters: boolean) => void,
): void {
  const sheet = makeSheet("locks-dialog", "What players may do");
  const hint = document.createElement("p");
  const boxes = document.createElement("fieldset");
  const locked = new Set(now.locked);
  let openParameters = now.openParameters;
  hint.className = "hint";
  hint.textContent = "Those who only play. It holds for whoever comes later, too.";
  boxes.className = "locks";
  const tell = (): void => change([...locked], openParameters);
  for (const lock of all) {
    boxes.append(
      checkBox(LOCK_WORDS[lock], !locked.has(lock), (on) => {
        if (on) locked.delete(lock);
        else locked.add(lock);
        tell();
      }),
    );
  }
  boxes.append(
    checkBox("setting parameters", openParameters, (on) => {
      openParameters = on;
      tell();
    }),
  );
  boxes.setAttribute("aria-label", "Players may");
  sheet.append(
    hint,
    boxes,
    sheetButton("Close", () => sheet.close()),
  );
  showSheet(sheet);
}

function checkBox(words: string, on: boolean, change: (on: boolean) => void): HTMLElement {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = on;
  box.addEventListener("change", () => change(box.checked));
  label.append(box, ` ${words}`);
  return label;
}
