/** Reads `text/event-stream`. @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */

/** One message of a stream. */
export interface StreamMessage {
  /** The `id` field; undefined if the message has none. */
  readonly id: string | undefined;
  readonly type: string;
  readonly data: string;
}

export class EventStreamParser {
  readonly #decoder = new TextDecoder("utf-8");
  /** Chunks of an incomplete line, joined only once it is complete. */
  #incompleteLine: string[] = [];
  #id: string | undefined;
  #type = "";
  #data: string[] = [];

  /** Returns the messages that this chunk completes. */
  push(piece: Uint8Array): readonly StreamMessage[] {
    const messages: StreamMessage[] = [];
    const more = this.#decoder.decode(piece, { stream: true });
    if (more === "") return messages;
    const isAfterReturn = this.#incompleteLine.at(-1)?.endsWith("\r") === true;
    this.#incompleteLine.push(more);
    if (!isAfterReturn && !/[\r\n]/u.test(more)) return messages;
    const text = this.#incompleteLine.join("");
    const lines = text.includes("\r") ? text.split(/\r\n|\n|\r(?!$)/u) : text.split("\n"); // the latter is many times faster
    this.#incompleteLine = [lines.pop() ?? ""];
    for (const line of lines) {
      if (line !== "") this.#readField(line);
      else if (this.#data.length > 0) messages.push({ id: this.#id, type: this.#type || "message", data: this.#data.join("\n") });
      if (line === "") this.#resetMessage();
    }
    return messages;
  }

  #readField(line: string): void {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") this.#data.push(value);
    if (field === "event") this.#type = value;
    if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #resetMessage(): void {
    this.#id = undefined;
    this.#type = "";
    this.#data = [];
  }
}
