/** Reasoning that another account or deployment has encrypted, which OpenAI's Responses refuse with the whole request. */
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { itemType } from "./items.ts";

const REFUSED = /invalid_encrypted_content|encrypted content\b.{0,600}? could not be (?:verified|decrypted)/isu;

/**
 * The body of a request without reasoning; undefined where the provider refused the request for another reason, and where there is none in
 * it. The calls that it led to lose their item ids, by which the provider would miss it: they are known by `call_id`.
 */
export function withoutReasoning(body: JsonObject, refusal: string): JsonObject | undefined {
  const { input } = body;
  if (!REFUSED.test(refusal) || !isJsonArray(input)) return undefined;
  const kept = input.filter((item) => !isJsonObject(item) || itemType(item) !== "reasoning");
  return kept.length === input.length
    ? undefined
    : { ...body, input: kept.map((item) => (isJsonObject(item) ? withoutItemId(item) : item)) };
}

function withoutItemId(item: JsonObject): JsonObject {
  const type = itemType(item);
  if (type !== "function_call" && type !== "custom_tool_call") return item;
  const { id: _id, ...rest } = item;
  return rest;
}
