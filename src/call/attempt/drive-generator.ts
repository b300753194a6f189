/** Runs a stateful tool: the values that its generator yields become output of the job, and the job's inputs are sent back to the generator. */
import { valueText } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { copyJson } from "../../core/base/json.ts";
import type { AdmittedCall } from "../call-run.ts";

export type StatefulGenerator = AsyncGenerator<unknown, unknown, unknown>;

export function isStatefulGenerator(answer: unknown): answer is StatefulGenerator {
  return (
    typeof answer === "object" &&
    answer !== null &&
    Symbol.asyncIterator in answer &&
    typeof (answer as Partial<StatefulGenerator>).next === "function" &&
    typeof (answer as Partial<StatefulGenerator>).return === "function"
  );
}

/**
 * Resolves to the generator's return value. If the attempt ends before, the generator is closed, so that its `finally` runs.
 *
 * @throws ToolError `not_executable` for a call that is not a job; `not_json` for a yielded value that is not JSON
 */
export async function driveGenerator(run: AdmittedCall, generator: StatefulGenerator, signal: AbortSignal): Promise<unknown> {
  const { job } = run;
  if (job === undefined) {
    await generator.return(undefined);
    throw new ToolError("not_executable", `${run.toolName} takes input while it runs, which needs a session.`, {
      operatorHint: "Call it with session.execute(), outside simulations.",
    });
  }
  const stop = (): void => job.stopAsking();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (let step = await generator.next(); ;) {
      if (step.done === true) return step.value;
      const input = signal.aborted ? undefined : await job.ask(formatYielded(step.value));
      if (signal.aborted) return undefined;
      step = await generator.next(input);
    }
  } finally {
    signal.removeEventListener("abort", stop);
    await generator.return(undefined).catch(() => {}); // no effect on a generator that has ended; errors of its `finally` are ignored
  }
}

function formatYielded(yielded: unknown): string {
  if (typeof yielded === "string") return yielded;
  return yielded === undefined ? "" : valueText(copyJson(yielded).value);
}
