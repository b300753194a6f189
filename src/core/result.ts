/** The one answer to one call. */
import { type ContentPart, valueText } from "./content.ts";
import { readDataUri } from "./data-uri.ts";
import type { ErrorInfo } from "./error.ts";
import { checkResult } from "./check-argument.ts";
import type { Fidelity } from "./fidelity.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./base/json.ts";
import { visibleText } from "./base/visible-text.ts";
import { beginning } from "./base/short-text.ts";

/**
 * `ok`; `partial`: it ran, but the output broke its schema and is kept; `error`; `cancelled`; `skipped`: never
 * begun because the turn had ended. Each is final, but for `pending`: the call continues as a background job, and its
 * one result comes later; a session never records it.
 */
export type ResultStatus = "ok" | "partial" | "error" | "cancelled" | "skipped" | "pending";

/** Where a result came from. */
export type Origin = "live" | "cache" | "replay" | "simulated" | "stub";

/** One change that was made to the model's input so that it fits the schema. */
export interface Repair {
  /** `$` path of the changed value. */
  readonly path: string;
  readonly kind: "parsed-json" | "fixed-json" | "coerced" | "defaulted" | "dropped" | "renamed";
  /** A description of the repair, for people: `"5" → 5`. */
  readonly note: string;
}

/** The part of an output that was too large to show, and how to read it. */
export interface Truncation {
  /** Given to `read_result` to read the rest; undefined when the whole was not kept. */
  readonly handle: string | undefined;
  readonly totalBytes: number;
  readonly shownBytes: number;
}

/** The result of one call: every call ends in exactly one. */
export interface ToolResult {
  /** The runtime's own id of the call, unique for ever. */
  readonly callId: string;
  /** The provider's id, as the call brought it. */
  readonly id?: string;
  /** The qualified name of the tool that answered, or the name as asked when there is none. */
  readonly name: string;
  readonly status: ResultStatus;
  /** The answer as JSON, also one that reports a failure; undefined when the tool answered with content only, or not at all. */
  readonly output?: JsonValue;
  /** Text, images and files for the model; undefined when `output` says it all. */
  readonly content?: readonly ContentPart[];
  /** How the program that the tool ran has ended, as the tool says; any other than 0 is an error. */
  readonly exitCode?: number;
  /** Set whenever the status is neither `ok` nor `pending`. */
  readonly error?: ErrorInfo;
  readonly origin: Origin;
  /** Set whenever the origin is not `live`. */
  readonly fidelity?: Fidelity;
  /** The kind of the engine that answered in place of the tool: `lm`, `example`, `replay`, `stub`. Left out for `live` and `cache`. */
  readonly answeredBy?: string;
  /** The fault that was put into the call on purpose: see `FaultPlan`. */
  readonly fault?: string;
  /** How often the handler was started; 0 when the call ended before. */
  readonly attempts: number;
  /** From the call's arrival to this result, waits included, in milliseconds, to microseconds. */
  readonly durationMs: number;
  readonly repairs: readonly Repair[];
  readonly warnings: readonly string[];
  readonly truncation?: Truncation;
  /** The earlier call whose result this one refers to; where a model is not shown that one any more, it is shown its content here. */
  readonly sameAs?: string;
  /** Metadata of the tool, for programs only. */
  readonly metadata?: JsonObject;
}

/** False for a call that ended without an answer. One whose program failed has an answer, and an error as well. */
export function hasAnswer({ status, output, content }: ToolResult): boolean {
  return status === "ok" || status === "partial" || output !== undefined || content !== undefined;
}

/** The name that a model was given a tool under, by its qualified name. */
export type OfferedName = (qualifiedName: string) => string;

/**
 * Returns a result's text for a model: the answer, or what went wrong and what would work.
 *
 * An error's `operatorHint` is not part of it, nor are the details of `definition_changed`. With `offeredName`, tools are named in an error as the model was given them.
 */
export function resultText(result: ToolResult, offeredName?: OfferedName): string {
  checkResult(result, "resultText()");
  if (result.status === "error" && tellsOfFailure(result.output)) return valueText(result.output);
  const parts: string[] = [];
  if (result.error !== undefined) {
    const text = errorText(result.error);
    // It quotes what models, files and servers wrote: nothing in it stays invisible. Answers are shown as they are.
    parts.push(visibleText(offeredName === undefined ? text : renameTools(text, namesIn(result, result.error), offeredName)));
  }
  if (result.content === undefined) {
    if (result.output !== undefined) parts.push(valueText(result.output));
  } else {
    for (const part of result.content) parts.push(partText(part));
  }
  return parts.join("\n");
}

/** An answer `{success: false, …}` says in the tool's own words, all of them, what the error says. */
function tellsOfFailure(output: JsonValue | undefined): boolean {
  return isJsonObject(output) && output["success"] === false;
}

function errorText(error: ErrorInfo): string {
  const lines = [`Error (${error.code}): ${error.message}`];
  // A changed definition is what pinning keeps from models: its details quote the text that no person has agreed to.
  const details = error.code === "definition_changed" ? [] : (error.details ?? []);
  for (const detail of details) lines.push(`- ${detail}`);
  if (error.hint !== undefined) lines.push(`Hint: ${error.hint}`);
  return lines.join("\n");
}

/** The names of tools in an error. One that no tool has, and that is not qualified, is there as the model wrote it. */
function namesIn({ name }: ToolResult, { code, toolNames = [] }: ErrorInfo): readonly string[] {
  return code === "not_found" && !name.includes("::") ? toolNames : [name, ...toolNames];
}

/** Whole names only: `todo::list` is not looked for in `todo::list_all`. */
export function renameTools(text: string, names: readonly string[], offeredName: OfferedName): string {
  let renamed = text;
  for (const name of new Set(names)) {
    const offered = offeredName(name);
    if (name === "" || offered === name) continue;
    let from = 0;
    for (let at = renamed.indexOf(name); at >= 0; at = renamed.indexOf(name, from)) {
      from = at + name.length;
      if (NAME_CHARACTER.test(renamed.charAt(at - 1)) || CONTINUES.test(renamed.slice(from, from + 2))) continue;
      renamed = `${renamed.slice(0, at)}${offered}${renamed.slice(from)}`;
      from = at + offered.length;
    }
  }
  return renamed;
}

const NAME_CHARACTER = /[\p{L}\p{N}_:.-]/u;
/** A full stop ends a sentence, or continues a name. */
const CONTINUES = /^(?:[\p{L}\p{N}_-]|[.:][\p{L}\p{N}_:-])/u;

/** Returns the text of a part for a model that cannot be shown images, sound or files: never their bytes. */
export function partText(part: ContentPart): string {
  if (part.type === "text") return part.text;
  if (part.type === "file") return part.text ?? fileMention(part);
  return `[${part.type} ${part.mediaType}]`;
}

/** A file by its name, where it is and what is said of it, or, where its size is known, by its type and size as well. */
function fileMention({ name = "", uri, mediaType, bytes: size, description }: ContentPart & { readonly type: "file" }): string {
  const data = readDataUri(uri);
  let place = shortened(uri);
  if (data !== undefined) place = typeAndSize(mediaType ?? data.mediaType, data.bytes);
  else if (size !== undefined) place = `${typeAndSize(mediaType ?? "application/octet-stream", size)}, ${place}`;
  const about = description === undefined ? "" : `; ${shortened(description)}`;
  return name === "" || name === uri ? `[file ${place}${about}]` : `[file ${shortened(name)}: ${place}${about}]`;
}

function typeAndSize(mediaType: string, bytes: number): string {
  return `${shortened(mediaType)}, ${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
}

function shortened(text: string): string {
  return beginning(text, MAX_MENTION_LENGTH);
}

/** Addresses are longer only where they hold something else than a place. */
const MAX_MENTION_LENGTH = 2_000;
