/** Waits for the end of what a terminal sends by itself: what was typed ahead and what is pasted comes in pieces, one right after the other. */
import { setImmediate, setTimeout as pause } from "node:timers/promises";

/** Longer than a terminal needs to send the next piece, and shorter than a person notices. */
const QUIET_MS = 50;

/** Resolves when no key has come for `QUIET_MS`. The input must be read as keys meanwhile. */
export async function whenQuiet(input: NodeJS.ReadableStream): Promise<void> {
  let isQuiet = false;
  const onKey = (): void => void (isQuiet = false);
  input.on("keypress", onKey);
  while (!isQuiet) {
    isQuiet = true;
    await pause(QUIET_MS);
    await setImmediate(); // keys that came while this process was busy are read before it
  }
  input.off("keypress", onKey);
}
