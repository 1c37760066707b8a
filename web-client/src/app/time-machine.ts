// An owner's way through the tank's time: the server's past on one side, the bar on the other. Fetched when somebody
// opens it, or came by a link to a moment.

import { PastClient, patiently } from "../lobby/past-client.js";
import type { MadeSession } from "../lobby/sessions.js";
import { fetchBeside, here } from "../net/here.js";
import { FAILED, plainly } from "../net/plain.js";
import { linkTo } from "../state/links.js";
import { TimeLine } from "../ui/time-line.js";

const LOOK_EVERY_MS = 1500;
const LEFT_EVERY_MS = 100;

export class TimeMachine {
  private readonly bar: TimeLine;
  private readonly past: PastClient;
  private readonly timers: readonly number[];

  /**
   * @param keys     by which the past is asked for, and which links get: its owners', or "" where this one has none
   * @param momentS  that a link led to; null: none
   * @param leftS    how much is still played back; null: the tank is live
   * @param setSpeed  has the tank's clock go at another speed
   * @param closed   is called when it is no more
   */
  constructor(
    private readonly session: string,
    private readonly keys: { past: string; link: string },
    momentS: number | null,
    private readonly leftS: () => number | null,
    setSpeed: (speed: number) => void,
    private readonly closed: () => void,
  ) {
    this.past = new PastClient(fetchBeside, session, keys.past);
    this.bar = new TimeLine({
      goBack: (t) => this.do(() => this.goBack(t)),
      playAgain: (t) => this.do(() => this.playAgain(t)),
      copy: (t) => this.do(() => this.copy(t)),
      mark: (t, name) =>
        this.do(async () => {
          await this.past.mark(t, name);
          this.bar.say(`"${name}" is marked.`);
        }),
      unmark: (mark) =>
        this.do(async () => {
          await this.past.unmark(mark.id);
          this.bar.say(`"${mark.name}" is no longer marked.`);
        }),
      copyLink: (t) => void this.copyLink(t),
      speed: setSpeed,
      close: () => this.close(),
    });
    if (momentS !== null) {
      this.bar.moveTo(momentS);
      this.bar.say("This is the moment that the link leads to. Go back takes everybody there.");
    }
    this.timers = [
      window.setInterval(() => void this.look(), LOOK_EVERY_MS),
      window.setInterval(() => this.bar.showLeft(this.leftS()), LEFT_EVERY_MS),
    ];
    void this.look();
  }

  close(): void {
    for (const timer of this.timers) window.clearInterval(timer);
    this.bar.remove();
    this.closed();
  }

  private async goBack(t: number): Promise<void> {
    await this.past.goBack(t);
    this.bar.moveTo(null);
    this.bar.say("The tank goes on from there. What was left stays in the past, too.");
  }

  private async playAgain(t: number): Promise<void> {
    await this.past.playAgain(t);
    this.bar.moveTo(null);
    this.bar.say("What happened from there on happens again, until it ends or somebody touches the tank.");
  }

  private async copy(t: number): Promise<void> {
    const made: MadeSession = await this.past.fork(t, "");
    this.bar.say(
      "Your copy goes on from there; this tank stays as it is.",
      linkTo(here(), made.session, made.ownKey),
    );
  }

  private async copyLink(t: number): Promise<void> {
    const link = linkTo(here(), this.session, this.keys.link, t);
    try {
      await navigator.clipboard.writeText(link);
      const what = this.keys.link === "" ? "owners alone can follow it" : "it has the owners' key";
      this.bar.say(`The link to this moment is copied; ${what}.`);
    } catch {
      this.bar.say("This browser lets no link be copied here:", link); // as without TLS
    }
  }

  private do(act: () => Promise<void>): void {
    const wait = (ms: number): Promise<void> => new Promise((done) => window.setTimeout(done, ms));
    patiently(act, wait)
      .then(() => this.look())
      .catch((error: unknown) => this.bar.say(plainly(error, FAILED)));
  }

  private async look(): Promise<void> {
    if (document.hidden) return;
    try {
      this.bar.show(await this.past.look(), this.leftS());
    } catch (error) {
      this.bar.say(plainly(error, FAILED));
    }
  }
}
