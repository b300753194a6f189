/** Runs of loops as parts of traces. */
import { ToolError } from "../core/error.ts";
import type { LoopOptions } from "./loop-options.ts";
import type { LoopResult } from "./loop-result.ts";

/** Plays a run as part of a trace, where its runtime makes such. */
export async function tracedRun(
  { session, model, agentName = session.agentName }: Pick<LoopOptions, "session" | "model" | "agentName">,
  play: () => Promise<LoopResult>,
): Promise<LoopResult> {
  const span = session.tracing?.beginRun({ clock: session.ports.clock, sessionId: session.id, agentName, model });
  if (span === undefined) return await play();
  try {
    const result = await span.within(play);
    span.end(result);
    return result;
  } catch (thrown: unknown) {
    span.end({ error: ToolError.fromUnknown(thrown) });
    throw thrown;
  }
}
