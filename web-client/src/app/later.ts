// Calls for somebody who comes later.

/** Kept for the listener, at most; what comes beyond is forgotten. */
const KEPT_MAX = 1000;

type Handlers<E> = { [K in keyof E]: (...args: never[]) => void };

export interface Later<E> {
  /** To be called until and after the listener has come. */
  readonly events: E;
  /** Hands over what was kept, in its order; from now on its functions are called themselves. */
  attach(listener: E): void;
}

/**
 * @param names   of all events
 * @param newest  each says how things are: only the last of each name is kept
 */
export function later<E extends Handlers<E>>(names: readonly (keyof E)[], newest = false): Later<E> {
  let kept: { name: keyof E; tell: (listener: E) => void }[] = [];
  const events = {} as E;
  for (const name of names) {
    const keep = (...args: never[]): void => {
      if (newest) kept = kept.filter((one) => one.name !== name);
      if (kept.length < KEPT_MAX) kept.push({ name, tell: (listener) => listener[name](...args) });
    };
    events[name] = keep as E[typeof name];
  }
  return {
    events,
    attach: (listener) => {
      for (const name of names)
        events[name] = ((...args: never[]) => listener[name](...args)) as E[typeof name];
      for (const { tell } of kept.splice(0)) tell(listener);
    },
  };
}
