import type { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { valueText } from "../../core/content.ts";
import { providerError } from "../provider-error.ts";

/** Converts the error in `{ error: { code, status, message, details } }`; undefined if there is none. */
export function geminiError(body: JsonValue): ToolError | undefined {
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (error === undefined || error === null) return undefined;
  const { code, status, message = error } = isJsonObject(error) ? error : {};
  const codes = [status, code].flatMap((word) =>
    typeof word === "string" || typeof word === "number" ? [String(word).toUpperCase()] : [],
  );
  const text = valueText(message);
  const report = `Gemini reports ${codes[0] ?? "an error"}: ${text}`;
  return providerError({ report, codes, text, retryAfterMs: delayOf(error) });
}

/** Returns the delay of a `google.rpc.RetryInfo`, such as `{ retryDelay: "12.5s" }`, in milliseconds. */
function delayOf(error: JsonValue): number | undefined {
  const details = isJsonObject(error) ? error["details"] : undefined;
  for (const detail of isJsonArray(details) ? details : []) {
    const delay = isJsonObject(detail) ? detail["retryDelay"] : undefined;
    const seconds = typeof delay === "string" && delay.endsWith("s") ? Number(delay.slice(0, -1)) : Number.NaN;
    if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1_000;
  }
  return undefined;
}
