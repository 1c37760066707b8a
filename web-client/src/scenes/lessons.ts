// The lesson of the scene that is shown, where it has one: its pane is fetched then.
import { partOf } from "../net/plain.js";
import { lessonOf } from "../state/lesson.js";

export class Lessons {
  /** The scene whose lesson is on the page; "": none. */
  private shown = "";
  /** The scene that is shown. */
  private scene = "";

  /** Whether the scene that is shown has a lesson is known, and one that it has is on the page, or can't be had. */
  isSettled = true;

  constructor(private readonly say: (text: string) => void) {}

  /** The tank has this scene. */
  use(scene: string): void {
    if (scene === this.scene) return;
    this.scene = scene;
    this.isSettled = scene === "";
    this.clear();
  }

  /** A scene's file was read. */
  know(scene: string, file: unknown): void {
    const lesson = lessonOf(file);
    if (lesson === null) {
      this.isSettled = true;
      this.clear();
      return;
    }
    this.shown = scene;
    void partOf(() => import("../ui/lesson-pane.js"), this.say).then((part) => {
      if (this.shown !== scene) return;
      part?.showLesson(lesson);
      this.isSettled = true;
    });
  }

  /** No file of the scene can be read. */
  giveUp(): void {
    this.isSettled = true;
  }

  private clear(): void {
    if (this.shown === "") return;
    this.shown = "";
    void partOf(() => import("../ui/lesson-pane.js"), this.say).then((part) => {
      if (this.shown === "") part?.removeLesson();
    });
  }
}
