/** Real replies of providers with the calls they hold, as far as they are at hand: `../shared/cases` or `$HAFT_CASES`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { expect } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { ModelCall, ModelEvent, ModelReply, ProviderCall } from "../../src/core/model.ts";
import { expandParallelCalls } from "../../src/wire/parallel-calls.ts";
import { toQualifiedName } from "../../src/wire/provider-name.ts";
import { frameReader } from "../../src/wire/framing/frame-reader.ts";
import { readWireJson } from "../../src/wire/framing/wire-json.ts";
import type { Framing, WireFormat } from "../../src/wire/wire-format.ts";

const FOLDER = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../shared/cases"), "recorded");

export interface RecordedRow {
  readonly file: string;
  readonly api: string;
  readonly provider: string;
  readonly streaming: boolean;
  readonly expected: string;
  /** Replies of one conversation that follow each other in the file. */
  readonly responsesInFile: number;
}

export interface ExpectedCalls {
  readonly calls: readonly Pick<ModelCall, "id" | "name" | "input">[];
  readonly providerCalls: readonly ProviderCall[];
}

/** No rows where the folder is not at hand. */
export function recordedRows(): readonly RecordedRow[] {
  return existsSync(FOLDER) ? (readJson("index.json") as unknown as readonly RecordedRow[]) : [];
}

export function expectedCalls({ expected }: RecordedRow): ExpectedCalls {
  const calls: ExpectedCalls["calls"][number][] = [];
  const providerCalls: ProviderCall[] = [];
  for (const call of readJson(expected) as readonly JsonObject[]) {
    const { id, name, kind, arguments: input = {}, providerExecuted } = call;
    const known = typeof id === "string" && id !== "" ? { id } : {};
    if (kind === "mcp_approval_request") calls.push({ ...known, name: kind, input: askedFor(input) });
    else if (providerExecuted === true) providerCalls.push({ ...known, name: String(name), kind: String(kind), input });
    else if (kind === "custom") calls.push({ ...known, name: toQualifiedName(String(name), new Map()), input: { input } });
    else calls.push(...expandParallelCalls({ ...known, name: toQualifiedName(String(name), new Map()), input }, new Map()));
  }
  return { calls, providerCalls };
}

/** What a provider asks for approval of, of which the cases have the arguments alone. */
function askedFor(input: JsonValue): unknown {
  const given = isJsonObject(input) ? input["arguments"] : undefined;
  return { server: expect.any(String), tool: expect.any(String), arguments: JSON.parse(String(given)) };
}

/** A reply as it stands in a file: one that is whole, or the pieces and the bytes of a streamed one. */
export type RecordedReply =
  | { readonly streaming: false; readonly body: JsonValue }
  | { readonly streaming: true; readonly pieces: readonly JsonValue[]; readonly bytes: Uint8Array };

export function recordedReplies(row: RecordedRow, framing: Framing): readonly RecordedReply[] {
  const bytes = readFileSync(join(FOLDER, row.file));
  if (!row.streaming) return [{ streaming: false, body: readWireJson(bytes.toString()) ?? null }];
  if (row.file.endsWith(".jsonl")) {
    const pieces = allPieces("json-lines", [bytes]);
    return splitReplies(row, pieces).map((some) => ({ streaming: true, pieces: some, bytes: frame(framing, some) }));
  }
  return [{ streaming: true, pieces: allPieces(framing, [bytes]), bytes }];
}

const BEGINNINGS: ReadonlySet<unknown> = new Set(["message_start", "response.created"]);

function splitReplies({ responsesInFile, file }: RecordedRow, pieces: readonly JsonValue[]): readonly (readonly JsonValue[])[] {
  if (responsesInFile === 1) return [pieces];
  const replies: JsonValue[][] = [];
  for (const piece of pieces) {
    if (replies.length === 0 || (isJsonObject(piece) && BEGINNINGS.has(piece["type"]))) replies.push([]);
    replies.at(-1)?.push(piece);
  }
  if (replies.length !== responsesInFile) throw new Error(`${file} has ${replies.length} replies, not ${responsesInFile}`);
  return replies;
}

/** What a reader gives for these bytes, cut as they are. */
export function allPieces(framing: Framing, chunks: Iterable<Uint8Array>): readonly JsonValue[] {
  const reader = frameReader(framing);
  const pieces: JsonValue[] = [];
  for (const chunk of chunks) pieces.push(...reader.push(chunk));
  return [...pieces, ...reader.end()];
}

/** All events of a stream and, for each of them, its reply. */
export function allEvents(format: WireFormat, pieces: readonly JsonValue[]): readonly ModelEvent[] {
  const decoder = format.decodeStream();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

export function replyOf(events: readonly ModelEvent[]): ModelReply {
  const last = events.at(-1);
  if (last?.type !== "reply-end") throw new Error("the events do not end with a reply");
  return last.reply;
}

/** The bytes that a provider would send for these pieces. */
export function frame(framing: Framing, pieces: readonly JsonValue[]): Uint8Array {
  if (framing === "event-stream") return Buffer.concat(pieces.flatMap((piece) => Object.entries(piece as JsonObject)).map(message));
  const texts = pieces.map((piece) => JSON.stringify(piece));
  return Buffer.from(texts.map((text) => (framing === "sse" ? `data: ${text}\n\n` : `${text}\n`)).join(""));
}

function message([type, payload]: [string, JsonValue]): Uint8Array {
  return eventStreamMessage(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify(payload),
  );
}

/** One message of AWS's event stream; headers that are not text are given as they stand. */
export function eventStreamMessage(headers: Readonly<Record<string, string>> | Uint8Array, payload: string): Uint8Array {
  const head = headers instanceof Uint8Array ? headers : Buffer.concat(Object.entries(headers).map(header));
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + head.length + body.length);
  prelude.writeUInt32BE(head.length, 4);
  const content = Buffer.concat([prelude, checksum(prelude), head, body]);
  return Buffer.concat([content, checksum(content)]);
}

function header([name, value]: [string, string]): Uint8Array {
  const size = Buffer.alloc(3);
  size.writeUInt8(7);
  size.writeUInt16BE(Buffer.byteLength(value), 1);
  return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), size, Buffer.from(value)]);
}

function checksum(bytes: Uint8Array): Uint8Array {
  const written = Buffer.alloc(4);
  written.writeUInt32BE(crc32(bytes));
  return written;
}

function readJson(file: string): JsonValue {
  return JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as JsonValue;
}
