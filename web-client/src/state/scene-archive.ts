// A scene and its meshes as one tar archive, as the server takes them (server/scene/archive.h): POSIX ustar,
// heads of 512 bytes, contents filled up to that. Contents aren't touched here: they may be files on a disk.
import { PlainError } from "../net/plain.js";

const BLOCK = 512;
const NAME_BYTES = 100;

/** What a scene may consist of. */
const ENDINGS = [".json", ".obj", ".stl", ".ply", ".glb", ".pgm"];

/** A file that somebody chose, or that lies in a folder that was dropped. */
export interface ChosenFile {
  /** Of letters, digits, '.', '_' and '-', with '/' behind folders. */
  name: string;
  size: number;
}

/** Whether such files may be a scene: an archive of one, or its .json with what it names. */
export function areScene(files: readonly { name: string }[]): boolean {
  return isArchive(files) || files.some((file) => endingOf(file.name) === ".json");
}

export function isArchive(files: readonly { name: string }[]): boolean {
  return files.length === 1 && endingOf(files[0]?.name ?? "") === ".tar";
}

/** What an archive is made of, in its order: bytes, and places of files. Files that no scene names are left out. */
export function archiveOf(files: readonly ChosenFile[]): (Uint8Array<ArrayBuffer> | number)[] {
  const parts: (Uint8Array<ArrayBuffer> | number)[] = [];
  files.forEach((file, place) => {
    if (!ENDINGS.includes(endingOf(file.name))) return;
    parts.push(headOf(file), place);
    const filling = (BLOCK - (file.size % BLOCK)) % BLOCK;
    if (filling > 0) parts.push(new Uint8Array(filling));
  });
  parts.push(new Uint8Array(2 * BLOCK));
  return parts;
}

function endingOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot).toLowerCase() : "";
}

function headOf(file: ChosenFile): Uint8Array<ArrayBuffer> {
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(file.name) || file.name.length > NAME_BYTES)
    throw new PlainError(
      `The file name "${file.name}" can't be used; allowed are up to ${NAME_BYTES} letters, digits, '.', '_' and '-'.`,
    );
  const head = new Uint8Array(BLOCK);
  const put = (at: number, text: string): void => head.set(new TextEncoder().encode(text), at);
  const octal = (at: number, bytes: number, number: number): void =>
    put(at, number.toString(8).padStart(bytes - 1, "0"));
  put(0, file.name);
  octal(100, 8, 0o644);
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, file.size);
  octal(136, 12, 0);
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\0" + "00");
  const sum = head.reduce((all, byte) => all + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return head;
}
