/** One JSON value a line (`application/x-ndjson`). */
import type { JsonValue } from "../../core/base/json.ts";
import type { FrameReader } from "./frames.ts";
import { Lines } from "./lines.ts";
import { readWireJson } from "./wire-json.ts";

/** A line that is not JSON is given as its text; empty lines, and a last line that was cut off, are nothing. */
export function jsonLines(): FrameReader {
  const lines = new Lines();
  const isText = (line: string): boolean => line.trim() !== "";
  return {
    push: (bytes) =>
      lines
        .push(bytes)
        .filter(isText)
        .map((line) => readWireJson(line) ?? line),
    end: () =>
      lines
        .end()
        .map(readWireJson)
        .filter((value): value is JsonValue => value !== undefined),
  };
}
