/** From a name to the one tool that answers it, through the gates that need no input. */
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import { chooseOverload } from "../registry/overload.ts";
import { resolveVisible } from "../registry/visible-tool.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { fitInput } from "../schema/repair-input.ts";
import { resolved } from "./call-run.ts";
import type { CallRun, ResolvedCall } from "./call-run.ts";
import { passReadingGate } from "./manual-reading.ts";

/** Finds the tools of this name and, by the input, the one that is meant. */
export function resolveTool(run: CallRun): ResolvedCall | ToolError {
  const { parts, call, options } = run;
  const { visibility } = options;
  const candidates = visibility === undefined ? parts.registry.resolve(call.name) : resolveVisible(parts.registry, call.name, visibility);
  if (candidates instanceof ToolError) return candidates;
  const [only] = candidates;
  return resolved(run, parts.planOf(candidates.length === 1 && only !== undefined ? only : chooseOverload(candidates, readableInput(run))));
}

/** What any object fits; text is read as the JSON it spells, as it will be for the tool's own schema. */
export const ANY_OBJECT = compileSchema(true);

function readableInput(run: CallRun): JsonValue {
  const sent = run.call.input as JsonValue; // copied into plain JSON by readCall
  if (typeof sent !== "string") return sent;
  const read = fitInput(sent, ANY_OBJECT, { dropUnknownKeys: false, allowGuesses: true });
  return read.ok ? read.value : sent;
}

/** Refuses tools that cannot or may not run, whatever their input. */
export function passGates(run: ResolvedCall): ResolvedCall | ToolError {
  const { tool, qualifiedName, registered } = run.plan;
  if (tool.providerExecuted === true) {
    return new ToolError("not_executable", `${qualifiedName} is run by the model's provider, never here.`);
  }
  if (registered.quarantine !== undefined) return registered.quarantine;
  for (const key of tool.requires ?? []) {
    if (!Object.hasOwn(run.options.data, key) || run.options.data[key] === undefined) {
      return new ToolError("unavailable", `${qualifiedName} needs "${key}", which this program did not provide.`, {
        operatorHint: `Give it as data: execute(calls, { data: { ${key}: … } }).`,
      });
    }
  }
  return passReadingGate(run) ?? run;
}
