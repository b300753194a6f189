/** The one answer to one call. */
import { type ContentPart, valueText } from "./content.ts";
import { readDataUri } from "./formats/data-uri.ts";
import type { ErrorInfo } from "./error.ts";
import { checkResult } from "./check-argument.ts";
import type { Fidelity } from "./answers/fidelity.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./base/json.ts";
import { escapeInvisible } from "./base/escape-invisible.ts";
import { firstChars } from "./base/truncate-text.ts";

/**
 * `ok`; `partial`: the call ran, but its output does not match its schema, and is kept; `error`; `cancelled`; `skipped`: not started because the turn
 * had ended. All are final except `pending`: the call continues as a background job, and its one result comes later; a session never records it.
 */
export type ResultStatus = "ok" | "partial" | "error" | "cancelled" | "skipped" | "pending";

/** Where a result came from. */
export type Origin = "live" | "cache" | "replay" | "simulated" | "stub";

/** One change made to the model's input so that it matches the schema. */
export interface Repair {
  /** `$` path of the changed value. */
  readonly path: string;
  readonly kind: "parsed-json" | "fixed-json" | "coerced" | "defaulted" | "dropped" | "renamed";
  /** A description of the repair, for people: `"5" → 5`. */
  readonly note: string;
}

/** How much of an output was too large to show, and how to read the rest. */
export interface Truncation {
  /** The handle with which `read_result` reads the rest; undefined if the complete output was not kept. */
  readonly handle: string | undefined;
  readonly totalBytes: number;
  readonly shownBytes: number;
}

/** The fields that every result has, with or without an error. */
export interface ResultFields {
  /** The runtime's own id of the call, globally unique. */
  readonly callId: string;
  /** The provider's id, from the call. */
  readonly id?: string;
  /** The qualified name of the tool that answered, or the name in the call if there is no such tool. */
  readonly name: string;
  /** The answer as JSON, even if it reports a failure; undefined if the tool answered with content only, or not at all. */
  readonly output?: JsonValue;
  /** Text, images and files for the model; undefined if `output` is the complete answer. */
  readonly content?: readonly ContentPart[];
  /** The exit code of the program that the tool ran, as the tool reports it; any but 0 is an error. */
  readonly exitCode?: number;
  readonly origin: Origin;
  /** Set if the origin is not `live`. */
  readonly fidelity?: Fidelity;
  /** The kind of the engine that answered in place of the tool: `lm`, `example`, `replay`, `stub`. Left out for `live` and `cache`. */
  readonly answeredBy?: string;
  /** The fault that was injected into the call: see `FaultPlan`. */
  readonly fault?: string;
  /** How many times the handler was started; 0 if the call ended before. */
  readonly attempts: number;
  /** From the call's arrival to this result, waits included, in milliseconds, with microsecond precision. */
  readonly durationMs: number;
  readonly repairs: readonly Repair[];
  readonly warnings: readonly string[];
  readonly truncation?: Truncation;
  /** The earlier call whose result this one refers to. If the model no longer sees that result, it sees its content here. */
  readonly sameAs?: string;
  /** Metadata of the tool, for programs only. */
  readonly metadata?: JsonObject;
}

/** The result of a call that has succeeded. */
export interface OkResult extends ResultFields {
  readonly status: "ok";
  readonly error?: never;
}

/** The answer to a call that continues as a background job. */
export interface PendingResult extends ResultFields {
  readonly status: "pending";
  readonly error?: never;
}

/** The result of a call that has failed, was cancelled or was not started, or whose output does not match its schema. */
export interface ResultWithError extends ResultFields {
  readonly status: "partial" | "error" | "cancelled" | "skipped";
  readonly error: ErrorInfo;
}

/**
 * The result of one call: every call ends in exactly one.
 *
 * `error` is set if the status is `partial`, `error`, `cancelled` or `skipped`, and undefined if it is `ok` or `pending`. A comparison of `status`,
 * or of `error` with undefined, narrows the type. `haft/session` exports the members, and `ResultFields` with what all of them have.
 */
export type ToolResult = OkResult | PendingResult | ResultWithError;

/** Whether the call has an answer. A call whose program failed has both an answer and an error. */
export function hasAnswer({ status, output, content }: ToolResult): boolean {
  return status === "ok" || status === "partial" || output !== undefined || content !== undefined;
}

/** Returns the name under which a model was given a tool, from its qualified name. */
export type OfferedName = (qualifiedName: string) => string;

/**
 * Returns a result's text for a model: the answer, or what went wrong and what would work.
 *
 * Leaves out an error's `operatorHint`, and the details of `definition_changed`. With `offeredName`, an error names tools as the model knows them.
 */
export function resultText(result: ToolResult, offeredName?: OfferedName): string {
  checkResult(result, "resultText()");
  if (result.status === "error" && result.content === undefined && reportsFailure(result.output)) return valueText(result.output);
  const parts: string[] = [];
  if (result.error !== undefined) {
    const text = errorText(result.error);
    // An error quotes what models, files and servers wrote, so invisible characters are made visible. Answers are shown unchanged.
    parts.push(escapeInvisible(offeredName === undefined ? text : renameTools(text, toolNamesIn(result, result.error), offeredName)));
  }
  if (result.content === undefined) {
    if (result.output !== undefined) parts.push(valueText(result.output));
  } else {
    for (const part of result.content) parts.push(partText(part));
  }
  return parts.join("\n");
}

/** Whether the answer is `{success: false, …}`: it then says everything that the error says, in the tool's own words. */
function reportsFailure(output: JsonValue | undefined): boolean {
  return isJsonObject(output) && output["success"] === false;
}

/**
 * The details of an error that a model, or a program that a model writes, may read: none of `definition_changed`. A changed definition is what
 * pinning hides from models, and its details quote text that no person has approved.
 */
export function modelDetails({ code, details = [] }: ErrorInfo): readonly string[] {
  return code === "definition_changed" ? [] : details;
}

function errorText(error: ErrorInfo): string {
  const lines = [`Error (${error.code}): ${error.message}`];
  for (const detail of modelDetails(error)) lines.push(`- ${detail}`);
  if (error.hint !== undefined) lines.push(`Hint: ${error.hint}`);
  return lines.join("\n");
}

/** Returns the names of tools in an error. A bare name of a tool that does not exist is left as the model wrote it. */
function toolNamesIn({ name }: ToolResult, { code, toolNames = [] }: ErrorInfo): readonly string[] {
  return code === "not_found" && !name.includes("::") ? toolNames : [name, ...toolNames];
}

/** Replaces tool names in a text. Whole names only: `todo::list` does not match in `todo::list_all`. */
export function renameTools(text: string, names: readonly string[], offeredName: OfferedName): string {
  let renamed = text;
  for (const name of new Set(names)) {
    const offered = offeredName(name);
    if (name === "" || offered === name) continue;
    let from = 0;
    for (let at = renamed.indexOf(name); at >= 0; at = renamed.indexOf(name, from)) {
      from = at + name.length;
      if (NAME_CHARACTER.test(renamed.charAt(at - 1)) || NAME_CONTINUATION.test(renamed.slice(from, from + 2))) continue;
      renamed = `${renamed.slice(0, at)}${offered}${renamed.slice(from)}`;
      from = at + offered.length;
    }
  }
  return renamed;
}

const NAME_CHARACTER = /[\p{L}\p{N}_:.-]/u;
/** Matches what continues a name: a full stop does so only if a name character follows. */
const NAME_CONTINUATION = /^(?:[\p{L}\p{N}_-]|[.:][\p{L}\p{N}_:-])/u;

/** Returns the text of a part for a model that does not accept images, audio or files: never their bytes. */
export function partText(part: ContentPart): string {
  if (part.type === "text") return part.text;
  if (part.type === "file") return part.text ?? fileMention(part);
  return `[${part.type} ${part.mediaType}]`;
}

/** Describes a file by its name, address and description; if its size is known, by its type and size too. */
function fileMention({ name = "", uri, mediaType, bytes: size, description }: ContentPart & { readonly type: "file" }): string {
  const data = readDataUri(uri);
  let place = shortenMention(uri);
  if (data !== undefined) place = typeAndSize(mediaType ?? data.mediaType, data.bytes);
  else if (size !== undefined) place = `${typeAndSize(mediaType ?? "application/octet-stream", size)}, ${place}`;
  const about = description === undefined ? "" : `; ${shortenMention(description)}`;
  return name === "" || name === uri ? `[file ${place}${about}]` : `[file ${shortenMention(name)}: ${place}${about}]`;
}

function typeAndSize(mediaType: string, bytes: number): string {
  return `${shortenMention(mediaType)}, ${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
}

function shortenMention(text: string): string {
  return firstChars(text, MAX_MENTION_LENGTH);
}

/** An address is longer only if it contains data, not a location. */
const MAX_MENTION_LENGTH = 2_000;
