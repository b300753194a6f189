/** A `Tracing` of another maker, which traces nothing. */
import { ToolError } from "../../src/core/error.ts";

export const untraced = {
  continueTrace: <T>(_read: unknown, run: () => T): T => run(),
  runInCall: <T>(_callId: string, run: () => T): T => run(),
  headersOf: () => undefined,
  beginRun: () => {
    throw new ToolError("execution_failed", "No run is expected.");
  },
  beginRequest: () => {
    throw new ToolError("execution_failed", "No request is expected.");
  },
};
