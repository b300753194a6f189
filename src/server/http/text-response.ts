/** A response whose text is complete before any of it is sent. */
import { Buffer } from "node:buffer";
import { createTextResponse } from "./response-text.ts";

export class TextResponse {
  readonly status: number;
  /** By lower-case name, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for status 204. */
  readonly text: string;
  /** The length of the text in UTF-8. */
  readonly bytes: number;

  constructor(status: number, headers: Readonly<Record<string, string>>, text: string) {
    this.status = status;
    this.headers = headers;
    this.text = text;
    this.bytes = Buffer.byteLength(text);
  }

  /** Returns a copy with one more header. */
  with(name: string, value: string): TextResponse {
    return new TextResponse(this.status, { ...this.headers, [name]: value }, this.text);
  }

  toResponse(): Response {
    const { status, headers, text, bytes } = this;
    if (status === 204) return new Response(null, { status, headers });
    return createTextResponse(text, { status, headers: { ...headers, "content-length": String(bytes) } });
  }
}
