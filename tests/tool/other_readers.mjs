// Programs that read what tarn writes and share no code with it: VTK's Python module, Blender. Where one is missing its
// part of a test says so.
import { spawnSync } from "node:child_process";

/** A Python that has the module vtk; null where none has. Distributions bring it for their own Python alone. */
export function vtkPython() {
  const has = (python) => spawnSync(python, ["-c", "import vtk"]).status === 0;
  return ["/usr/bin/python3", "python3"].find(has) ?? null;
}

/** What a script of Blender's prints as JSON behind "RESULT "; null where Blender is missing. */
export function blenderResult(script, ...parameters) {
  const options = ["-b", "--factory-startup", "-noaudio", "-P", script, "--", ...parameters];
  const blender = spawnSync("blender", options, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (blender.error !== undefined) return null;
  const line = blender.stdout.split("\n").find((text) => text.startsWith("RESULT "));
  if (line === undefined)
    throw new Error(`Blender: ${blender.stdout.slice(-500)} ${blender.stderr.slice(-500)}`);
  return JSON.parse(line.slice("RESULT ".length));
}
