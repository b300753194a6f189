/** Whether a client asks for an event stream. */
import type { RequestHead } from "../../http/request-head.ts";

export function acceptsStream({ headers }: Pick<RequestHead, "headers">): boolean {
  return (headers.get("accept") ?? "").toLowerCase().includes("text/event-stream");
}
