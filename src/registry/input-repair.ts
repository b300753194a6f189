/** The repairs of a call's input. */
import { declaresNoWrites } from "../core/effects.ts";
import { copyJson, type JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { fitInput, type RepairOptions } from "../schema/repair/repair-input.ts";

/** Which repairs inputs of a tool may have: a tool that declares no writes loses forbidden keys, and is guessed at. */
export function repairsOf({ effects, unknownKeys }: Tool): RepairOptions {
  const allowGuesses = declaresNoWrites(effects);
  return { dropUnknownKeys: unknownKeys === undefined ? allowGuesses : unknownKeys === "drop", allowGuesses };
}

/**
 * For those who look at a call before it is run: makes an input of this tool fit as the runtime would; undefined for one that cannot.
 *
 * @throws ToolError for a schema that cannot be used; the function throws it for what is not JSON
 */
export function inputRepair(tool: Tool): (input: unknown) => JsonObject | undefined {
  const validator = compileSchema(tool.inputSchema);
  const repairs = repairsOf(tool);
  return (input) => {
    const fitted = fitInput(copyJson(input).value, validator, repairs);
    return fitted.ok ? fitted.value : undefined;
  };
}
