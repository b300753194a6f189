/** `haft chain run`: runs the steps of a chain one after the other, and shows each when it ends. */
import type { ChainResult } from "../../../compose/chain/run-steps.ts";
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { ERROR_CODES } from "../../../core/error-codes.ts";
import { isToolError, ToolError } from "../../../core/error.ts";
import { createPersonApprover } from "../../terminal/ask-person.ts";
import { openStoredSession } from "../../open/open-session.ts";
import type { Command, CommandContext } from "../../command.ts";
import { readJsonArgument, jsonHint } from "../../input/read-json-argument.ts";
import { withRuntime } from "../../open/open-runtime.ts";
import { findStore } from "../../open/open-store.ts";
import { EventPrinter } from "../../print/print-event.ts";
import { safeJson, wrap } from "../../terminal/terminal-text.ts";
import { findChain } from "./named-chains.ts";
import type { Store } from "../../../core/store/store.ts";

export const runChain: Command = {
  name: "chain run",
  usage: "<chain> [<json> | -]",
  summary: "Run the steps of a chain of the configuration.",
  details: [
    "The input is one JSON object, which the context starts with; - reads it from",
    "standard input, and without one it is {}. The steps are shown on standard error",
    "as they end, the resulting context goes to standard output. When a step fails,",
    "the exit code says why. With --json the whole result is printed.",
    "",
    "In a session of a store, an interrupted chain continues after the steps",
    "that have ended when it is run again with the same input. A step that failed has",
    "ended too: to run it again, use another session. A chain is a tool as well:",
    "haft call trips::book --simulate says what it would change.",
  ],
  args: [1, 2],
  options: ["config", "session", "store", "yes"],
  examples: [
    `haft chain run trips::book '{"to": "Oslo"}'`,
    "haft chain run trips::book - --session oslo --store haft.db < order.json",
    "haft chain run book --json | jq .context",
  ],
  async run(context) {
    const [name = "", text] = context.args;
    const input = await readContext(context, text);
    const printer = context.options.json ? undefined : new EventPrinter(context.err);
    const result = await runNamedChain(context, { name, input, printer });
    context.signal.throwIfAborted();
    print(context, result);
    if (result.success) return 0;
    const code = result.stepResults.findLast(({ error }) => error !== undefined)?.error?.code ?? "invalid_input";
    return ERROR_CODES[code].exit;
  },
};

interface ChainRequest {
  readonly name: string;
  readonly input: JsonObject;
  readonly printer: EventPrinter | undefined;
}

async function runNamedChain(context: CommandContext, { name, input, printer }: ChainRequest): Promise<ChainResult> {
  const { signal } = context;
  let store: Store | undefined;
  const approve = createPersonApprover(context);
  const opening = {
    approve,
    onEvent: (event: Parameters<EventPrinter["print"]>[0]) => printer?.print(event),
    store: (config: Parameters<typeof findStore>[1]) => (store = findStore(context, config)),
    onConfig: (config: Parameters<typeof findChain>[0]) => void findChain(config, name), // fails before anything is started
  };
  return withRuntime(context, opening, async (open) => {
    const { runtime, config } = open;
    const [qualified, { chain, offer }] = findChain(config, name);
    printer?.setExpectedNames(chain.steps.map(({ tool }) => runtime.registry.get(tool)?.qualifiedName ?? tool));
    const session = await openStoredSession(context, { open, store, printer });
    const options = {
      signal,
      ...(offer.stopOnFailure === undefined ? {} : { stopOnFailure: offer.stopOnFailure }),
      ...(context.options.session === undefined ? {} : { idempotencyKey: `haft chain run ${qualified}` }),
    };
    return await chain.run(session, input, options).catch((thrown: unknown) => {
      throw isToolError(thrown) && thrown.code === "conflict" ? otherRunError(qualified, session.id, thrown) : thrown;
    });
  });
}

function otherRunError(chain: string, sessionId: string, cause: ToolError): ToolError {
  return new ToolError(
    "conflict",
    `The session ${JSON.stringify(sessionId)} has a run of the chain ${JSON.stringify(chain)} with another input or other steps.`,
    { hint: "Give the input of that run to continue it, or another --session to begin a new run.", cause },
  );
}

/** Reads the initial context of the chain. */
async function readContext(context: CommandContext, text: string | undefined): Promise<JsonObject> {
  const example = `{"to": "Oslo"}`;
  const input = await readJsonArgument(context, text, { owner: "chain", example });
  if (isJsonObject(input)) return input;
  throw new ToolError("invalid_input", "The input of the chain is not an object.", { hint: jsonHint(example) });
}

function print({ out, err, options }: CommandContext, result: ChainResult): void {
  if (options.json) {
    out.writeJson(result);
    return;
  }
  for (const line of result.warnings.flatMap((warning) => wrap(`! ${warning}`, err.width))) err.print(err.paint("yellow", line));
  for (const line of result.errors.flatMap((error) => wrap(error, err.width))) err.print(err.paint("red", line));
  out.write(`${safeJson(result.context, 2)}\n`);
}
