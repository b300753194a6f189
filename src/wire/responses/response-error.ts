/** Converts errors that OpenAI's Responses send instead of a reply, or in the middle of one. */
import type { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { providerError } from "../provider-error.ts";
import { textOf } from "../read-field.ts";

/** Converts the error of an `error` event, of `response.failed`, or of a body with status `failed`. */
export function responseError(from: JsonObject): ToolError {
  const about = errorIn(from) ?? from;
  const word = textOf(about["code"]) ?? textOf(about["type"]) ?? "";
  const message = textOf(about["message"]) ?? "it did not say why";
  const named = word === "" || word === "error" || word.startsWith("response.") ? "" : ` (${word})`;
  return providerError({ report: `The model's provider failed${named}: ${message}`, words: [word], text: message });
}

/** Returns the error object in the event itself, or in its `response`; undefined if the event's own fields are the error. */
function errorIn({ error, response }: JsonObject): JsonObject | undefined {
  if (isJsonObject(error)) return error;
  return isJsonObject(response) && isJsonObject(response["error"]) ? response["error"] : undefined;
}
