import "./sheet.css";
// A dialog over the tank. Escape closes it.

/** Makes the sheet of this id, in the place of one that is open; it is seen once it has got its parts: `showSheet`. */
export function makeSheet(id: string, title: string): HTMLDialogElement {
  document.getElementById(id)?.remove();
  const sheet = document.createElement("dialog");
  const heading = document.createElement("h2");
  sheet.id = id;
  sheet.className = "sheet";
  heading.id = `${id}-title`;
  heading.textContent = title;
  sheet.setAttribute("aria-labelledby", heading.id);
  sheet.append(heading);
  sheet.addEventListener("close", () => sheet.remove());
  return sheet;
}

export function showSheet(sheet: HTMLDialogElement): void {
  document.body.append(sheet);
  sheet.showModal();
}

export function sheetButton(text: string, run: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "act";
  button.textContent = text;
  button.addEventListener("click", run);
  return button;
}
