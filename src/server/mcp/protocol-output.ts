/** Reserves standard output for the protocol, which other output would corrupt. */
import { Writable } from "node:stream";
import { redirectStdout } from "../../processes/redirect-stdout.ts";

export interface ProtocolOutput {
  readonly output: Writable;
  /** Lets the process print to standard output again. Pending writes of `output` still reach it. */
  readonly release: () => void;
}

/** Redirects what the process prints to standard output to standard error, until `release`. */
export function openProtocolOutput(): ProtocolOutput {
  const { stdout } = process;
  const { writeThrough, restore } = redirectStdout();
  const fail = (error: Error): void => void output.destroy(error);
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      if (writeThrough(() => stdout.write(chunk))) done();
      else stdout.once("drain", () => done());
    },
    destroy: (error, done) => {
      if (error === null) stdout.off("error", fail);
      done(error);
    },
  });
  stdout.on("error", fail); // not removed after an error: further writes of the process may fail in the same way
  return { output, release: restore };
}
