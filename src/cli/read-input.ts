/** Reads what a command is given: a file, or standard input for `-`. */
import { ToolError } from "../core/error.ts";
import { readTextFile } from "../config/read-text-file.ts";
import type { CommandContext } from "./command.ts";
import { untilAborted } from "./until-aborted.ts";

/** All of it is held in memory. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** The text of a regular file, or of standard input for `-`, without its byte order mark. @throws ToolError `invalid_argument` */
export async function readInput({ stdin, signal }: CommandContext, file: string): Promise<string> {
  if (file === "-") return decode(await untilAborted(readAll(stdin), signal));
  const hint = "Name the file itself, or give what comes from a pipe to standard input, with - as its name.";
  return await untilAborted(readTextFile({ path: file, what: "file", code: "invalid_argument", maxBytes: MAX_INPUT_BYTES, hint }), signal);
}

async function readAll(stdin: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of stdin) {
    total += chunk.length;
    if (total > MAX_INPUT_BYTES) throw new ToolError("invalid_argument", `Standard input is larger than ${MAX_INPUT_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", "Standard input is not text in UTF-8.", { hint: "Save it as UTF-8.", cause: error });
  }
}
