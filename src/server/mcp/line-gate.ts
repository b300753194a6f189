/** Lets the lines of a client through and passes over those that are too long, which would end the connection. */
import { Transform } from "node:stream";
import { LineReader } from "../../processes/line-reader.ts";

/** The longest line that is taken from a client, in bytes: less than what the SDK takes at once. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

export interface LineGateOptions {
  /** Called with the beginning and the end of a line that was too long. */
  readonly onLongLine: (edges: string) => void;
  /** Called when what comes is no message and has no end. */
  readonly onNoise: () => void;
}

export function lineGate({ onLongLine, onNoise }: LineGateOptions): Transform {
  const lines: string[] = [];
  const reader = new LineReader({ line: (line) => void lines.push(line), longLine: onLongLine }, MAX_LINE_BYTES);
  let isNoise = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!isNoise && !reader.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) {
        isNoise = true;
        onNoise();
      }
      for (const line of lines.splice(0)) this.push(`${line}\n`);
      done();
    },
  });
}
