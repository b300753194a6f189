/** Writes the items that answer calls in OpenAI's Responses. */
import { contentParts, answerText, isErrorAnswer, isSupportedImage, toWellFormedJson } from "../conversation-steps.ts";
import type { ContentPart } from "../../core/content.ts";
import { readFileData } from "../../core/formats/data-uri.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import { readPendingChecks, wasConfirmed } from "../../core/safety-checks.ts";
import { APPROVAL_REQUEST, approvalResponse } from "./approvals.ts";
import { isProgramCaller, itemType } from "./items.ts";

/** The result of one call, to be answered. `call` is the call's item if the provider made one. */
export interface AnsweredItem {
  readonly id: string;
  readonly result: ToolResult | undefined;
  readonly call?: JsonObject | undefined;
}

type WriteOutput = (answer: AnsweredItem) => JsonObject | undefined;

/** The writer of the answer by the type of the call; returns undefined if the provider accepts no such answer to that call. */
const OUTPUTS: Readonly<Record<string, WriteOutput>> = {
  function_call: ({ result }) => ({ type: "function_call_output", output: toOutput(result) }),
  custom_tool_call: ({ result }) => ({ type: "custom_tool_call_output", output: toOutput(result) }),
  // `id` is the id of the call, according to the type in openai 7.59
  local_shell_call: ({ id, result }) => ({ type: "local_shell_call_output", id, output: answerText(result) }),
  apply_patch_call: ({ result }) => ({
    type: "apply_patch_call_output",
    status: isErrorAnswer(result) ? "failed" : "completed",
    output: answerText(result),
  }),
  shell_call: ({ call, result }) => ({
    type: "shell_call_output",
    ...shellLimit(call),
    output: shellOutput(result),
  }),
  computer_call: computerOutput,
  tool_search_call: ({ result }) => ({ type: "tool_search_output", execution: "client", status: "completed", tools: foundTools(result) }),
};

/** Returns the item that answers a call; undefined if the provider's own call cannot be answered with this result. */
export function resultItem(answer: AnsweredItem): JsonObject | undefined {
  const { id, call } = answer;
  const type = call === undefined ? "function_call" : itemType(call);
  if (type === APPROVAL_REQUEST) return approvalResponse(id, answer.result);
  const written = Object.hasOwn(OUTPUTS, type) ? OUTPUTS[type]?.(answer) : undefined;
  if (written === undefined) return undefined;
  const caller = call?.["caller"];
  return { ...written, call_id: id, ...(caller !== undefined && isProgramCaller(caller) ? { caller } : {}) };
}

/** Returns the text of a result, or an array of parts if it has media. */
function toOutput(result: ToolResult | undefined): JsonValue {
  const content = result?.content ?? [];
  if (result === undefined || !content.some(isMedia)) return answerText(result);
  if (isErrorAnswer(result)) return [...inputTextParts(answerText(result)), ...content.filter(isMedia).flatMap(writePart)];
  return [...inputTextParts(answerText({ ...result, content: [] })), ...content.flatMap(writePart)];
}

/** Returns the parts of a content as user input. */
export function inputParts(content: string | readonly ContentPart[]): readonly JsonObject[] {
  return contentParts(content).flatMap(writePart);
}

export function inputTextParts(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ type: "input_text", text: text.toWellFormed() }];
}

function writePart(part: ContentPart): readonly JsonObject[] {
  if (part.type === "image" && isMedia(part))
    return [{ type: "input_image", detail: "auto", image_url: `data:${part.mediaType};base64,${part.data}` }];
  if (part.type === "file" && isMedia(part))
    return [{ type: "input_file", filename: (part.name ?? "file").toWellFormed(), file_data: part.uri }];
  return inputTextParts(partText(part));
}

/** Whether a part is an image or file of a type that is accepted, a file only with its own data: the whole request is refused for others. */
export function isMedia(part: ContentPart): boolean {
  if (isSupportedImage(part)) return true;
  const mediaType = readFileData(part)?.mediaType;
  return mediaType !== undefined && (FILE_TYPES.has(mediaType) || mediaType.startsWith("text/"));
}

/** @see https://platform.openai.com/docs/guides/pdf-files (2026) */
const FILE_TYPES: ReadonlySet<string> = new Set([
  "application/pdf",
  "application/json",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
]);

function shellLimit(call: JsonObject | undefined): JsonObject {
  const action = call?.["action"];
  const limit = isJsonObject(action) ? action["max_output_length"] : undefined;
  return typeof limit === "number" ? { max_output_length: limit } : {};
}

/** Returns the tool's output if it is in the provider's own form, else its text. */
function shellOutput(result: ToolResult | undefined): JsonValue {
  const output = result?.output;
  const own = isJsonObject(output) ? output["output"] : output;
  if (isJsonArray(own) && own.length > 0 && own.every(isShellChunk)) return toWellFormedJson(own);
  const text = answerText(result);
  return isErrorAnswer(result)
    ? [{ stdout: "", stderr: text, outcome: { type: "exit", exit_code: 1 } }]
    : [{ stdout: text, stderr: "", outcome: { type: "exit", exit_code: 0 } }];
}

function isShellChunk(value: JsonValue): boolean {
  return (
    isJsonObject(value) && typeof value["stdout"] === "string" && typeof value["stderr"] === "string" && isJsonObject(value["outcome"])
  );
}

/** Returns the screenshot and acknowledges the call's checks; undefined if the call was not confirmed or not run, even if a hook added an image. */
function computerOutput({ call = {}, result }: AnsweredItem): JsonObject | undefined {
  const image = isErrorAnswer(result) ? undefined : result?.content?.find((part) => part.type === "image" && isMedia(part));
  if (image?.type !== "image") return undefined;
  const url = `data:${image.mediaType};base64,${image.data}`;
  const checks = readPendingChecks(call);
  if (checks.length > 0 && !wasConfirmed(result)) return undefined;
  return {
    type: "computer_call_output",
    output: { type: "computer_screenshot", image_url: url },
    ...(checks.length === 0 ? {} : { acknowledged_safety_checks: checks }),
  };
}

function foundTools(result: ToolResult | undefined): readonly JsonValue[] {
  const output = result?.output;
  const tools = isJsonObject(output) ? output["tools"] : output;
  return isJsonArray(tools) ? tools.filter(isJsonObject) : [];
}
