// What a program needs and doesn't find is said in a line, without a stack.

export class Missing extends Error {}

/** Runs a program: `main` gives its status, and 1 stands for something that is missing. */
export async function runProgram(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
