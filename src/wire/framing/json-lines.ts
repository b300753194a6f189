/** Reads one JSON value per line (`application/x-ndjson`). */
import type { JsonValue } from "../../core/base/json.ts";
import type { FrameReader } from "./frames.ts";
import { Lines } from "./lines.ts";
import { readWireJson } from "./wire-json.ts";

/** Returns a line that is not JSON as its text; ignores empty lines, and a last line that was cut off. */
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
