/** A tool that checks an input for another tool without calling it. */
import { type JsonObject, isJsonObject } from "../../core/base/json.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { ValidationResult, validateInput } from "../../schema/validation-result.ts";
import type { CallAnswer } from "./call-result.ts";

export const VALIDATE_NAME = "haft_validate_input";

/** The definition for `tools/list`. */
export const VALIDATE_TOOL: JsonObject = {
  name: VALIDATE_NAME,
  title: "Check an input",
  description: "Checks an input against the schema of one of the tools listed here, strictly and without calling it. Says what is wrong.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The tool, as it is listed." },
      input: { type: "object", description: "The arguments that it would be called with." },
    },
    required: ["name", "input"],
  },
  outputSchema: {
    type: "object",
    properties: { valid: { type: "boolean" }, errors: { type: "array", items: { type: "string" } } },
    required: ["valid", "errors"],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false, title: "Check an input" },
};

/** Looks up tools: the overloads of a name, and all names. */
export interface KnownTools {
  overloads(name: string): readonly RegisteredTool[];
  names(): readonly string[];
}

/** Checks an input: it is valid if any overload accepts it; otherwise the errors of the first overload are returned. */
export function validateCall(args: JsonObject, known: KnownTools): CallAnswer {
  const { name, input } = args;
  if (typeof name !== "string" || !isJsonObject(input)) return refusal('It takes {"name": "<tool>", "input": {…}}.');
  const tools = known.overloads(name);
  if (tools.length === 0) {
    const near = findNearNames(name, known.names());
    return refusal(
      `No tool ${JSON.stringify(name)}.${near.length === 0 ? "" : ` Did you mean ${near.map((one) => JSON.stringify(one)).join(" or ")}?`}`,
    );
  }
  const verdicts = tools.map(({ tool }) => validateInput(input, tool.inputSchema));
  const verdict = verdicts.find(({ valid }) => valid) ?? verdicts[0] ?? new ValidationResult();
  const { valid, errors } = verdict.toJSON();
  return { content: [{ type: "text", text: verdict.toString() }], structuredContent: { valid, errors } };
}

function refusal(text: string): CallAnswer {
  return { content: [{ type: "text", text }], isError: true };
}
