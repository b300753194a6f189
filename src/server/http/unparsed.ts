/** Answers requests that Node's parser refuses, and CONNECT, which it does not pass on as a request. */
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { errorInfo } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { http } from "../../net/node-http.ts";
import { HttpError } from "./http-error.ts";
import type { OpenResponses } from "./open-responses.ts";
import { problemResponse, toProblem } from "./problem.ts";
import { plainHeaders } from "./security-headers.ts";

export function answerUnparsed(server: Server, { open, clock }: { readonly open: OpenResponses; readonly clock: Clock }): void {
  const refuse = (socket: Duplex, error: HttpError): void => {
    const text = open.isAnswering(socket) ? "" : responseText(error, clock);
    socket.end(text, () => socket.destroy()); // sends what was written before
  };
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else refuse(socket, refusalOf(error));
  });
  // Node stops watching the connection: no timeout and no `close` of the server ends it, and requests that it still answers are not aborted
  server.on("connect", (_request, socket) => {
    socket.on("error", () => {});
    if (!open.isIdle(socket)) return open.destroyAll(socket);
    refuse(socket, methodNotSupported("CONNECT"));
    if (socket.writableLength > 0) socket.destroy(); // its client does not read
  });
}

/** The refusal of a method that no path supports. @see https://www.rfc-editor.org/rfc/rfc9110#section-15.6.2 */
export function methodNotSupported(method: string): HttpError {
  return new HttpError(501, "invalid_argument", `The method ${method} is not supported.`, { hint: METHODS });
}

const METHODS = "Use GET, HEAD, POST or DELETE, in capitals.";
const PROTOCOL = "This port speaks HTTP/1.1, without TLS.";

/** The refusal for an error of the parser, with the same statuses as Node's own. */
function refusalOf({ code, reason }: { readonly code?: string | undefined; readonly reason?: unknown }): HttpError {
  if (code === "HPE_INVALID_METHOD")
    return new HttpError(501, "invalid_argument", "The request begins with no known method.", { hint: `${METHODS} ${PROTOCOL}` });
  if (code === "HPE_HEADER_OVERFLOW") return new HttpError(431, "too_large", "The headers of the request are too large.");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return new HttpError(413, "too_large", "The chunk extensions of the request are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new HttpError(408, "timeout", "The request arrived too slowly.", { outcome: "not_started" });
  const why = typeof reason === "string" && reason !== "" ? `: ${reason}` : "";
  return new HttpError(400, "invalid_argument", `The request cannot be parsed${why}.`, { hint: PROTOCOL });
}

/** A whole response, after which the connection is closed. */
function responseText(error: HttpError, clock: Clock): string {
  const { status, headers, text, bytes } = problemResponse(toProblem(errorInfo(error), { status: error.status }));
  const date = new Date(clock.wallTime()).toUTCString();
  const head = Object.entries({ ...plainHeaders({}), ...headers, date, "content-length": bytes, connection: "close" });
  const lines = head.map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ""}`, ...lines, "", text].join("\r\n");
}
