import { parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";
import type { CommandContext } from "../command.ts";
import { readInput } from "./read-input.ts";

/** Parses the JSON of an argument, or of standard input for `-`; `{}` without an argument. @param owner whose input it is, for messages: `call` */
export async function readJsonArgument(
  context: CommandContext,
  text: string | undefined,
  { owner, example }: { readonly owner: string; readonly example: string },
): Promise<unknown> {
  if (text === undefined) return {};
  const given = text === "-" ? await readInput(context, text) : text;
  try {
    return parseJson(given);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    throw new ToolError(error.code, `The input of the ${owner}: ${error.message}`, { hint: jsonHint(example), cause: thrown });
  }
}

export function jsonHint(example: string): string {
  return `The input is one JSON object, quoted for the shell: '${example}'.`;
}
