/** Reads an input of a command: a file, or standard input for `-`. */
import { ToolError } from "../../core/error.ts";
import { decodePieces, readTextFile, readTextPieces } from "../../documents/read-text-file.ts";
import type { CommandContext } from "../command.ts";
import { ChunkBuffer } from "../../core/formats/chunk-buffer.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

/** Maximum size of an input that is read into memory as a whole. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** Returns the text of a regular file, or of standard input for `-`, without its byte order mark. @throws ToolError `invalid_argument` */
export async function readInput({ stdin, signal }: CommandContext, file: string): Promise<string> {
  if (file === "-") return decode(await rejectOnAbort(readAll(stdin), signal));
  return await rejectOnAbort(readTextFile({ ...FILE, path: file, maxBytes: MAX_INPUT_BYTES }), signal);
}

/** Like `readInput`, but yields chunks, for input of any size. Stops when the signal aborts. @throws ToolError `invalid_argument`, while iterating */
export async function* readPieces({ stdin, signal }: CommandContext, file: string): AsyncGenerator<string, void, undefined> {
  const pieces = file === "-" ? decodePieces({ ...FILE, path: "standard input" }, stdin) : readTextPieces({ ...FILE, path: file });
  try {
    for (;;) {
      const next = await rejectOnAbort(pieces.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    if (!signal.aborted) await pieces.return(); // a generator that waits for input cannot be ended
  }
}

const FILE = {
  what: "file",
  code: "invalid_argument",
  hint: "Name a regular file, or pipe the data to standard input and name it -.",
} as const;

async function readAll(stdin: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces = new ChunkBuffer();
  let total = 0;
  for await (const chunk of stdin) {
    total += chunk.length;
    if (total > MAX_INPUT_BYTES) throw new ToolError("invalid_argument", `Standard input is larger than ${MAX_INPUT_BYTES} bytes.`);
    pieces.add(chunk);
  }
  return pieces.concat();
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", "Standard input is not text in UTF-8.", { hint: "Save it as UTF-8.", cause: error });
  }
}
