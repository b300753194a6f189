/** `haft call`: one tool call from the command line. */
import type { LoadedConfig } from "../../config/load-config.ts";
import type { ToolCall } from "../../core/call.ts";
import { ERROR_CODES } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Store } from "../../core/store/store.ts";
import type { SessionDiff } from "../../session/session-diff.ts";
import { createPersonApprover } from "../terminal/ask-person.ts";
import { withCallRecorder, type CallRecorder } from "../input/call-recorder.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { readJsonArgument } from "../input/read-json-argument.ts";
import { namespaceOf, withRuntime } from "../open/open-runtime.ts";
import { findStore } from "../open/open-store.ts";
import { printAnswer } from "../print/print-answer.ts";
import { printSimulation } from "../print/print-simulation.ts";

export const callCommand: CommandBody = {
  details: [
    "The input is one JSON object; - reads it from standard input, and without one it",
    "is {}. The answer goes to standard output; repairs, warnings and errors go to",
    "standard error. The exit code says why a call failed. With --json the whole",
    "result is printed, failed or not.",
    "",
    "Each call is a conversation of its own, and a file must be read in the same one",
    "before it is edited: use haft run for edits. With --simulate a read is run, any",
    "other call is answered as by haft run --simulate, and standard error says what",
    "would change. --record and --replay work as in haft run.",
  ],
  args: [1, 2],
  options: ["config", "force", "nearest", "record", "replay", "seed", "simulate", "yes"],
  examples: [
    `haft call files::read '{"path": "notes.md"}'`,
    `echo '{"pattern": "*.md"}' | haft call files::glob -`,
    "haft call files::list --json",
    `haft call files::write '{"path": "a.md", "content": "A"}' --simulate`,
  ],
  async run(context) {
    const [name = "", text] = context.args;
    const input = await readJsonArgument(context, text, { owner: "call", example: `{"path": "notes.md"}` });
    return await withCallRecorder(context, async (recorder) => {
      const { result, diff } = await makeCall(context, { name, input }, recorder);
      if (result.status === "cancelled" && !context.options.json) context.signal.throwIfAborted();
      printAnswer(context, result);
      if (diff !== undefined) printSimulation({ ...context, screen: context.err }, diff);
      return result.error === undefined ? 0 : ERROR_CODES[result.error.code].exit;
    });
  },
};

interface CallOutcome {
  readonly result: ToolResult;
  /** Set if the call was simulated. */
  readonly diff?: SessionDiff;
}

async function makeCall(context: CommandContext, call: ToolCall, recorder: CallRecorder | undefined): Promise<CallOutcome> {
  const { signal, options } = context;
  const approve = createPersonApprover(context);
  const only = namespaceOf(call.name);
  if (!options.simulate) {
    // The call belongs to no session; the store is for cached results that outlive it, and for those that it invalidates.
    const store = (config: LoadedConfig): Store | undefined => findStore(context, config);
    return withRuntime(context, { approve, only, store, opensStoreLazily: true, recorder, manual: true }, async ({ runtime }) => ({
      result: await runtime.execute(call, { signal, knowsDocumentation: true }),
    }));
  }
  return withRuntime(context, { approve, only, recorder, manual: true }, async ({ runtime }) => {
    const { results, diff } = await runtime.simulate([call], { signal, knowsDocumentation: true });
    const [result] = results;
    if (result === undefined) throw new ToolError("execution_failed", "The simulation returned no result.");
    return { result, diff };
  });
}
