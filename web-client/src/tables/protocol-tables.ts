// The protocol's words, numbers and limits (protocol/SPEC.md). Made from the C tables by tests/tables/compare.sh --write;
// a test compares them.

export const SUBPROTOCOL = "tarn.v1";
export const VERSION = 1;

// Words.
export const CLIENT_KINDS = [
  "hello",
  "join",
  "input",
  "control",
  "ack",
  "ping",
  "view",
  "presence",
  "profile",
  "moderate",
  "lock",
  "probe",
] as const;
export const SERVER_KINDS = [
  "welcome",
  "joined",
  "viewers",
  "presences",
  "probes",
  "readings",
  "pong",
  "error",
  "state",
] as const;
export const INPUT_KINDS = ["pointer", "controller", "hand", "orientation", "parameter", "motion"] as const;
export const TOOLS = ["push", "pull", "vortex", "pour", "drain", "dye", "throw", "wall", "erase"] as const;
export const PHASES = ["down", "move", "up"] as const;
export const SIDES = ["left", "right"] as const;
export const ACTIONS = ["pause", "resume", "step", "reset", "load", "speed"] as const;
export const ROLES = ["watch", "play", "own"] as const;
export const MODERATIONS = ["mute", "unmute", "remove", "own", "play", "watch"] as const;
/** What may be locked: tools, and these. */
export const LOCKS = [...TOOLS, "tilt", "camera", "probe"] as const;
export const PARTS = ["cursor", "head", "hand_left", "hand_right"] as const;
export const PROBE_ACTIONS = ["place", "move", "remove"] as const;
export const PROBE_KINDS = [
  "point",
  "pressure",
  "velocity",
  "liquid",
  "gauge",
  "flux",
  "force",
  "wall",
] as const;

// Limits.
export const NAME_BYTES_MAX = 63;
export const PASS_BYTES_MAX = 512;
export const TOOLS_MAX = 16;
export const LOCKS_MAX = 18;
export const LIVE_PROBES_MAX = 16;
export const PROBE_VALUES_MAX = 14;
export const READINGS_ROWS_MAX = 256;
export const READINGS_BYTES_MAX = 28672;
export const BROWSER_BYTES_MAX = 32;
export const CHANNELS_MAX = 8;
export const FIELDS_MAX = 8;
export const HAND_JOINTS = 25;
/** Solids that people put into a tank, and numbers of one. */
export const ADDED_MAX = 72;
export const ADDED_VALUES = 14;
export const REMARKS_MAX = 8;
/** Of coordinates, absolutely. */
export const COORDINATE_M_MAX = 1000;
/** Of velocities, m/s and rad/s, for each component. */
export const SPEED_MAX = 100;
export const RANGE = {
  radius_m: { min: 0.001, max: 10 },
  strength: { min: 0, max: 1 },
  mbit_per_s: { min: 0, max: 100000 },
  frames_per_s: { min: 0, max: 1000 },
  particles: { min: 0, max: 4294967295 },
} as const;

// Errors. The WebSocket's close code is CLOSE_BASE + the error's where the connection ends with it.
export const CLOSE_BASE = 4000;
export const ERROR = {
  malformed: 1,
  version: 2,
  limit: 3,
  order: 4,
  session: 5,
  full: 6,
  input: 7,
  scene: 8,
  worker: 9,
  shutdown: 10,
  role: 11,
  key: 12,
  removed: 13,
  away: 14,
} as const;
export const CLOSING_ERRORS: readonly number[] = [1, 2, 3, 4, 5, 6, 10, 12, 13, 14];

// Frames.
/** First bytes of one ("TRNF"); a message is a msgpack map and never begins so. */
export const FRAME_MAGIC = 0x464e5254;
export const FRAME_HEADER_BYTES = 136;
export const FRAME_BODIES_MAX = 16;
/** A key frame needs no other; base frames refer to the last key or base frame, extra frames too, but nothing to them. */
export const FRAME_KIND = { key: 0, base: 1, extra: 2 } as const;
/** Where fields of the header lie. */
export const FRAME_AT = { kind: 12, epoch: 20, step: 24, number: 52 } as const;
