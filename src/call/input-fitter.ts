/** The repairs of a call's input, for those who look at the call before it is run. */
import { declaresNoWrites } from "../core/effects.ts";
import { copyJson, type JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { fitInput } from "../schema/repair-input.ts";

/** Makes an input of this tool fit as the runtime would; undefined for one that cannot. @throws ToolError for what is not JSON */
export function inputFitter({ inputSchema, effects, unknownKeys }: Tool): (input: unknown) => JsonObject | undefined {
  const validator = compileSchema(inputSchema);
  const readsOnly = declaresNoWrites(effects);
  const options = { dropUnknownKeys: unknownKeys === undefined ? readsOnly : unknownKeys === "drop", allowGuesses: readsOnly };
  return (input) => {
    const fitted = fitInput(copyJson(input).value, validator, options);
    return fitted.ok ? fitted.value : undefined;
  };
}
