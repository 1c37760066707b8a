// How fast a tank's clock may go, as the page offers it: seconds of its time in one.

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4] as const;

/** The next one that is offered; at the ends there is none, and it stays. */
export function nextSpeed(speed: number, way: 1 | -1): number {
  const beyond = SPEEDS.filter((one) => (one - speed) * way > 1e-6);
  return (way > 0 ? beyond[0] : beyond.at(-1)) ?? speed;
}

/** The next slower one in slow motion, and behind the slowest the world's own: for a single button. */
export function slowerInTurn(speed: number): number {
  return speed > 1 ? 1 : speed <= SPEEDS[0] + 1e-6 ? 1 : nextSpeed(speed, -1);
}

export function speedText(speed: number): string {
  return `${Number(speed.toPrecision(3))}×`;
}

/** For all who watch; "": as the world's. */
export function speedWords(speed: number): string {
  if (speed === 1) return "";
  return `${speed < 1 ? "Slow" : "Fast"} motion ${speedText(speed)}`;
}
