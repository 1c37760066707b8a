// What the page says of the state of things, in plain words: how the connection fares, what the tank waits for, and
// what went wrong in passing.

import { beside, here } from "../net/here.js";
import type { EndReason } from "../protocol/conversation.js";
import { isAboutField, sentence } from "../protocol/live.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { withoutKey } from "../state/links.js";
import { speedWords } from "../state/speeds.js";
import type { ViewModel } from "../state/view-model.js";
import type { Notices } from "../ui/notices.js";

/** What goes wrong in passing is shown for so long, and for so long for each of its characters. */
const PROBLEM_MS = 5000;
const CHARACTER_MS = 60;
/** A running tank that shows nothing new for so long is said to be waited for. */
const QUIET_MS = 1500;

export const RELOAD = { label: "Reload", run: () => window.location.reload() };
/** The page loads anew with the other address (start.ts). */
const WITHOUT_KEY = {
  label: "Open it without the key",
  run: () => window.location.assign(withoutKey(here())),
};
const ALL_TANKS = {
  label: "All tanks",
  run: () => window.location.assign(beside("./")),
};

export class Announcer {
  private problem = "";
  private problemUntilMs = 0;
  private remarked: readonly string[] = [];

  constructor(
    private readonly notices: Pick<Notices, "say" | "stop" | "clear">,
    private readonly model: ViewModel,
    /** That the address asks for. */
    private readonly session: string,
  ) {}

  /** Something went wrong in passing. */
  say(problem: string): void {
    this.problem = problem;
    this.extend();
    const { connection } = this.model;
    if (connection === "connected" || connection === "playing") this.notices.say(problem, "warn");
  }

  /** What acts otherwise than it was asked for: what is new of it is said, where it `isFor` whoever is here. */
  remark(remarks: readonly string[], isFor: boolean): void {
    const [first, ...others] = remarks.filter((one) => !this.remarked.includes(one));
    this.remarked = remarks;
    if (first === undefined || !isFor) return;
    this.say(others.length > 0 ? `${first} (and ${others.length} more, under Controls)` : first);
  }

  /** There is something to see: what was said before can be read only now. */
  arrived(): void {
    this.notices.clear();
    this.extend();
  }

  /** Now and then. */
  show(latest: DecodedFrame | null, now: number): void {
    const { model, notices } = this;
    if (latest === null) this.extend(); // until there is a picture nobody reads
    const hasProblem = this.problem !== "" && now < this.problemUntilMs;
    if (model.connection === "playing") notices.say(hasProblem ? this.problem : "", "warn");
    if (model.connection !== "connected") return;
    const { speed, dtS } = model.state ?? { speed: 1, dtS: 0 };
    const motion = speedWords(speed);
    // In slow motion steps are far apart.
    const stepsMs = (2000 * dtS) / speed;
    if (hasProblem) notices.say(this.problem, "warn");
    else if (model.state?.workerReady === false)
      notices.say("The simulation stopped and is being started again…", "warn");
    else if (latest === null) notices.say("Waiting for the first frame…");
    else if (model.state?.paused)
      notices.say(["Paused", ...(motion ? [motion.toLowerCase()] : [])].join(" · "));
    else if (now - latest.arrivedMs > QUIET_MS + stepsMs) notices.say("Waiting for the simulation…", "warn");
    else if ((model.state?.replayUntil ?? 0) > 0)
      notices.say("This is what happened before, once more. Touch the tank to go on from here.");
    else notices.say(motion);
  }

  lost(why: string, retryMs: number): void {
    const seconds = Math.max(1, Math.round(retryMs / 1000));
    this.notices.say(`${why.replace(/\.$/, "")}. Trying again in ${seconds} s…`, "bad");
  }

  ended(why: EndReason, text: string): void {
    const say = (title: string, hint: string): void =>
      this.notices.stop(title, [sentence(text), hint].filter((part) => part !== "").join(" "), RELOAD);
    if (why === "version")
      say(
        "Versions disagree",
        "This page and the server speak different versions of the protocol. Reload the page to get the one that fits.",
      );
    else if (why === "key")
      this.notices.stop(
        "This link doesn't fit",
        `${sentence(text)} Ask whoever gave it to you for a new one. Without it you may do in the tank what everybody may.`,
        WITHOUT_KEY,
      );
    else if (why === "removed") say("You were removed", "Others may go on.");
    else if (why === "session") this.gone(text);
    else say("The server refused the connection", "Reload the page to try again.");
  }

  private gone(text: string): void {
    if (isAboutField(text))
      this.notices.stop(
        "No such tank",
        `There is no tank "${this.session}" here: it may have ended.`,
        ALL_TANKS,
      );
    // One that ends under its viewers goes with a sentence for them.
    else this.notices.stop("This tank is gone", sentence(text), ALL_TANKS);
  }

  private extend(): void {
    this.problemUntilMs = performance.now() + Math.max(PROBLEM_MS, CHARACTER_MS * this.problem.length);
  }
}
