/** Answers calls without the tool and without a model: plausible values of the output schema that agree with each other within a session. */
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { ExampleCall } from "./example/example-call.ts";

/** How values are made up. */
export interface ExampleEngineOptions {
  /** Other seeds, other answers. @default 0 */
  readonly seed?: number | string;
}

/**
 * An engine that makes answers up from the output schema and the call, with nothing but a seed.
 *
 * The same call is given the same answer in every session, as long as nothing was written before it and no other `variation` is given
 * with it. Values of the call appear in the answer where names match. Where the names of tools say what they do, a session's answers agree: what `create_order` made,
 * `get_order` and `list_orders` return, `update_order` changes, `close_ticket` closes, and after `cancel_order` it is `not_found`; what
 * was read or listed without having been created is remembered as well, up to some 250 things a toolset, the oldest forgotten first. Lists
 * keep to filters, limits and pages. The facts of a tool's `reducer` are in its answer. A tool without output schema answers with
 * fields that its description promises or that are usual for its topic; one that changes something, with a status and what it was given. A place that no value fits gets the nearest there is.
 *
 * @throws ToolError `invalid_argument` at once for a seed that is neither text nor number
 */
export function exampleEngine(options: ExampleEngineOptions = {}): Engine {
  if (typeof options !== "object" || options === null)
    throw new ToolError("invalid_argument", "The options of an example engine are an object, such as { seed: 7 }.");
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
