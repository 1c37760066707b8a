// The run-length code of an `input motion`'s cells (protocol/SPEC.md, "Motion cells"): a head of 0..127 means that head + 1
// bytes follow as they are, one of 129..255 that the next byte comes 257 - head times.

const LITERAL_MAX = 128;
const RUN_MAX = 128;
/** Shorter ones cost as much as they save. */
const RUN_MIN = 3;

/** @return the bytes of `out` that were written; 0: they are more than it has */
export function encodeMotion(planes: Uint8Array, out: Uint8Array): number {
  let [at, used] = [0, 0];
  while (at < planes.length) {
    const run = runAt(planes, at);
    if (run >= RUN_MIN) {
      if (out.length - used < 2) return 0;
      out[used] = 257 - run;
      out[used + 1] = planes[at] as number;
      used += 2;
      at += run;
      continue;
    }
    const end = literalEnd(planes, at);
    if (out.length - used < 1 + end - at) return 0;
    out[used] = end - at - 1;
    out.set(planes.subarray(at, end), used + 1);
    used += 1 + end - at;
    at = end;
  }
  return used;
}

/** The most that planes of so many bytes can take. */
export function motionBound(count: number): number {
  return count + Math.ceil(count / LITERAL_MAX);
}

/** How many bytes from here on are alike. */
function runAt(planes: Uint8Array, at: number): number {
  const end = Math.min(planes.length, at + RUN_MAX);
  let next = at + 1;
  while (next < end && planes[next] === planes[at]) next++;
  return next - at;
}

/** Where the bytes end that go as they are: at a run, or when they are as many as a head can say. */
function literalEnd(planes: Uint8Array, at: number): number {
  const end = Math.min(planes.length, at + LITERAL_MAX);
  for (let next = at + 1; next < end; next++) if (runAt(planes, next) >= RUN_MIN) return next;
  return end;
}
