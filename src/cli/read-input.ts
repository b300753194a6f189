/** Reads what a command is given: a file, or standard input for `-`. */
import { readFile } from "node:fs/promises";
import { ToolError } from "../core/error.ts";
import type { CommandContext } from "./command.ts";
import { untilAborted } from "./until-aborted.ts";

/** The text of a file, or of standard input for `-`, without its byte order mark. @throws ToolError `invalid_argument` */
export async function readInput(context: CommandContext, file: string): Promise<string> {
  if (file === "-") return decode(await untilAborted(context.readStdin(), context.signal), "Standard input");
  try {
    return decode(await untilAborted(readFile(file), context.signal), `The file ${file}`);
  } catch (error: unknown) {
    if (error instanceof ToolError) throw error;
    throw new ToolError("invalid_argument", `The file ${file} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", `${what} is not text in UTF-8.`, { hint: "Save it as UTF-8.", cause: error });
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return "there is no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES" || code === "EPERM") return "this user may not read it";
  return `the system says ${String(code ?? error)}`;
}
