// Asks whether a tank is to be ended, and says what comes of it. Escape keeps the tank.
import { FAILED, plainly } from "../net/plain.js";
import { makeSheet, sheetButton, showSheet } from "./sheet.js";

/** @param end  ends it; what it throws is shown */
export function openEndTank(title: string, end: () => Promise<void>): void {
  const sheet = makeSheet("end-dialog", `End ${title || "this tank"}?`);
  const text = document.createElement("p");
  text.className = "hint";
  text.setAttribute("role", "status");
  text.textContent = "Everybody in it is sent away, and what is in it is gone.";
  const row = document.createElement("div");
  row.className = "row";
  const keep = sheetButton("Keep it", () => sheet.close());
  const go = sheetButton("End it", () => {
    go.disabled = true;
    end().catch((error: unknown) => {
      text.textContent = plainly(error, FAILED);
      go.disabled = false;
    });
  });
  row.append(keep, go);
  sheet.append(text, row);
  showSheet(sheet);
  keep.focus();
}
