/** Records runs of loops in traces. */
import { ToolError } from "../core/error.ts";
import type { SessionMessage } from "../core/message.ts";
import type { LoopOptions } from "./loop-options.ts";
import type { LoopResult } from "./loop-result.ts";

interface TracedOptions extends Pick<LoopOptions, "session" | "model" | "agentName"> {
  readonly input: SessionMessage | undefined;
}

/** Plays a run as a span of a trace, if the runtime is traced. */
export async function withRunSpan(
  { session, model, agentName = session.agentName, input }: TracedOptions,
  play: () => Promise<LoopResult>,
): Promise<LoopResult> {
  const { id: sessionId, ports, tracing, inbox } = session;
  const sentInSpans = tracing === undefined ? [] : inbox.flatMap(({ traceparent }) => traceparent ?? []);
  const span = tracing?.beginRun({ clock: ports.clock, sessionId, agentName, model, input, sentInSpans });
  if (span === undefined) return await play();
  try {
    const result = await span.run(play);
    span.end(result);
    return result;
  } catch (thrown: unknown) {
    span.end({ error: ToolError.fromUnknown(thrown) });
    throw thrown;
  }
}
