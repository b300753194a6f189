/** Repairs of a call's input. */
import { declaresNoWrites } from "../core/resources/effects.ts";
import { copyJson, type JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { repairInput, type RepairOptions } from "../schema/repair/repair-input.ts";

/** The repairs of a tool's inputs. If it declares no writes, guesses are allowed, and unknown keys dropped unless `unknownKeys` is set. */
export function repairOptionsOf({ effects, unknownKeys }: Tool): RepairOptions {
  const allowGuesses = declaresNoWrites(effects);
  return { dropUnknownKeys: unknownKeys === undefined ? allowGuesses : unknownKeys === "drop", allowGuesses };
}

/**
 * Returns a function that repairs an input as the runtime would, for callers that inspect a call before it runs. The function returns undefined for
 * an input that cannot be repaired.
 *
 * @throws ToolError for an unusable schema; the function throws it for a value that is not JSON
 */
export function createInputRepair(tool: Tool): (input: unknown) => JsonObject | undefined {
  const validator = compileSchema(tool.inputSchema);
  const repairs = repairOptionsOf(tool);
  return (input) => {
    const fitted = repairInput(copyJson(input).value, validator, repairs);
    return fitted.ok ? fitted.value : undefined;
  };
}
