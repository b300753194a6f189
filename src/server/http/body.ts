/** Reads the body of a request, up to a maximum length. */
import { ToolError } from "../../core/error.ts";
import { ChunkBuffer } from "../../core/formats/chunk-buffer.ts";

/**
 * Limits for the JSON of clients. The message around an input may have a few levels more than the input itself. A key of an object with more than
 * 1,000 keys costs many times as much as a key of a small one: 100,000 of them would block the event loop for a third of a second.
 */
export const CLIENT_JSON = { maxDepth: 80, maxWideKeys: 20_000 } as const;

/**
 * Returns the body as text; undefined if it is longer than `maxBytes`, and then stops reading.
 * @throws ToolError `cancelled` if the client disconnects first; HttpError 408 if it is too slow; as a rejection
 */
export async function readBody({ headers, body }: Request, maxBytes: number): Promise<string | undefined> {
  const declared = headers.get("content-length");
  if (declared !== null && !(Number(declared) <= maxBytes)) return undefined;
  if (body === null) return "";
  const pieces = new ChunkBuffer();
  let length = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw cause instanceof ToolError ? cause : clientGoneError(cause); // a body fails for no other reason
    });
    if (done) return new TextDecoder("utf-8").decode(pieces.concat());
    length += value.byteLength;
    if (length > maxBytes) return undefined;
    pieces.add(value);
  }
}

/** The error of a request whose client disconnected. */
export function clientGoneError(cause?: unknown): ToolError {
  return new ToolError("cancelled", "The client has disconnected.", { outcome: "not_started", cause });
}
