/** Refuses options and inputs that no request can be made of, so that such a mistake does not look like a server that does not answer. */
import type { Route } from "../server/api/requests/route.ts";
import { ApiError } from "./api-error.ts";

/** Characters that a header can have, tabs aside. */
const HEADER_TEXT = /^[\x20-\x7e\x80-\xff]*$/u;
/** The server's rule for keys. */
const KEY = /^[\x20-\x7e]{1,255}$/u;

interface CheckedOptions {
  readonly url?: unknown;
  readonly token?: unknown;
  readonly fetch?: unknown;
  readonly maxAttempts?: unknown;
  readonly retryDelayMs?: unknown;
}

/** Checks the options of a client, and returns the address of the server. No message contains a token or the credentials of an address. @throws TypeError */
export function checkClientOptions(options: CheckedOptions | undefined): URL {
  const url = parseServerUrl(options?.url);
  const { token, fetch, maxAttempts = 1, retryDelayMs = 0 } = options ?? {};
  if (token !== undefined && typeof token !== "string" && typeof token !== "function")
    throw new TypeError(`createClient({ token }) takes a string or a function, not a value of type ${typeof token}.`);
  if (fetch !== undefined && typeof fetch !== "function")
    throw new TypeError(`createClient({ fetch }) takes a function, not ${kindOf(fetch)}.`);
  if (!Number.isSafeInteger(maxAttempts) || Number(maxAttempts) < 1)
    throw new TypeError(`createClient({ maxAttempts }) takes an integer of 1 or more, not ${kindOf(maxAttempts)}.`);
  if (!Number.isFinite(retryDelayMs) || Number(retryDelayMs) < 0)
    throw new TypeError(`createClient({ retryDelayMs }) takes a number of 0 or more, not ${kindOf(retryDelayMs)}.`);
  return url;
}

function parseServerUrl(given: unknown): URL {
  if ((typeof given !== "string" && !(given instanceof URL)) || !URL.canParse(String(given))) {
    const shown = typeof given === "string" ? JSON.stringify(given.replace(/\/\/[^/]*@/u, "//…@")) : `of type ${typeof given}`;
    throw new TypeError(`createClient({ url }) takes the address of a server, such as "http://127.0.0.1:3000"; this is ${shown}.`);
  }
  const url = new URL(given);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new TypeError(`createClient({ url }) takes an address that begins with http: or https:, not with ${url.protocol}.`);
  if (url.username !== "" || url.password !== "")
    throw new TypeError("createClient({ url }) takes an address without a user name and a password. Pass the key of the server as token.");
  if (url.search !== "" || url.hash !== "")
    throw new TypeError("createClient({ url }) takes an address without a query and without a fragment.");
  return url;
}

/** Checks the signal of a request or a stream. @throws ApiError */
export function checkSignal(signal: unknown, owner: string): void {
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new ApiError(`The signal of ${owner} must be an AbortSignal, not ${kindOf(signal)}.`, { status: 0 });
}

/** Returns the header of a token. @throws ApiError, without the token, if a header cannot have it */
export function toAuthorization(token: unknown): string | undefined {
  if (token === undefined) return undefined;
  if (typeof token !== "string")
    throw new ApiError(`The token of the client must be a string, not a value of type ${typeof token}.`, { status: 0 });
  if (HEADER_TEXT.test(token.trim())) return `Bearer ${token}`;
  throw new ApiError("The token of the client has characters that a header cannot have, such as a line break.", { status: 0 });
}

/** Checks the parts of an input that every operation has. @throws ApiError */
export function checkInput(
  id: string,
  route: Route,
  input: {
    readonly params?: unknown;
    readonly query?: unknown;
    readonly body?: unknown;
    readonly text?: unknown;
    readonly idempotencyKey?: unknown;
    readonly signal?: unknown;
  },
): void {
  const refuse = (what: string): never => {
    throw new ApiError(`The input of ${id} cannot be sent: ${what}.`, { status: 0 });
  };
  const { params = {}, query = {}, body, text, idempotencyKey = "-", signal } = input;
  if (typeof params !== "object" || params === null) refuse(`params must be an object, not ${kindOf(params)}`);
  if (typeof query !== "object" || query === null) refuse(`query must be an object, not ${kindOf(query)}`);
  if (text !== undefined && typeof text !== "string") refuse(`text must be a string, not ${kindOf(text)}`);
  if (route.method === "GET" && (body !== undefined || text !== undefined)) refuse("the operation takes no body");
  if (typeof idempotencyKey !== "string" || !KEY.test(idempotencyKey))
    refuse("idempotencyKey must be a string of 1 to 255 printable ASCII characters");
  checkSignal(signal, id);
}

/** Returns the JSON text of a body; undefined if there is none. @throws ApiError if it is not JSON, such as a function, a BigInt or a cycle */
export function toJsonBody(body: unknown): string | undefined {
  if (body === undefined) return undefined;
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (cause: unknown) {
    const why = cause instanceof Error ? (cause.message.split("\n", 1)[0] ?? "") : String(cause);
    throw new ApiError(`The body of the request cannot be sent as JSON: ${why}`, { status: 0, cause });
  }
  if (text === undefined) throw new ApiError(`The body of the request cannot be sent as JSON: it is ${kindOf(body)}.`, { status: 0 });
  return text;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" ? String(value) : `a value of type ${typeof value}`;
}
