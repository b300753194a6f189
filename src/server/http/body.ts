/** Reads a request's body, no further than it may be long. */
import { ToolError } from "../../core/error.ts";
import { Pieces } from "../../net/pieces.ts";

/**
 * How the JSON of clients is read. The message around an input may take a few levels more than the input itself. An object with more than 1,000
 * keys costs many times as much for each as a small one: 100,000 of them would keep the event loop for a third of a second.
 */
export const CLIENT_JSON = { maxDepth: 80, maxWideKeys: 20_000 } as const;

/** Its text; undefined when it is longer. Bytes beyond the limit are not read. @throws ToolError `cancelled` when the client goes before its end; HttpError 408 when it is too slow. By rejecting */
export async function readBody({ headers, body }: Request, maxBytes: number): Promise<string | undefined> {
  const declared = headers.get("content-length");
  if (declared !== null && !(Number(declared) <= maxBytes)) return undefined;
  if (body === null) return "";
  const pieces = new Pieces();
  let length = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw cause instanceof ToolError ? cause : clientGone(cause); // a body breaks off for no other reason
    });
    if (done) return new TextDecoder("utf-8").decode(pieces.whole());
    length += value.byteLength;
    if (length > maxBytes) return undefined;
    pieces.add(value);
  }
}

/** Why a request is not answered whose client did not wait. */
export function clientGone(cause?: unknown): ToolError {
  return new ToolError("cancelled", "The client has gone.", { outcome: "not_started", cause });
}
