/** Reads a server's texts, one JSON-RPC message each, within limits. A text that is not a message fails at most the request that it answers. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { findStringEnd, parseExactly } from "../../core/base/parse-exactly.ts";
import { LONG_INTEGER, LONG_NUMBER, stringifyLongNumber } from "../../core/base/parse-json.ts";
import { MAX_MESSAGE_BYTES, EDGE_LENGTH } from "../../processes/line-reader.ts";
import { oversizeError, withoutDeepTools, findAnsweredId } from "./oversize-answer.ts";
import { INVALID_REQUEST, PARSE_ERROR, UNREADABLE_ANSWER } from "./rpc-codes.ts";

export interface LineEvents {
  /** False once the server was given up: nothing is read any more. */
  isOpen(): boolean;
  onMessage(message: JSONRPCMessage): void;
  onProblem(error: Error): void;
  /** Called with a text that is not a message. */
  onStrayLine(line: string): void;
  /** Sends a refusal to the server. */
  send(refusal: JSONRPCMessage): Promise<void>;
  /** Ends the server. The reason is the end of a sentence. */
  giveUp(reason: string): void;
}

export class MessageLines {
  readonly #events: LineEvents;
  #refusals = 0;

  constructor(events: LineEvents) {
    this.#events = events;
  }

  receive(line: string): void {
    if (!this.#events.isOpen()) return;
    try {
      if (line.startsWith("[")) return this.#receiveBatch(line);
      const message = parseMessage(line);
      if (message === undefined) this.#receiveUnreadable(line);
      else if (answersUnsentRequest(message))
        this.#events.onProblem(new Error(`dropped an answer to a request never sent: ${line.slice(0, 200)}`));
      else this.#events.onMessage(message);
    } catch (error: unknown) {
      if (error instanceof ToolError) this.#receiveOverLimit(line, error.message);
      else this.#events.onProblem(error instanceof Error ? error : new Error(describeThrown(error)));
    }
  }

  /** Handles a line that is too long to be read. `edges` has its beginning and its end. */
  receiveOversize(edges: string): void {
    this.#refuse(edges, `it sent a line of more than ${MAX_MESSAGE_BYTES} bytes`);
  }

  /** Fails the request that a line answers; ends the server if the line does not identify one. */
  #refuse(line: string, problem: string): void {
    if (!this.#events.isOpen()) return;
    const error = oversizeError(line, problem);
    if (error === undefined) this.#events.giveUp(problem);
    else this.#events.onMessage(error);
  }

  #receiveBatch(line: string): void {
    const batch = parseBatch(line);
    if (batch.length === 0) this.#events.onStrayLine(line);
    for (const each of batch) this.receive(each);
  }

  /** Handles a line that is not a message: fails the request that it answers, refuses it if it looks like a request, else reports it as stray. */
  #receiveUnreadable(line: string): void {
    const unreadable = classifyUnreadable(line);
    if (unreadable === undefined) this.#events.onStrayLine(line);
    else if ("ended" in unreadable) this.#events.onMessage(unreadable.ended);
    else this.#refuseRequest(unreadable.refusal, line);
  }

  /** Sends a refusal, unless too many are pending already, as when the server does not read them. */
  #refuseRequest(refusal: JSONRPCMessage, line: string): void {
    if (this.#refusals >= MAX_REFUSALS) return this.#events.onStrayLine(line);
    this.#refusals++;
    const onSent = (): void => void this.#refusals--;
    this.#events.send(refusal).then(onSent, onSent);
  }

  /** Handles a line over a limit. If one tool of a list nests too deep, the list is read without that tool's schema. */
  #receiveOverLimit(line: string, problem: string): void {
    const list = problem.includes("nests deeper") ? withoutDeepTools(line) : undefined;
    if (list === undefined) this.#refuse(line, problem);
    else this.#events.onMessage(list);
  }
}

const PROBE_ID = "server-discover-probe";

/** Whether it answers a request that was never sent: the SDK's ids are numbers, except for its version probe, and it would match "1" with 1. */
function answersUnsentRequest(message: JSONRPCMessage): boolean {
  return !("method" in message) && typeof message.id === "string" && !message.id.startsWith(PROBE_ID);
}

/** Maximum number of refusals that are being sent to a server. */
const MAX_REFUSALS = 100;
const MAX_DEPTH = 256;
const MAX_VALUES = 500_000;

/**
 * The message in a line, or undefined if the line is not a message (a banner, other output, a torn message).
 *
 * The last of repeated keys is used, and an integer that would lose digits becomes a string: refusing a whole answer for one would leave its call
 * without a result.
 *
 * @throws ToolError `too_large` for a line that nests too deep or has too many values
 */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith("{")) return undefined;
  checkCost(line);
  let message: unknown;
  try {
    message = parseExactly(line, LONG_NUMBER.test(line) ? stringifyLongNumber : undefined);
  } catch {
    return undefined;
  }
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0" || (isRequest(message) && !isValidRequest(message, line))) return undefined;
  return message as unknown as JSONRPCMessage; // the SDK checks every field that it uses
}

/**
 * The messages in a line that is a batch, as one line each; [] for any other array. Only in the revision 2025-03-26.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 * @throws as `parseMessage`
 */
function parseBatch(line: string): readonly string[] {
  checkCost(line);
  let batch: unknown;
  try {
    batch = parseExactly(line, LONG_NUMBER.test(line) ? stringifyLongNumber : undefined);
  } catch {
    return [];
  }
  if (!Array.isArray(batch) || !batch.every((each) => isJsonObject(each) && each["jsonrpc"] === "2.0")) return [];
  return batch.map((each) => JSON.stringify(each));
}

function checkCost(line: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < line.length; at++) {
    switch (line.charCodeAt(at)) {
      case 0x22: // a string: skips to its closing quote
        at = findStringEnd(line, at + 1);
        break;
      case 0x2c:
        values++;
        break;
      case 0x5b:
      case 0x7b:
        values++;
        if (++depth > MAX_DEPTH) throw new ToolError("too_large", `it sent a message that nests deeper than ${MAX_DEPTH} levels`);
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
  if (values > MAX_VALUES) throw new ToolError("too_large", `it sent a message of more than ${MAX_VALUES} values`);
}

/** The error that ends the request which a line answers, or the refusal of a request of the server. */
type Unreadable = { readonly ended: JSONRPCMessage } | { readonly refusal: JSONRPCMessage };

const MESSAGE_LIKE = /^\{\s*"(?:jsonrpc|id|method|result|error)"\s*:/u;

/**
 * Undefined for a line that is not meant as a message, such as a log line in JSON: otherwise a server that prints its input would be answered for
 * ever.
 *
 * @see https://www.jsonrpc.org/specification#error_object
 */
function classifyUnreadable(line: string): Unreadable | undefined {
  let read: unknown;
  try {
    read = parseExactly(line);
  } catch {
    if (!MESSAGE_LIKE.test(line)) return undefined;
    const id = findAnsweredId(line.slice(0, EDGE_LENGTH), line.slice(-EDGE_LENGTH));
    if (id === undefined)
      return { refusal: asMessage({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message: "The line is not JSON." } }) };
    return { ended: { jsonrpc: "2.0", id, error: { code: UNREADABLE_ANSWER, message: "its answer is not JSON" } } };
  }
  if (!isJsonObject(read) || !isRequest(read)) return undefined;
  const { id } = read;
  const error = { code: INVALID_REQUEST, message: "The request is malformed." };
  return { refusal: asMessage({ jsonrpc: "2.0", id: isId(id) ? id : null, error }) };
}

/** Whether it has the form of a request. */
function isRequest(message: JsonObject): boolean {
  return message["method"] !== undefined && Object.hasOwn(message, "id");
}

/** @param line the text of the message, in which its id may be a number with too many digits */
function isValidRequest({ id, method, params }: JsonObject, line: string): boolean {
  if (!isId(id) || typeof method !== "string" || ((params ?? undefined) !== undefined && !isJsonObject(params))) return false;
  if (typeof id === "number" || !/^-?\d+$/u.test(id) || !LONG_INTEGER.test(id)) return true;
  const plain = parseExactly(line);
  return isJsonObject(plain) && plain["id"] === id;
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/** Casts a message whose id may be null, which the SDK's type does not allow. */
function asMessage(message: JsonObject): JSONRPCMessage {
  return message as unknown as JSONRPCMessage;
}
