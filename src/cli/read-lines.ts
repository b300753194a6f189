/** The lines that a person types, or that another program sends, one at a time. */
import { StringDecoder } from "node:string_decoder";
import { ToolError } from "../core/error.ts";
import { untilAborted } from "../core/base/until-aborted.ts";
import type { CommandContext } from "./command.ts";

const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/**
 * At a terminal each line is asked for with `prompt` when it is wanted. Ends with the input, and at Ctrl-D.
 *
 * @throws ToolError what the signal aborted with; `too_large` for a line without end
 */
export async function* readLines(context: CommandContext, prompt: string): AsyncGenerator<string, void, undefined> {
  const { ask, signal } = context;
  if (ask === undefined) return yield* sentLines(context);
  for (;;) {
    const line = await ask(prompt, signal);
    if (line === undefined) return;
    yield line;
  }
}

async function* sentLines({ stdin, signal }: CommandContext): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder("utf8");
  const pieces = stdin[Symbol.asyncIterator]();
  let rest = "";
  for (;;) {
    const step = await untilAborted(pieces.next(), signal);
    const text = step.done === true ? decoder.end() : decoder.write(Buffer.from(step.value));
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_LENGTH)
      throw new ToolError("too_large", `A line of standard input has more than ${MAX_LINE_LENGTH} characters.`);
    yield* lines;
    if (step.done === true) {
      if (rest !== "") yield rest;
      return;
    }
  }
}
