/** Converts errors that OpenAI's Responses send instead of a reply, or in the middle of one. */
import type { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { providerError } from "../provider-error.ts";
import { asString } from "../read-field.ts";

/** Converts the error of an `error` event, of `response.failed`, or of a body with status `failed`. */
export function responseError(from: JsonObject): ToolError {
  const about = findError(from) ?? from;
  const word = asString(about["code"]) ?? asString(about["type"]) ?? "";
  const message = asString(about["message"]) ?? "it did not say why";
  const named = word === "" || word === "error" || word.startsWith("response.") ? "" : ` (${word})`;
  return providerError({ report: `The model's provider failed${named}: ${message}`, codes: [word], text: message });
}

/** Returns the error object in the event itself, or in its `response`; undefined if the event's own fields are the error. */
function findError({ error, response }: JsonObject): JsonObject | undefined {
  if (isJsonObject(error)) return error;
  return isJsonObject(response) && isJsonObject(response["error"]) ? response["error"] : undefined;
}
