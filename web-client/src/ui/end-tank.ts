// Asks whether a tank is to be ended, and says what comes of it. Escape keeps the tank.

/** @param end  ends it; what it throws is shown */
export function openEndTank(title: string, end: () => Promise<void>): void {
  document.getElementById("end-dialog")?.remove();
  const dialog = document.createElement("dialog");
  dialog.id = "end-dialog";
  dialog.className = "sheet";
  dialog.setAttribute("aria-labelledby", "end-title");
  const heading = document.createElement("h2");
  heading.id = "end-title";
  heading.textContent = `End ${title || "this tank"}?`;
  const text = document.createElement("p");
  text.className = "hint";
  text.setAttribute("role", "status");
  text.textContent = "Everybody in it is sent away, and its water is gone.";
  const row = document.createElement("div");
  row.className = "row";
  const keep = button("Keep it", () => dialog.close());
  const go = button("End it", () => {
    go.disabled = true;
    end().catch((error: unknown) => {
      text.textContent = (error as Error).message;
      go.disabled = false;
    });
  });
  row.append(keep, go);
  dialog.append(heading, text, row);
  // Keys pressed in the dialog are not for the tank behind it.
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  keep.focus();
}

function button(text: string, run: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "act";
  made.textContent = text;
  made.addEventListener("click", run);
  return made;
}
