/** Makes the head of a request: refuses headers that a caller may not set, and adds those that every request has. */
import { pushAll } from "../core/collections/push-all.ts";
import { ToolError } from "../core/error.ts";
import { firstChars } from "../core/base/truncate-text.ts";
import { ACCEPTED_ENCODINGS } from "./decode-body.ts";
import type { HttpHeader, HttpRequest } from "./http-request.ts";

const MAX_VALUE_BYTES = 16 * 1024;
/** A token (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/u;
/** A field value (RFC 9110 §5.5): no control character except tab. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/u;
/** Methods whose requests always have a content-length, even without a body (RFC 9110 §8.6). */
const METHODS_WITH_LENGTH: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Headers that frame the message or control the connection: only the client may set them. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** @throws ToolError `invalid_argument` for a method or header that cannot be sent; the message never contains a header value */
export function checkRequestHead({ method, headers }: HttpRequest): void {
  if (!TOKEN.test(method) || method.toUpperCase() === "CONNECT") {
    throw new ToolError("invalid_argument", `${quote(method)} is not a method that can be sent.`, {
      hint: "Use a method such as GET, POST, PUT, PATCH or DELETE.",
    });
  }
  for (const [name, value] of headers) checkHeader(name, value);
}

/** Whether a caller may set this header. */
export function isSendableHeader(name: string, value: string): boolean {
  try {
    checkHeader(name, value);
    return true;
  } catch {
    return false;
  }
}

function checkHeader(name: string, value: string): void {
  if (!TOKEN.test(name)) throw invalidHeaderError(`The header name ${quote(name)} has characters that a header name cannot have.`);
  if (CONNECTION_HEADERS.has(name.toLowerCase()))
    throw invalidHeaderError(`The header ${name} is set by the client itself and cannot be overridden.`);
  if (value.length > MAX_VALUE_BYTES)
    throw invalidHeaderError(`The value of the header ${name} has ${value.length} characters; ${MAX_VALUE_BYTES} is the limit.`);
  if (VALUE.test(value)) return;
  const isControl = /[\x00-\x08\x0a-\x1f\x7f]/u.test(value);
  throw invalidHeaderError(
    `The value of the header ${name} has ${isControl ? "a line break or another control character" : "characters outside of Latin-1"}, which a header cannot carry.`,
    isControl ? undefined : "Encode it, for example with percent-encoding, as the server expects it.",
  );
}

/** Returns all headers, in the order in which they are sent. */
export function buildHeaders(
  url: URL,
  method: string,
  options: { readonly headers: readonly HttpHeader[]; readonly body: Uint8Array | undefined },
): HttpHeader[] {
  const { headers, body } = options;
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const written: HttpHeader[] = [["host", url.host]];
  for (const [name, value] of DEFAULT_HEADERS) if (!given.has(name)) written.push([name, value]);
  pushAll(written, headers);
  if (body !== undefined || METHODS_WITH_LENGTH.has(method)) written.push(["content-length", String(body?.byteLength ?? 0)]);
  return written;
}

/** Groups headers by name. An object, since instrumentations of `node:http` add headers to a copy of it, and would lose those of an array. */
export function groupHeaders(headers: readonly HttpHeader[]): Record<string, string | string[]> {
  const values = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of headers) {
    const known = values.get(name.toLowerCase());
    if (known === undefined) values.set(name.toLowerCase(), { name, values: [value] });
    else known.values.push(value);
  }
  return Object.fromEntries(
    [...values.values()].map((field) => [field.name, field.values.length === 1 ? (field.values[0] ?? "") : field.values]),
  );
}

const DEFAULT_HEADERS: readonly HttpHeader[] = [
  ["accept", "*/*"],
  ["accept-encoding", ACCEPTED_ENCODINGS],
  ["user-agent", "haft"],
];

function quote(text: string): string {
  return JSON.stringify(firstChars(text, 80));
}

function invalidHeaderError(message: string, hint?: string): ToolError {
  return new ToolError("invalid_argument", message, hint === undefined ? {} : { hint });
}
