// Events for a listener who comes later.

/** Kept for the listener, at most; what comes beyond is forgotten. */
const KEPT_MAX = 1000;

type Handlers<E> = { [K in keyof E]: (...args: never[]) => void };

export interface Later<E> {
  /** To be called until and after the listener has come. */
  readonly events: E;
  /** Hands over what was kept, in its order; from now on its functions are called themselves. */
  attach(listener: E): void;
}

/** @param names  of all events */
export function later<E extends Handlers<E>>(names: readonly (keyof E)[]): Later<E> {
  const kept: ((listener: E) => void)[] = [];
  const events = {} as E;
  for (const name of names) {
    const keep = (...args: never[]): void => {
      if (kept.length < KEPT_MAX) kept.push((listener) => listener[name](...args));
    };
    events[name] = keep as E[typeof name];
  }
  return {
    events,
    attach: (listener) => {
      Object.assign(events, listener);
      for (const tell of kept.splice(0)) tell(listener);
    },
  };
}
