/** Standard output for the protocol alone, which a stray line would break. */
import { Writable } from "node:stream";
import { divertOutput } from "../../processes/divert-output.ts";

export interface ProtocolOutput {
  readonly output: Writable;
  /** Lets the process print to standard output again. The rest of `output` still gets there. */
  readonly release: () => void;
}

/** Until `release`, what the process prints to standard output goes to standard error. */
export function protocolOutput(): ProtocolOutput {
  const { stdout } = process;
  const { through, release } = divertOutput();
  const fail = (error: Error): void => void output.destroy(error);
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      if (through(() => stdout.write(chunk))) done();
      else stdout.once("drain", () => done());
    },
    destroy: (error, done) => {
      if (error === null) stdout.off("error", fail);
      done(error);
    },
  });
  stdout.on("error", fail); // stays after one: further writes of the process may fail in the same way
  return { output, release };
}
