/** The errors that OpenAI's Responses sends in a reply's place, or in the middle of one. */
import type { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { providerError } from "../provider-error.ts";
import { textOf } from "../read-field.ts";

/** The error of an `error` event, of `response.failed`, or of a body that says it failed. */
export function responseError(from: JsonObject): ToolError {
  const about = errorIn(from) ?? from;
  const word = textOf(about["code"]) ?? textOf(about["type"]) ?? "";
  const message = textOf(about["message"]) ?? "it did not say why";
  const named = word === "" || word === "error" || word.startsWith("response.") ? "" : ` (${word})`;
  return providerError({ report: `The model's provider failed${named}: ${message}`, words: [word], text: message });
}

/** An error is alone, in the event, or in the response that the event is of. */
function errorIn({ error, response }: JsonObject): JsonObject | undefined {
  if (isJsonObject(error)) return error;
  return isJsonObject(response) && isJsonObject(response["error"]) ? response["error"] : undefined;
}
