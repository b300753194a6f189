/** Leaves out reasoning that another account or deployment encrypted: OpenAI's Responses refuse the whole request because of it. */
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { itemType } from "./items.ts";
import { wordSet } from "../../core/base/wording.ts";

const REFUSED = /invalid_encrypted_content|encrypted content\b.{0,600}? could not be (?:verified|decrypted)/isu;

/** Types of items that need no own id: calls are identified by `call_id`, and a message by its position. */
const WITHOUT_ID: ReadonlySet<string> = wordSet("message function_call custom_tool_call shell_call apply_patch_call tool_search_call");

/**
 * Returns the body of a request without reasoning; undefined if the provider refused the request for another reason, or if it has no reasoning. The
 * items after the reasoning lose their ids, by which the provider would notice that it is missing: "was provided without its required 'reasoning'
 * item".
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
  if (!WITHOUT_ID.has(itemType(item))) return item;
  const { id: _id, ...rest } = item;
  return rest;
}
