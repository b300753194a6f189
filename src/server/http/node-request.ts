/** Converts Node's requests to the platform's `Request`, and reads their bodies. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { quoteValue } from "../../core/base/wording.ts";
import type { Clock } from "../../core/ports.ts";
import { ChunkBuffer } from "../../core/formats/chunk-buffer.ts";
import { BodyTimeout } from "./body-timeout.ts";
import { storeAddress } from "./client-address.ts";
import { HttpError } from "./http-error.ts";

/**
 * Normalizes the target of a request: an absolute one is replaced by its path, and its host replaces that of the header.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function normalizeTarget(incoming: IncomingMessage): void {
  const { url = "/", headers } = incoming;
  if (url.startsWith("/")) return;
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/iu.exec(url);
  if (absolute !== null) headers.host = absolute[1];
  incoming.url = absolute === null ? "/" : (absolute[2] ?? "").replace(/^(?!\/)/u, "/");
}

/**
 * The name of a header that the request repeats although it decides where the request goes, who sends it or how its body is read: Node uses the
 * first, and a proxy in front may have used another. undefined if none is repeated.
 */
function findRepeatedHeader({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): "Host" | "Authorization" | "Content-Type" | undefined {
  let hosts = 0;
  let authorizations = 0;
  let types = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === "host".length && name.toLowerCase() === "host") hosts++;
    else if (name?.length === "authorization".length && name.toLowerCase() === "authorization") authorizations++;
    else if (name?.length === "content-type".length && name.toLowerCase() === "content-type") types++;
  }
  return hosts > 1 ? "Host" : authorizations > 1 ? "Authorization" : types > 1 ? "Content-Type" : undefined;
}

/**
 * Refuses a request that a proxy in front may have parsed differently, or ended at another byte.
 *
 * @throws HttpError 400 for a missing host, a repeated header and for chunks in HTTP/1.0, 417 for an unknown expectation, 501 for transfer codings
 *   other than chunked
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-6.1
 */
export function refuseAmbiguous(incoming: Pick<IncomingMessage, "headers" | "rawHeaders" | "httpVersion">): void {
  const repeated = findRepeatedHeader(incoming);
  if (repeated !== undefined)
    throw new HttpError(400, "invalid_argument", `The request has several ${repeated} headers.`, { hint: `Send one ${repeated} header.` });
  if (incoming.httpVersion !== "1.0") refuseByHead(incoming);
  const coding = incoming.headers["transfer-encoding"];
  if (coding === undefined) return;
  const hint = "Send a Content-Length, or Transfer-Encoding: chunked in HTTP/1.1.";
  if (incoming.httpVersion === "1.0")
    throw new HttpError(400, "invalid_argument", "A request in HTTP/1.0 cannot have a Transfer-Encoding.", { hint });
  if (coding.toLowerCase() !== "chunked")
    throw new HttpError(501, "invalid_argument", `The Transfer-Encoding ${quoteValue(coding)} is not supported.`, { hint });
}

/** Refuses a request that lacks a host or has an unknown expectation. @see https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1 */
function refuseByHead({ headers: { host, expect } }: Pick<IncomingMessage, "headers">): void {
  if (host === undefined)
    throw new HttpError(400, "invalid_argument", "The request has no Host header.", { hint: "Send one Host header." });
  if (expect !== undefined && !CONTINUE.test(expect))
    throw new HttpError(417, "invalid_argument", `The expectation ${quoteValue(expect)} is not supported.`, { hint: "Leave out Expect." });
}

/** Matches the expectations for which Node itself sends the status 100. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/iu;

/** The URL of a request. Its host is a placeholder, since only the path is used. */
export function targetOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  return `http://server.invalid${url.startsWith("/") ? url : "/"}`;
}

/** Reads the whole body; undefined if the client disconnects first. @throws HttpError 408 if the client is too slow, as a rejection */
export function readBytes(incoming: IncomingMessage, clock: Clock): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    if (incoming.destroyed) return resolve(undefined); // no more events would come
    const pieces = new ChunkBuffer();
    const pace = new BodyTimeout(clock);
    const end = (bytes: Uint8Array | undefined): void => {
      pace.stop();
      resolve(bytes);
    };
    pace.start(reject);
    incoming.on("data", (chunk: Uint8Array) => {
      pieces.add(chunk);
      pace.recordBytes(chunk.byteLength);
    });
    incoming.once("end", () => end(pieces.concat()));
    incoming.once("close", () => end(undefined));
  });
}

const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

export interface ToRequestOptions {
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The body as text, if it has been read. */
  readonly text?: string | undefined;
}

export function toRequest(incoming: IncomingMessage, options: ToRequestOptions): Request {
  return storeAddress(platformRequest(incoming, options), incoming.socket.remoteAddress);
}

function platformRequest(incoming: IncomingMessage, { signal, clock, text }: ToRequestOptions): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, typeof value === "string" ? value : value.join(", "));
  }
  const { method = "GET" } = incoming;
  const target = targetOf(incoming);
  if (!WITH_BODY.has(method)) return new Request(target, { method, headers, signal });
  if (text !== undefined) return new Request(target, { method, headers, signal, body: text });
  const isSmall = Number(headers.get("content-length") ?? Infinity) <= MAX_SMALL_BODY;
  const body = isSmall ? smallBody(incoming, clock) : largeBody(incoming, clock);
  return new Request(target, { method, headers, signal, body, duplex: "half" });
}

/** Maximum size of a body that is read in one chunk, in bytes. */
const MAX_SMALL_BODY = 65_536;

/** The body in one chunk, read when it is first pulled: adapting a stream would cost more than the body. */
function smallBody(incoming: IncomingMessage, clock: Clock): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await readBytes(incoming, clock);
        if (bytes === undefined) return controller.error(new Error("The client has disconnected."));
        if (bytes.length > 0) controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The body as a stream. Its connection stays open if the reader stops, because the response must still be sent. */
function largeBody(incoming: IncomingMessage, clock: Clock): ReadableStream<Uint8Array> {
  // Node's web streams are the standard ones; only their types differ.
  const reader = (Readable.toWeb(incoming) as ReadableStream<Uint8Array>).getReader();
  const pace = new BodyTimeout(clock);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { promise: late, reject } = Promise.withResolvers<never>();
        pace.start(reject);
        try {
          const { done, value } = await Promise.race([reader.read(), late]);
          if (done) return controller.close();
          pace.recordBytes(value.byteLength);
          controller.enqueue(value);
        } finally {
          pace.stop();
        }
      },
    },
    { highWaterMark: 0 },
  );
}
