/** Requests of Node's as those of the platform, and their bodies. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { keepAddress } from "./client-address.ts";

/**
 * Puts the target of a request where its readers look for it: an absolute one is a path, and a host in place of that of the header.
 *
 * @returns false for a request with several hosts, which could be taken for one of another server
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function settleTarget(incoming: IncomingMessage): boolean {
  const { url = "/", headers, rawHeaders } = incoming;
  if (!url.startsWith("/")) {
    const absolute = /^https?:\/\/([^/?#]*)(.*)$/iu.exec(url);
    if (absolute !== null) headers.host = absolute[1];
    incoming.url = absolute === null ? "/" : (absolute[2] ?? "").replace(/^(?!\/)/u, "/");
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === "host".length && name.toLowerCase() === "host") hosts++;
  }
  return hosts <= 1;
}

/** The target of a request is a path: the server's own name is not asked for. */
export function targetOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  return `http://server.invalid${url.startsWith("/") ? url : "/"}`;
}

/** The whole body; undefined when the client has gone before its end. */
export function bytesOf(incoming: IncomingMessage): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    if (incoming.destroyed) return resolve(undefined); // it says so no more
    const chunks: Uint8Array[] = [];
    incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    incoming.once("end", () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    incoming.once("close", () => resolve(undefined));
  });
}

const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** @param text the body, where it has been read */
export function requestOf(incoming: IncomingMessage, signal: AbortSignal, text: string | undefined): Request {
  return keepAddress(platformRequest(incoming, signal, text), incoming.socket.remoteAddress);
}

function platformRequest(incoming: IncomingMessage, signal: AbortSignal, text: string | undefined): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, typeof value === "string" ? value : value.join(", "));
  }
  const { method = "GET" } = incoming;
  const target = targetOf(incoming);
  if (!WITH_BODY.has(method)) return new Request(target, { method: method === "TRACE" ? "OPTIONS" : method, headers, signal });
  if (text !== undefined) return new Request(target, { method, headers, signal, body: text });
  const isSmall = Number(headers.get("content-length") ?? Infinity) <= MAX_SMALL_BODY;
  // Node's streams are those of the standard; their types say it in other words.
  const body = isSmall ? smallBody(incoming) : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Request(target, { method, headers, signal, body, duplex: "half" });
}

/** In bytes. */
const MAX_SMALL_BODY = 65_536;

/** In one piece, once it is wanted: an adapter of streams costs more than the body. */
function smallBody(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await bytesOf(incoming);
        if (bytes === undefined) return controller.error(new Error("The client has gone."));
        if (bytes.length > 0) controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
