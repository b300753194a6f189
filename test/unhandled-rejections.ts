/** Collects the promises that no code handles, as a test that expects none of them needs it. */
import { onTestFinished } from "vitest";

/** The reasons of unhandled rejections, from now until the test has ended. Node reports them after a turn of the event loop. */
export function collectUnhandledRejections(): readonly unknown[] {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return reasons;
}
