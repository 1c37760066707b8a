// What people are told of an error. What browsers and libraries say of one is for who mends it, differs from one to the
// other, and may have an address with a password in it: it goes to the console and no farther.

/** Its message is a sentence for people, or a part of one. */
export class PlainError extends Error {}

/** Of what the page was about to do, where nothing is known of why it failed. */
export const FAILED = "That didn't work: a part of the page could not be loaded, or has failed. Try again.";

/**
 * Has a part of the page that is fetched when somebody wants it.
 * @param say  is told where that fails: whoever wants it again has it asked for again
 * @returns null: it could not be had
 */
export async function partOf<T>(load: () => Promise<T>, say: (text: string) => void): Promise<T | null> {
  try {
    return await load();
  } catch (error) {
    console.debug(error);
    say(
      "A part of the page could not be loaded, or can't run in this browser. Try again, or reload the page.",
    );
    return null;
  }
}

/** @param otherwise  what is told of an error whose words aren't for people */
export function plainly(error: unknown, otherwise: string): string {
  if (error instanceof PlainError) return error.message;
  console.debug(error);
  return otherwise;
}
