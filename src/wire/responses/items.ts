/** Classifies the output items of OpenAI's Responses: calls for Haft to run, provider-executed calls, and their inputs. */
import { asNonEmptyString, asString } from "../read-field.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelCall, ProviderCall } from "../../core/model.ts";
import { PENDING_CHECKS, readPendingChecks } from "../../core/safety-checks.ts";
import { parseArguments } from "../reply-builder.ts";
import { APPROVAL_REQUEST, approvalToolName, approvalRequestInput } from "./approvals.ts";

/** `call`: for Haft to run; `provider`: run by the provider; `words`: text or reasoning; `other`: only sent back. */
export type ItemRole = "call" | "provider" | "words" | "other";

/** Built-in tools for Haft to run: the type of their calls, with the types of the tools that declare them. */
export const BUILT_IN_TOOLS: ReadonlyMap<string, readonly string[]> = new Map([
  ["shell_call", ["shell"]],
  ["local_shell_call", ["local_shell"]],
  ["apply_patch_call", ["apply_patch"]],
  ["computer_call", ["computer", "computer_use", "computer_use_preview"]],
  ["tool_search_call", ["tool_search"]],
]);

const TEXT_ITEMS: ReadonlySet<string> = new Set(["message", "reasoning"]);
/** Types of items that are only kept and sent back. */
const PASS_THROUGH_ITEMS: ReadonlySet<string> = new Set(["additional_tools", "compaction", "item_reference", "mcp_approval_response"]);
const PROVIDER_ITEMS: ReadonlySet<string> = new Set(["mcp_list_tools", "program"]);
const CALL_FIELDS = ["action", "actions", "operation", "arguments", "code", "queries"] as const;

export function itemType(item: JsonObject): string {
  return asString(item["type"]) ?? "";
}

/** Returns the role of an item. A custom call of a tool that was not offered was run by the provider (xAI). */
export function itemRole(item: JsonObject, toolNames: ReadonlyMap<string, string> | undefined): ItemRole {
  const type = itemType(item);
  if (type === "function_call" || type === APPROVAL_REQUEST) return "call";
  if (type === "custom_tool_call") {
    const offered = toolNames === undefined || toolNames.size === 0 || toolNames.has(itemName(item, toolNames));
    return offered ? "call" : "provider";
  }
  if (TEXT_ITEMS.has(type)) return "words";
  if (BUILT_IN_TOOLS.has(type)) return isProviderExecuted(item, type) ? "provider" : "call";
  return PROVIDER_ITEMS.has(type) || type.endsWith("_call") ? "provider" : "other";
}

/** Whether an item is of an unknown, newer type: the provider may expect an answer to it. */
export function isUnknownItem(item: JsonObject): boolean {
  const type = itemType(item);
  return itemRole(item, undefined) === "other" && !PASS_THROUGH_ITEMS.has(type) && !type.endsWith("_output");
}

function isProviderExecuted({ execution, environment }: JsonObject, type: string): boolean {
  if (type === "tool_search_call") return execution !== "client";
  return isJsonObject(environment) && environment["type"] !== "local";
}

/** Returns the provider's name of the tool: its own, joined with its namespace if only that was offered; for a built-in tool, the call's type. */
export function itemName(item: JsonObject, toolNames: ReadonlyMap<string, string> | undefined): string {
  const type = itemType(item);
  if (type === APPROVAL_REQUEST) {
    const ofServer = approvalToolName(asString(item["server_label"]) ?? "");
    return toolNames?.has(ofServer) === true ? ofServer : type;
  }
  if (type !== "function_call" && type !== "custom_tool_call") return type;
  const name = asString(item["name"]) ?? "";
  const namespace = asString(item["namespace"]);
  const joined = `${namespace}__${name}`;
  return namespace !== undefined && toolNames?.has(name) !== true && toolNames?.has(joined) === true ? joined : name;
}

/** Returns the input of a call: arguments as text or JSON, a custom call's text, or the fields with the instructions for a built-in tool. */
export function itemInput(item: JsonObject): JsonValue | undefined {
  const type = itemType(item);
  if (type === "function_call") return item["arguments"];
  if (type === "custom_tool_call") return item["input"];
  if (type === APPROVAL_REQUEST) return approvalRequestInput(item);
  const callFields = Object.fromEntries(CALL_FIELDS.flatMap((field) => (Object.hasOwn(item, field) ? [[field, item[field] ?? null]] : [])));
  const checks = readPendingChecks(item);
  return checks.length === 0 ? callFields : { ...callFields, [PENDING_CHECKS]: checks };
}

/** Returns the fields of an item that its answer depends on; undefined if the kind of the call is enough. */
export function answerFields(item: JsonObject): JsonObject | undefined {
  const { type = null, caller = null } = item;
  if (BUILT_IN_TOOLS.has(itemType(item))) return item;
  return isProgramCaller(caller) ? { type, caller } : undefined;
}

export function callKind(item: JsonObject): NonNullable<ModelCall["kind"]> {
  const type = itemType(item);
  return type === "custom_tool_call" ? "custom" : type === APPROVAL_REQUEST ? "approval" : "function";
}

/** Returns `call_id`, which identifies calls; else `id`, which is often the only id of provider-executed calls. */
export function itemId({ call_id: callId, id }: JsonObject): string | undefined {
  return asNonEmptyString(callId) ?? asNonEmptyString(id);
}

export function providerCallOf(item: JsonObject): ProviderCall {
  const kind = itemType(item);
  const named = kind === "mcp_call" || kind === "custom_tool_call";
  const text = kind === "mcp_call" ? asString(item["arguments"]) : undefined;
  const id = itemId(item);
  return {
    ...(id === undefined ? {} : { id }),
    name: (named ? asString(item["name"]) : undefined) ?? kind,
    kind,
    input: text === undefined ? (itemInput(item) ?? {}) : parseArguments(text),
  };
}

/** Returns the image that an `image_generation_call` made. */
export function generatedImage(item: JsonObject): { readonly mediaType: string; readonly data: string } | undefined {
  const data = itemType(item) === "image_generation_call" ? asNonEmptyString(item["result"]) : undefined;
  return data === undefined ? undefined : { mediaType: `image/${asNonEmptyString(item["output_format"]) ?? "png"}`, data };
}

/** Whether an item has more than Haft's types can express, so that it must be sent back unchanged. */
export function needsNative(item: JsonObject): boolean {
  const type = itemType(item);
  if (type === "message") return asNonEmptyString(item["phase"]) !== undefined;
  if (type !== "function_call") return true;
  return asNonEmptyString(item["namespace"]) !== undefined || isProgramCaller(item["caller"]);
}

/** Whether a call was made by a program that the provider runs. */
export function isProgramCaller(caller: JsonValue | undefined): boolean {
  return isJsonObject(caller) && caller["type"] !== "direct";
}
