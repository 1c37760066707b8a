// A page whose time goes on by hand: what it shows then doesn't depend on how busy the machine is.

/** In the page, before its scripts: from `takeTime` on, time stands still but for `pass` and the pictures drawn. */
export function timeByHand() {
  const { performance } = window;
  const ask = window.requestAnimationFrame.bind(window);
  /** The display's time. A page gets its turn a little later, now more, now less. */
  let now = null;
  let late = 0;
  let drawn = 0;
  const LATE_MS = [0, 9, 3, 12, 1, 6];
  let waiting = [];
  const own = performance.now.bind(performance);
  performance.now = () => (now === null ? own() : now + late);
  window.requestAnimationFrame = (callback) => {
    if (now === null)
      return ask((time) => {
        if (now === null) callback(time);
        else waiting.push(callback);
      });
    waiting.push(callback);
    return 0;
  };
  /** Done when the page waits for its next picture, which it may have asked for before. */
  window.takeTime = () => {
    now = own();
    return new Promise((resolve) => {
      const look = () => (waiting.length > 0 ? resolve() : setTimeout(look, 5));
      look();
    });
  };
  window.pass = (ms) => {
    now += ms;
  };
  window.ownNow = own;
  /** Draws one picture, so much later. */
  window.picture = (ms) => {
    now += ms;
    const callbacks = waiting;
    waiting = [];
    late = LATE_MS[drawn++ % LATE_MS.length];
    for (const callback of callbacks) callback(now);
    late = 0;
  };
  /** Draws pictures. @returns what `look` finds after each */
  window.pictures = (count, ms, look) =>
    Array.from({ length: count }, () => {
      window.picture(ms);
      return look();
    });
}
