/** Reads the data of server-sent events; the event name is not needed, or is repeated in the data. */
import { ToolError } from "../../core/error.ts";
import type { JsonValue } from "../../core/base/json.ts";
import type { FrameReader } from "./frames.ts";
import { Lines } from "./lines.ts";
import { MAX_FRAME, readWireJson } from "./wire-json.ts";

/**
 * Returns data that is not JSON (`[DONE]`) as its text. Unlike a browser, accepts a last event without an empty line after it, unless it was cut off.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function serverSentEvents(): FrameReader {
  const lines = new Lines();
  const events = new EventAssembler();
  return {
    push: (bytes) => events.read(lines.push(bytes)),
    end: () => {
      const pieces = events.read(lines.end());
      const last = events.takeData();
      const value = last === undefined ? undefined : readWireJson(last);
      return value === undefined ? pieces : [...pieces, value];
    },
  };
}

class EventAssembler {
  /** The joined data lines of the open event; undefined if it has none yet. */
  #data: string | undefined;

  read(lines: readonly string[]): readonly JsonValue[] {
    const pieces: JsonValue[] = [];
    for (const line of lines) {
      if (line !== "") this.#add(line);
      else {
        const text = this.takeData();
        if (text !== undefined) pieces.push(text === "[DONE]" ? text : (readWireJson(text) ?? text));
      }
    }
    return pieces;
  }

  #add(line: string): void {
    const value = dataOf(line);
    if (value === undefined) return;
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    if (this.#data.length >= MAX_FRAME)
      throw new ToolError("too_large", `The provider sent an event of more than ${MAX_FRAME} characters.`);
  }

  /** Returns the data of the open event and ends it; undefined if it is blank. */
  takeData(): string | undefined {
    const text = this.#data;
    this.#data = undefined;
    return text === undefined || text.trim() === "" ? undefined : text;
  }
}

/**
 * Returns the value of a `data` field, and of an `error` field with an object, in which older servers of llama.cpp send errors; undefined for comments
 * (which begin with a colon) and all other fields.
 */
function dataOf(line: string): string | undefined {
  if (line.startsWith("error:")) return line.slice("error:".length).trim().startsWith("{") ? line.slice("error:".length) : undefined;
  if (!line.startsWith("data")) return undefined;
  if (line.length === 4) return "";
  if (line[4] !== ":") return undefined;
  return line.slice(line[5] === " " ? 6 : 5);
}
