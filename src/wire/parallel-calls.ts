/** Unwraps the parallel-call wrapper that OpenAI's models sometimes invent. */
import { isJsonArray, isJsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelCall } from "../core/model.ts";
import { toQualifiedName } from "./provider-name.ts";

const WRAPPERS: ReadonlySet<string> = new Set(["parallel", "multi_tool_use.parallel", "multi_tool_use::parallel", "multi_tool_use"]);
const MAX_CALLS = 64;

/**
 * Returns the calls inside `{ tool_uses: [{ recipient_name: "functions.x", parameters }] }`, each with its own id; the call itself if it is not such
 * a wrapper, or if a tool has that name.
 */
export function expandParallelCalls(call: ModelCall, toolNames: ReadonlyMap<string, string>): readonly ModelCall[] {
  if (!WRAPPERS.has(call.name) || [...toolNames.values()].includes(call.name)) return [call];
  const { input } = call;
  const uses = isJsonObject(input) ? input["tool_uses"] : undefined;
  if (!isJsonArray(uses) || uses.length === 0 || uses.length > MAX_CALLS) return [call];
  const calls = uses.map((use, index) => readToolUse(use, { call, index, toolNames }));
  return calls.every((one) => one !== undefined) ? calls : [call];
}

interface ToolUseContext {
  readonly call: ModelCall;
  readonly index: number;
  readonly toolNames: ReadonlyMap<string, string>;
}

function readToolUse(use: JsonValue, { call, index, toolNames }: ToolUseContext): ModelCall | undefined {
  if (!isJsonObject(use)) return undefined;
  const { recipient_name: name, parameters = {} } = use;
  if (typeof name !== "string" || name === "" || !isJsonObject(parameters)) return undefined;
  return {
    ...(call.id === undefined ? {} : { id: `${call.id}_${index}` }),
    name: toQualifiedName(name, toolNames),
    input: parameters,
  };
}
