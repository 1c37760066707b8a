// What of a tank's past is kept, as its server says.

export interface Mark {
  id: number;
  /** Seconds of the tank's time, as all moments. */
  t: number;
  name: string;
}

/** What a tank's `state` says of playing back. */
export interface Replay {
  /** The last step that is played back; 0: the tank is live. */
  replayUntil: number;
  dtS: number;
}

/** Seconds of the tank's time that are still to be played back; null: it is live. @param step  that is seen; null: none */
export function replayLeftS(state: Replay | null, step: number | null): number | null {
  if (state === null || step === null || state.replayUntil <= step) return null;
  return (state.replayUntil - step) * state.dtS;
}

export interface Past {
  from: number;
  until: number;
  /** Of the tank's clock; 1: as the world's. */
  speed: number;
  marks: Mark[];
}
