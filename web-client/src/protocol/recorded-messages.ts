// A server's messages as recordings have them: written again from what was read of them.
import { Encoder } from "@msgpack/msgpack";
import type { ProbeList, Readings, SessionState } from "./messages.js";

/** What is kept of what probes measure. */
export type Measured = ProbeList | Readings;

const encoder = new Encoder({ ignoreUndefined: true });

export function writeState(state: SessionState): Uint8Array<ArrayBuffer> {
  return encoder.encode({
    t: "state",
    state: {
      scene: state.scene,
      paused: state.paused,
      worker_ready: state.workerReady,
      size_m: state.sizeM,
      cell_m: state.cellM,
      dt_s: state.dtS,
      speed: state.speed !== 1 ? state.speed : undefined,
      replay_until: state.replayUntil > 0 ? state.replayUntil : undefined,
      parameters: state.parameters,
      model: state.model,
      tools: state.tools,
      channels: state.channels,
      fields: state.fields,
      added: state.added,
      remarks: state.remarks,
      locked: state.locked,
      open_parameters: state.openParameters,
    },
  });
}

export function writeMeasured(message: Measured): Uint8Array<ArrayBuffer> {
  return encoder.encode(message.t === "probes" ? listOf(message) : readingsOf(message));
}

function listOf({ t, list, probes }: ProbeList): object {
  return {
    t,
    list,
    probes: probes.map(({ id, viewerId, scene, kind, atM, toM, solid, label, columns }) => ({
      id,
      viewer_id: viewerId,
      scene,
      kind,
      at_m: atM,
      to_m: toM,
      solid,
      label,
      columns,
    })),
  };
}

function readingsOf({ t, list, epoch, step, dtS, rows, values }: Readings): object {
  const bytes = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, i) => {
    bytes.setFloat32(4 * i, value, true);
  });
  return { t, list, epoch, step, dt_s: dtS, rows, values: new Uint8Array(bytes.buffer) };
}
