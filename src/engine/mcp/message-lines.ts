/** Reads what a server sends as texts, one JSON-RPC message each, within limits: a text that is none costs the request that it answers, at most. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { endOfString, parseExactly } from "../../core/base/exact-json.ts";
import { LONG_INTEGER, keepDigits } from "../../core/base/parse-json.ts";
import { MAX_MESSAGE_BYTES, EDGE_LENGTH } from "../../processes/line-reader.ts";
import { errorInstead, shallowList, answeredId } from "./oversize-answer.ts";
import { INVALID_REQUEST, PARSE_ERROR, UNREADABLE_ANSWER } from "./rpc-codes.ts";

export interface LineEvents {
  /** Nothing is read any more once the server was given up. */
  isOpen(): boolean;
  message(message: JSONRPCMessage): void;
  problem(error: Error): void;
  /** A text that is no message. */
  stray(line: string): void;
  /** Sends a refusal to the server. */
  send(refusal: JSONRPCMessage): Promise<void>;
  /** Ends the server, for the reason that is the end of a sentence. */
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
      if (message === undefined) this.#receiveNone(line);
      else if (isMisnumbered(message)) this.#events.problem(new Error(`dropped an answer to a request never sent: ${line.slice(0, 200)}`));
      else this.#events.message(message);
    } catch (error: unknown) {
      if (error instanceof ToolError) this.#receiveCostly(line, error.message);
      else this.#events.problem(error instanceof Error ? error : new Error(describeThrown(error)));
    }
  }

  /** A line that is too long to be read, of which the beginning and the end are known. */
  oversize(edges: string): void {
    this.#refuse(edges, `it sent a line of more than ${MAX_MESSAGE_BYTES} bytes`);
  }

  /** Ends the request that a line answers; ends the server where the line answers none that can be named. */
  #refuse(line: string, problem: string): void {
    if (!this.#events.isOpen()) return;
    const error = errorInstead(line, problem);
    if (error === undefined) this.#events.giveUp(problem);
    else this.#events.message(error);
  }

  #receiveBatch(line: string): void {
    const batch = parseBatch(line);
    if (batch.length === 0) this.#events.stray(line);
    for (const each of batch) this.receive(each);
  }

  /** A line that is no message ends the request that it answers, is refused where it was meant as a request, and else is a stray print. */
  #receiveNone(line: string): void {
    const told = unreadable(line);
    if (told === undefined) this.#events.stray(line);
    else if ("ended" in told) this.#events.message(told.ended);
    else this.#refuseRequest(told.refusal, line);
  }

  /** A server that takes no answers gets no more of them. */
  #refuseRequest(refusal: JSONRPCMessage, line: string): void {
    if (this.#refusals >= MAX_REFUSALS) return this.#events.stray(line);
    this.#refusals++;
    const wentOut = (): void => void this.#refusals--;
    this.#events.send(refusal).then(wentOut, wentOut);
  }

  /** A tool whose schema nests too deep does not cost the others: the list is read without what is too deep. */
  #receiveCostly(line: string, problem: string): void {
    const list = problem.includes("nests deeper") ? shallowList(line) : undefined;
    if (list === undefined) this.#refuse(line, problem);
    else this.#events.message(list);
  }
}

const PROBE_ID = "server-discover-probe";

/** The SDK numbers its requests, but for its version probe, and would take an answer to "1" for one to 1. */
function isMisnumbered(message: JSONRPCMessage): boolean {
  return !("method" in message) && typeof message.id === "string" && !message.id.startsWith(PROBE_ID);
}

/** So many refusals of lines may be on their way to a server. */
const MAX_REFUSALS = 100;
const MAX_DEPTH = 256;
const MAX_VALUES = 500_000;

/**
 * The message in a line, or undefined when the line is none (a banner, a stray print, a torn message).
 *
 * Of repeated keys the last one counts, and an integer that would lose digits comes as a string of them:
 * refusing a whole answer for one would leave its call without any.
 *
 * @throws ToolError `too_large` for a line that nests too deep or holds too many values
 */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith("{")) return undefined;
  checkCost(line);
  let message: unknown;
  try {
    message = parseExactly(line, LONG_INTEGER.test(line) ? keepDigits : undefined);
  } catch {
    return undefined;
  }
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0" || (isRequest(message) && !isSoundRequest(message, line))) return undefined;
  return message as unknown as JSONRPCMessage; // the SDK checks every field that it uses
}

/**
 * The messages in a line that is a batch, as a line each; none where it is another array. Of the revision 2025-03-26 only.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 * @throws as `parseMessage`
 */
function parseBatch(line: string): readonly string[] {
  checkCost(line);
  let batch: unknown;
  try {
    batch = parseExactly(line, LONG_INTEGER.test(line) ? keepDigits : undefined);
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
      case 0x22: // a string: on to its closing quote
        at = endOfString(line, at + 1);
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

const MEANT = /^\{\s*"(?:jsonrpc|id|method|result|error)"\s*:/u;

/**
 * Undefined for what is not meant as a message, such as a log that is written as JSON: a server that prints what it is sent would be
 * answered for ever.
 *
 * @see https://www.jsonrpc.org/specification#error_object
 */
function unreadable(line: string): Unreadable | undefined {
  let read: unknown;
  try {
    read = parseExactly(line);
  } catch {
    if (!MEANT.test(line)) return undefined;
    const id = answeredId(line.slice(0, EDGE_LENGTH), line.slice(-EDGE_LENGTH));
    if (id === undefined)
      return { refusal: asMessage({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message: "The line is not JSON." } }) };
    return { ended: { jsonrpc: "2.0", id, error: { code: UNREADABLE_ANSWER, message: "its answer is not JSON" } } };
  }
  if (!isJsonObject(read) || !isRequest(read)) return undefined;
  const { id } = read;
  const error = { code: INVALID_REQUEST, message: "The request is malformed." };
  return { refusal: asMessage({ jsonrpc: "2.0", id: isId(id) ? id : null, error }) };
}

/** Whether it was meant as a request. */
function isRequest(message: JsonObject): boolean {
  return message["method"] !== undefined && Object.hasOwn(message, "id");
}

/** @param line the text it was read from, in which its id may be a number that cannot be kept */
function isSoundRequest({ id, method, params }: JsonObject, line: string): boolean {
  if (!isId(id) || typeof method !== "string" || ((params ?? undefined) !== undefined && !isJsonObject(params))) return false;
  if (typeof id === "number" || !/^-?\d+$/u.test(id) || !LONG_INTEGER.test(id)) return true;
  const plain = parseExactly(line);
  return isJsonObject(plain) && plain["id"] === id;
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/** The SDK's type knows no null for an id. */
function asMessage(message: JsonObject): JSONRPCMessage {
  return message as unknown as JSONRPCMessage;
}
