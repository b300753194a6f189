import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import { noHandlerError } from "../core/answers/missing-handler.ts";

/**
 * Runs `tool.execute` in this process, with the parsed input and the context.
 *
 * Returns the handler's value, or throws its error, unchanged; a promise is returned without being awaited. A tool without `execute` fails with
 * `not_executable`.
 */
export function localEngine(): Engine {
  return LOCAL;
}

const LOCAL: Engine = Object.freeze({ kind: "local", call: callHandler });

function callHandler(request: EngineRequest, context: ToolContext): unknown {
  const { tool } = request;
  if (tool.execute === undefined) throw noHandlerError(tool);
  return tool.execute(request.parsed as never, context); // `never` accepts every handler; the input was checked against the schema
}
