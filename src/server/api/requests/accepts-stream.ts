/** Whether a client asks for an event stream, and whether a response is one. */
import type { RequestHead } from "../../http/request-head.ts";

export function acceptsStream({ headers }: Pick<RequestHead, "headers">): boolean {
  return (headers.get("accept") ?? "").toLowerCase().includes("text/event-stream");
}

export function isEventStream({ headers }: Pick<Response, "headers">): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}
