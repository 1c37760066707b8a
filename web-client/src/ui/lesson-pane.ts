import "./side-pane.css";
import "./lesson-pane.css";
// A lesson beside its tank: what it is about, what to do, and the answer for whoever asks. It can be folded away.
import type { Lesson } from "../state/lesson.js";

/** Narrower windows have it folded, CSS pixels. */
const OPEN_FROM_PX = 900;

/** Puts it onto the page, in the place of another. */
export function showLesson({ text, task, answer }: Lesson): void {
  removeLesson();
  const pane = document.createElement("details");
  pane.id = "lesson";
  pane.className = "side-pane";
  pane.open = window.innerWidth >= OPEN_FROM_PX;
  const reveal = document.createElement("details");
  reveal.append(summary("Answer"), paragraph(answer));
  const doing = paragraph(task);
  doing.className = "task";
  pane.append(summary("Lesson"), paragraph(text), doing, reveal);
  // The page's own keys push the water.
  pane.addEventListener("keydown", (event) => {
    if (/^( |Enter|Arrow.*)$/.test(event.key)) event.stopPropagation();
  });
  const region = document.createElement("aside");
  region.setAttribute("aria-label", "Lesson");
  region.append(pane);
  document.getElementById("title")?.after(region);
}

export function removeLesson(): void {
  document.getElementById("lesson")?.parentElement?.remove();
}

function summary(text: string): HTMLElement {
  const element = document.createElement("summary");
  element.textContent = text;
  return element;
}

function paragraph(text: string): HTMLElement {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}
