/** Answers calls without the tool and without a model, by plausible values of the output schema that are consistent within a session. */
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { ExampleCall } from "./example/example-call.ts";

/** Options of an `exampleEngine`. */
export interface ExampleEngineOptions {
  /** Another seed gives other answers. @default 0 */
  readonly seed?: number | string;
}

/**
 * An engine that generates answers from the output schema, the call and a seed.
 *
 * The same call gets the same answer in every session, unless something was written before it or another `variation` is given with it. Values of the
 * call appear in the answer if their names match. If the names of tools say what they do, the answers of a session are consistent: `get_order` and
 * `list_orders` return what `create_order` made, `update_order` changes it, `close_ticket` closes a ticket, and after `cancel_order` the order is
 * `not_found`. Records that were read or listed without having been created are remembered too, about 250 for each toolset, the oldest forgotten
 * first. Lists respect filters, limits and pages. The facts of a tool's `reducer` are in its answer. Without an output schema, an answer has the
 * fields that the description promises or that are usual for the topic; that of a writing tool has a status and the input. If no value satisfies a
 * schema, the closest one is used.
 *
 * @throws ToolError `invalid_argument` at once for a seed that is neither string nor number
 */
export function exampleEngine(options: ExampleEngineOptions = {}): Engine {
  if (typeof options !== "object" || options === null)
    throw new ToolError("invalid_argument", "The options of an example engine must be an object, such as { seed: 7 }.");
  checkKnownKeys(options, { seed: true }, "exampleEngine()");
  const { seed = 0 } = options;
  if (typeof seed !== "string" && !Number.isFinite(seed))
    throw new ToolError("invalid_argument", `The seed of an example engine is of type ${typeof seed}; it takes a string or a number.`);
  return {
    kind: "example",
    order: "sequential",
    state: "value",
    effectFree: true,
    origin: "simulated",
    call: (request, context) => new ExampleCall(request, context, `${typeof seed}:${seed}`).answer(),
  };
}
