/** Server-sent events, of which providers use the data: the name of an event stands in it, or says nothing. */
import { ToolError } from "../../core/error.ts";
import type { JsonValue } from "../../core/base/json.ts";
import type { FrameReader } from "./frames.ts";
import { Lines } from "./lines.ts";
import { MAX_FRAME, readWireJson } from "./wire-json.ts";

/**
 * Data that is not JSON (`[DONE]`) is given as its text. Unlike a browser, takes a last event without the empty line behind it, unless
 * it was cut off.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function serverSentEvents(): FrameReader {
  const lines = new Lines();
  const events = new Events();
  return {
    push: (bytes) => lines.push(bytes).flatMap((line) => events.line(line)),
    end: () => {
      const pieces = lines.end().flatMap((line) => events.line(line));
      const last = events.data();
      const value = last === undefined ? undefined : readWireJson(last);
      return value === undefined ? pieces : [...pieces, value];
    },
  };
}

class Events {
  #data: string[] = [];
  #chars = 0;

  line(line: string): readonly JsonValue[] {
    if (line === "") {
      const text = this.data();
      if (text === undefined) return [];
      return [text === "[DONE]" ? text : (readWireJson(text) ?? text)];
    }
    const value = dataOf(line);
    if (value === undefined) return [];
    this.#data.push(value);
    this.#chars += value.length + 1;
    if (this.#chars > MAX_FRAME) throw new ToolError("too_large", `The provider sent an event of more than ${MAX_FRAME} characters.`);
    return [];
  }

  /** What the open event holds; it is over then. */
  data(): string | undefined {
    if (this.#data.length === 0) return undefined;
    const text = this.#data.join("\n");
    this.#data = [];
    this.#chars = 0;
    return text.trim() === "" ? undefined : text;
  }
}

/** Undefined for comments (which begin with a colon) and every other field. */
function dataOf(line: string): string | undefined {
  if (!line.startsWith("data")) return undefined;
  if (line.length === 4) return "";
  if (line[4] !== ":") return undefined;
  return line.slice(line[5] === " " ? 6 : 5);
}
