/** A real HTTP server that keeps what came on the wire, and answers as a test says. */
import type * as http from "node:http";
import { httpServer } from "../../net/loopback-server.ts";

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
}

/** Status, headers and body; or a function that writes the answer itself. */
export type Reply =
  | { readonly status?: number; readonly headers?: http.OutgoingHttpHeaders; readonly body?: string | Uint8Array }
  | ((response: http.ServerResponse, request: ReceivedRequest) => void);

export interface RecordingServer {
  readonly url: string;
  readonly host: string;
  readonly received: ReceivedRequest[];
}

/** @param replies the answers in turn, the last one from then on; or a function of the request */
export async function recordingServer(replies: readonly Reply[] | ((request: ReceivedRequest) => Reply) = [{}]): Promise<RecordingServer> {
  const received: ReceivedRequest[] = [];
  const answer = async (incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const bytes = await readBody(incoming);
    const request = {
      method: incoming.method ?? "",
      url: incoming.url ?? "",
      headers: incoming.headers,
      body: bytes.toString("utf8"),
      bytes,
    };
    received.push(request);
    const reply = typeof replies === "function" ? replies(request) : (replies[received.length - 1] ?? replies.at(-1) ?? {});
    if (typeof reply === "function") return reply(response, request);
    response.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers });
    response.end(reply.body ?? (reply.status === 204 ? undefined : "{}"));
  };
  const server = await httpServer((incoming, response) => void answer(incoming, response));
  return { url: server.at("/").origin, host: server.host, received };
}

async function readBody(incoming: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
