/** Reads a result that a hook changed: a hook may change the answer, but not which call it belongs to or how it was made. */
import { ERROR_CODES, type ErrorCode } from "../../core/error-codes.ts";
import { ToolError, errorInfo, isToolError, type ErrorInfo } from "../../core/error.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { valueText, type ContentPart } from "../../core/content.ts";
import { hasAnswer, type ResultStatus, type ToolResult } from "../../core/result.ts";
import { describeValueType } from "../../core/base/wording.ts";
import { mentionErrorFiles } from "../../policy/results/artifact-parts.ts";
import { extractDataUrls } from "../../policy/results/extract-data-urls.ts";
import { copyContent } from "../../session/copy-content.ts";
import type { Mutable } from "../../core/base/mutable.ts";

type Fields = Readonly<Record<string, unknown>>;

type FinalStatus = Exclude<ResultStatus, "pending">;

const STATUSES: ReadonlySet<unknown> = new Set<FinalStatus>(["ok", "partial", "error", "cancelled", "skipped"]);

/**
 * Makes the changed result, as frozen JSON like any other. Fields that the hook left out are removed, except for the status, the warnings and the
 * error of a result that is not `ok`.
 *
 * @throws if `changed` is not a result
 */
export function changeResult(result: ToolResult, changed: unknown): ToolResult {
  if (typeof changed !== "object" || changed === null || Array.isArray(changed)) throw new TypeError("a result must be an object");
  const { status = result.status, output, content, error, warnings, metadata } = changed as Fields; // any key may be read from an object
  if (!isStatus(status)) throw new TypeError(`${describe(status)} is not a status`);
  const next = withEnd(result, status, error);
  if (warnings !== undefined) next.warnings = readLines(warnings);
  delete next.output;
  delete next.content;
  delete next.metadata;
  if (output !== result.output || content !== result.content) delete next.sameAs; // it now has an answer of its own
  if (status === "ok") delete next.exitCode;
  // A failure with an answer, and a cancelled call with partial output, keep it. An answer that a hook turned into a failure is removed.
  if (status === "ok" || status === "partial" || keepsAnswer(result, status)) {
    if (output !== undefined) next.output = copyJson(output).value;
    const nextContent = content === result.content && next.output !== undefined ? updateContent(result, next.output) : content;
    if (nextContent !== undefined) next.content = copyContent(nextContent);
  }
  if (metadata !== undefined) next.metadata = readRecord(metadata);
  return next;
}

function withEnd({ error: before, ...result }: ToolResult, status: FinalStatus, error: unknown): Mutable<ToolResult> {
  return status === "ok" ? { ...result, status } : { ...result, status, error: readError(error ?? before) };
}

/**
 * Updates content that the hook left unchanged. Content that repeats the output, as with MCP servers and outputs with files, would otherwise show
 * what the hook removed from the output.
 */
function updateContent({ output, content }: ToolResult, now: JsonValue): readonly ContentPart[] | undefined {
  const [first, ...others] = content ?? [];
  if (output === undefined || first?.type !== "text" || !repeatsOutput(first.text, output)) return content;
  const [before, text] = [valueText(output), valueText(now)];
  if (before === text) return content;
  const kept = others.filter((part) => !before.includes(dataOf(part)) || (isAddress(part) && text.includes(part.uri)));
  return kept.length === 0 ? undefined : [{ type: "text", text }, ...kept];
}

function repeatsOutput(text: string, output: JsonValue): boolean {
  if (text === valueText(output) || text === firstText(extractDataUrls(output, undefined))) return true;
  try {
    return canonicalJson(parseJson(text)) === canonicalJson(output);
  } catch {
    return false; // not JSON
  }
}

function firstText(content: readonly ContentPart[] | undefined): string | undefined {
  const [first] = content ?? [];
  return first?.type === "text" ? first.text : undefined;
}

/** Returns how an output contains this part: its base64, its address, or its text. */
function dataOf(part: ContentPart): string {
  if (part.type === "text") return part.text;
  return part.type === "file" ? part.uri.replace(/^data:[^,]*,/u, "") : part.data;
}

function isAddress(part: ContentPart): part is ContentPart & { readonly type: "file" } {
  return part.type === "file" && !part.uri.startsWith("data:");
}

function keepsAnswer(result: ToolResult, status: ResultStatus): boolean {
  return status === result.status && (status === "error" || status === "cancelled") && hasAnswer(result);
}

function isStatus(status: unknown): status is FinalStatus {
  return STATUSES.has(status);
}

function readLines(lines: unknown): readonly string[] {
  if (!Array.isArray(lines) || !lines.every((line) => typeof line === "string"))
    throw new TypeError("its warnings are not an array of strings");
  return Object.freeze([...lines]);
}

function readError(value: unknown): ErrorInfo {
  if (typeof value !== "object" || value === null) throw new TypeError("a result that is not ok must have an error");
  const { code, message, ...options } = value as Fields; // validated as a whole below
  if (!isErrorCode(code) || typeof message !== "string") throw new TypeError("its error has no known code, or no message");
  const error = new ToolError(code, message, options);
  if (!isToolError(error)) throw new TypeError("its error is not an ErrorInfo");
  return Object.freeze(mentionErrorFiles(errorInfo(error)));
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}

function readRecord(metadata: unknown): JsonObject {
  const { value } = copyJson(metadata);
  if (!isJsonObject(value)) throw new TypeError("its metadata is not an object");
  return value;
}

function describe(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : describeValueType(value);
}
