import type { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { valueText } from "../../core/content.ts";
import { providerError } from "../provider-error.ts";

/** Converts the error in `error`, an object with a code or only a text. */
export function chatError(error: JsonValue, provider = "The model's provider"): ToolError {
  const { code, type, status, message = error } = isJsonObject(error) ? error : {};
  const codes = [code, type, status].flatMap((word) => (typeof word === "string" || typeof word === "number" ? [String(word)] : []));
  const text = valueText(message);
  const codesText = codes.length === 0 ? "" : ` (${codes.join(", ")})`;
  return providerError({ report: `${provider} reports an error${codesText}: ${text}`, codes, text });
}
