// The dialog that shares a tank: a link and its QR code, by what those who get it may do. Escape closes it.
import type { Joined, Role } from "../protocol/messages.js";
import { isOfThisMachine, keysOf, linkTo, ONLY_HERE } from "../state/links.js";
import { qrCode } from "./qr.js";
import { makeSheet, sheetButton, showSheet } from "./sheet.js";

const LABELS: Readonly<Record<Role, string>> = { watch: "Watch", play: "Watch and play", own: "Own" };
const HINTS: Readonly<Record<Role, string>> = {
  watch: "Who opens this link sees the tank.",
  play: "Who opens this link sees the tank and may use the tools.",
  own: "Who opens this link may do everything: pause, change the scene, end the tank.",
};

/**
 * @param here         the page's address
 * @param fingerprint  of a certificate about which browsers ask; "": they don't
 */
export function openShare(joined: Joined, here: string, fingerprint: Promise<string>): void {
  const sheet = makeSheet("share-dialog", `Share ${joined.title || "this tank"}`);
  const view = new LinkView();
  const roles = keysOf(joined);
  if (roles.length > 0) sheet.append(choice(joined, here, roles, view));
  sheet.append(...view.parts);
  if (isOfThisMachine(here)) {
    const note = document.createElement("p");
    note.className = "hint only-here";
    note.textContent = ONLY_HERE;
    sheet.append(note);
  }
  const close = sheetButton("Close", () => sheet.close());
  sheet.append(close);
  void fingerprint.then((text) => {
    if (text !== "") close.before(certificateNote(text));
  });
  // Whoever has no keys passes on what a guest may do.
  if (roles.length === 0)
    view.show(linkTo(here, joined.session, ""), "Who opens this link comes as a guest.");
  showSheet(sheet);
}

function certificateNote(fingerprint: string): HTMLElement {
  const note = document.createElement("p");
  const code = document.createElement("code");
  note.className = "hint certificate";
  code.textContent = fingerprint;
  note.append(
    "The browser asks once whether to go on. The certificate's SHA-256 fingerprint there should be ",
    code,
  );
  return note;
}

class LinkView {
  readonly parts: HTMLElement[];
  private readonly code = document.createElement("div");
  private readonly hint = document.createElement("p");
  private readonly link = document.createElement("input");
  private readonly copy = sheetButton("Copy", () => void this.toClipboard());

  constructor() {
    const row = document.createElement("div");
    row.className = "row";
    this.hint.className = "hint";
    this.link.type = "text";
    this.link.className = "link";
    this.link.readOnly = true;
    this.link.setAttribute("aria-label", "Link");
    this.link.addEventListener("focus", () => this.link.select());
    row.append(this.link, this.copy);
    this.parts = [this.hint, this.code, row];
  }

  show(link: string, hint: string): void {
    this.link.value = link;
    this.hint.textContent = hint;
    this.copy.textContent = "Copy";
    this.code.replaceChildren(qrCode(link));
  }

  private async toClipboard(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.link.value);
      this.copy.textContent = "Copied";
    } catch {
      // Pages without TLS have no clipboard: the link is there to be copied by hand.
      this.link.focus();
      this.link.select();
      this.copy.textContent = byHand();
    }
  }
}

/** How this machine copies what is selected. */
function byHand(): string {
  if (matchMedia("(pointer: coarse)").matches) return "Hold the link, Copy";
  return /Mac/.test(navigator.platform) ? "Press ⌘C" : "Press Ctrl+C";
}

function choice(joined: Joined, here: string, roles: [Role, string][], view: LinkView): HTMLElement {
  const choices = document.createElement("fieldset");
  const first = roles.find(([role]) => role === "play") ?? roles[0];
  for (const [role, key] of roles) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    const show = (): void => view.show(linkTo(here, joined.session, key), HINTS[role]);
    radio.type = "radio";
    radio.name = "role";
    radio.value = role;
    radio.addEventListener("change", show);
    label.append(radio, ` ${LABELS[role]}`);
    choices.append(label);
    if (role !== first?.[0]) continue;
    radio.checked = true;
    show();
  }
  return choices;
}
