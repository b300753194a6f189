/** `haft call`: one tool call from the command line. */
import { ERROR_CODES, ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import { resultText } from "../core/result.ts";
import type { ToolResult } from "../core/result.ts";
import type { Command, CommandContext } from "./command.ts";
import { withRuntime } from "./open-runtime.ts";
import { errorLines } from "./print-result.ts";
import { oneLine, safeText } from "./terminal-text.ts";

export const callCommand: Command = {
  name: "call",
  usage: "<tool> [<json> | -]",
  summary: "Call one tool and print its answer.",
  args: [1, 2],
  options: ["yes"],
  examples: [`haft call files::read '{"path": "notes.md"}'`, "echo '{\"a\": 1, \"b\": 2}' | haft call math::add -", `haft call files::list --json`],
  async run(context) {
    const [name = "", text] = context.args;
    const input = await readInput(context, text);
    const result = await withRuntime(context, {}, ({ runtime }) => runtime.session().execute({ name, input }, { signal: context.signal }));
    printResult(context, result);
    return result.error === undefined || result.status === "ok" ? 0 : ERROR_CODES[result.error.code].exit;
  },
};

async function readInput(context: CommandContext, text: string | undefined): Promise<unknown> {
  if (text === undefined) return {};
  const source = text === "-" ? await context.readStdin() : text;
  try {
    return parseJson(source);
  } catch (error: unknown) {
    throw new ToolError("invalid_input", `The input is not JSON: ${ToolError.fromUnknown(error).message}`, { hint: `Give one JSON object, quoted for the shell: '{"path": "notes.md"}'.`, cause: error });
  }
}

function printResult(context: CommandContext, result: ToolResult): void {
  if (context.options.json) {
    context.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  for (const repair of result.repairs) context.stderr.write(`${context.paint("yellow", `repaired ${safeText(repair.path)}: ${oneLine(repair.note, 200)}`)}\n`);
  for (const warning of result.warnings) context.stderr.write(`${context.paint("yellow", oneLine(warning, 200))}\n`);
  if (result.error !== undefined) context.stderr.write(errorLines(result.error, context.paint));
  const text = answerText(result);
  if (text !== "") context.stdout.write(`${context.stdout.isTTY === true ? safeText(text) : text}\n`);
}

function answerText(result: ToolResult): string {
  const { error: _error, ...answer } = result;
  if (result.content === undefined && typeof result.output === "object" && result.output !== null) return JSON.stringify(result.output, undefined, 2);
  return resultText(answer);
}
