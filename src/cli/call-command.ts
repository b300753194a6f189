/** `haft call`: one tool call from the command line. */
import { ERROR_CODES } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import { resultText } from "../core/result.ts";
import type { ToolResult } from "../core/result.ts";
import { personApprover } from "./ask-person.ts";
import type { Command, CommandContext } from "./command.ts";
import { toolsetOf, withRuntime } from "./open-runtime.ts";
import { errorLines, repairText } from "./print-result.ts";
import { readInput } from "./read-input.ts";
import { safeJson, safeText } from "./terminal-text.ts";

export const callCommand: Command = {
  name: "call",
  usage: "<tool> [<json> | -]",
  summary: "Call one tool and print its answer.",
  details: [
    "The input is one JSON object; - reads it from standard input, and without one it",
    "is {}. The answer goes to standard output; repairs, warnings and errors go to",
    "standard error. The exit code says why a call failed. With --json the whole",
    "result is printed, failed or not.",
    "",
    "Each call is a conversation of its own: a file must be read in the same one",
    "before it is edited, so edits are for haft run.",
  ],
  args: [1, 2],
  options: ["yes"],
  examples: [
    `haft call files::read '{"path": "notes.md"}'`,
    `echo '{"pattern": "*.md"}' | haft call files::glob -`,
    "haft call files::list --json",
  ],
  async run(context) {
    const [name = "", text] = context.args;
    const input = text === undefined ? {} : parseInput(text === "-" ? await readInput(context, text) : text);
    const result = await withRuntime(context, { approve: personApprover(context), only: toolsetOf(name) }, ({ runtime }) =>
      runtime.session().execute({ name, input }, { signal: context.signal }),
    );
    if (result.status === "cancelled" && !context.options.json) context.signal.throwIfAborted();
    printResult(context, result);
    return result.error === undefined ? 0 : ERROR_CODES[result.error.code].exit;
  },
};

function parseInput(text: string): unknown {
  try {
    return parseJson(text);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    throw new ToolError(error.code, `The input of the call: ${error.message}`, {
      hint: `The input is one JSON object, quoted for the shell: '{"path": "notes.md"}'.`,
      cause: thrown,
    });
  }
}

function printResult({ out, err, options }: CommandContext, result: ToolResult): void {
  if (options.json) {
    out.write(`${safeJson(result)}\n`);
    return;
  }
  for (const note of [...result.repairs.map(repairText), ...result.warnings.map(safeText)]) err.write(`${err.paint("yellow", note)}\n`);
  const text = answerText(result);
  if (text !== "") out.write(`${out.isTerminal ? safeText(text) : text}\n`);
  if (result.error !== undefined) err.write(errorLines(result.error, err));
}

function answerText(result: ToolResult): string {
  const { error: _error, ...answer } = result;
  if (result.content === undefined && typeof result.output === "object") return safeJson(result.output, 2);
  return resultText(answer);
}
