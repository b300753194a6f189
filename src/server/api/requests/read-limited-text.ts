/** Reads a body as text, chunk by chunk, up to a maximum size. */
import { ToolError } from "../../../core/error.ts";

/** @throws ToolError `too_large` while the body is read */
export async function* readLimitedText({ body }: Request, maxBytes: number): AsyncGenerator<string, void, undefined> {
  if (body === null) return;
  const decoder = new TextDecoder("utf-8");
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new ToolError("too_large", `The body is larger than ${maxBytes} bytes.`);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}
