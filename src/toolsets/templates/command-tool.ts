/** Tools that run one program each, with templates as arguments. */
import { pushAll } from "../../core/collections/push-all.ts";
import { resolve } from "node:path";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolOutput } from "../../core/content.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { Clock } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import { KEPT_CHARS } from "../../processes/output-buffer.ts";
import { runProgram, type ProgramEnd, type ProgramLimits, type ProgramStop } from "../../processes/run-program.ts";
import { TIMEOUT_BOUNDS } from "../programs/program-options.ts";
import { limitTime } from "../programs/program-time.ts";
import type { ProgramRunner, ProgramStart } from "../programs/program-runner.ts";
import { InputTemplate, getInputValue } from "./input-template.ts";
import { valueText } from "../../core/content.ts";

export interface CommandTemplate {
  /** The program, and templates of its arguments. Not run by a shell. */
  readonly command: readonly string[];
  /** A template of the program's standard input. @default empty */
  readonly stdin?: string;
  /** `text`: standard output as text. `json`: parsed as JSON. `lines`: as an array of lines. @default "text" */
  readonly output?: CommandOutput;
  /** Exit codes that mean success. @default [0] */
  readonly okExitCodes?: readonly number[];
}

export type CommandOutput = (typeof COMMAND_OUTPUTS)[number];
export const COMMAND_OUTPUTS = ["text", "json", "lines"] as const;

/** Where the program of a tool runs: with the rights of this process, or in a sandbox. */
export type CommandLocation =
  | {
      /** The absolute folder of the toolset. */
      readonly folder: string;
      /** The variables of the program, those of its tool included. */
      readonly environment: Readonly<Record<string, string>>;
      /** The variables of `environment` that the toolset and the tool declare. Credentials among them are struck out of the output. */
      readonly ownVariables: Readonly<Record<string, string>>;
      readonly clock: Clock;
    }
  | { readonly sandbox: ProgramRunner };

const LIMITS: Omit<ProgramLimits, "timeoutMs" | "graceMs"> = {
  maxMemoryBytes: Infinity,
  maxProcesses: Infinity,
  maxFileBytes: Infinity,
  maxOutputBytes: 64 * 1024 ** 2,
};
const MAX_ERROR_CHARS = 2_000;

/**
 * Adds the handler to a tool.
 *
 * An argument with a property that has no value in the call is left out. An argument that is only the name of an array property becomes one argument
 * per item. A value that begins with a dash is refused if it would be read as an option: as a whole argument that does not follow `--`.
 *
 * The program runs in the tool's `workingFolder`, which is relative to the folder of the toolset. It gets SIGTERM 3.5 s before the timeout of the
 * call, or when a quarter of the time is left if that is later, and SIGKILL if it still runs half of that time later. The answer has its
 * output until then.
 *
 * @throws ToolError `invalid_argument` for templates that cannot be used
 */
export function commandTool(tool: Tool, template: CommandTemplate, location: CommandLocation): Tool {
  const [program = "", ...written] = template.command;
  if (program === "" || program.includes("{"))
    throw new ToolError("invalid_argument", "the first word of command must be a program, not a template.");
  const args = written.map((text) => new InputTemplate(text, tool.inputSchema));
  const stdin = template.stdin === undefined ? undefined : new InputTemplate(template.stdin, tool.inputSchema);
  const { output = "text", okExitCodes = [0] } = template;
  return {
    ...tool,
    async execute(input: JsonObject, context: ToolContext) {
      const start = {
        program,
        args: fillArguments(args, input),
        ...(stdin === undefined ? {} : { stdin: stdin.fill(input) ?? "" }),
        ...omitUndefined({ folder: tool.workingFolder, environment: tool.environment }),
      };
      return toCommandOutput(await runCommand(start, location, context), { program, output, okExitCodes });
    },
  };
}

function runCommand(start: Omit<ProgramStart, "timeoutMs">, location: CommandLocation, context: ToolContext): Promise<ProgramEnd> {
  if ("sandbox" in location) return location.sandbox.runToEnd({ ...start, timeoutMs: TIMEOUT_BOUNDS.max }, { context, merged: false });
  const { environment, ownVariables, clock } = location;
  return runProgram({
    ...start,
    folder: resolve(location.folder, start.folder ?? "."),
    environment,
    ownVariables,
    limits: { ...LIMITS, ...limitTime(TIMEOUT_BOUNDS.max, context.deadline - clock.now()) },
    mergesStderr: false,
    clock,
    signal: context.signal,
    onOutput: context.output,
    onPartial: context.partial,
  });
}

function fillArguments(args: readonly InputTemplate[], input: JsonObject): readonly string[] {
  const filled: string[] = [];
  let areValues = false;
  for (const template of args) {
    const texts = fillArgument(template, input);
    const startsOpen = typeof template.parts[0] !== "string";
    if (!areValues && startsOpen) for (const text of texts) refuseOption(text, template.text);
    if (template.text === "--") areValues = true;
    pushAll(filled, texts);
  }
  return filled;
}

function fillArgument(template: InputTemplate, input: JsonObject): readonly string[] {
  const value = template.placeholderPath === undefined ? undefined : getInputValue(template.placeholderPath, input);
  if (isJsonArray(value)) return value.map(valueText);
  const text = template.fill(input);
  return text === undefined ? [] : [text];
}

function refuseOption(text: string, template: string): void {
  if (!text.startsWith("-")) return;
  throw new ToolError(
    "invalid_input",
    `The value ${JSON.stringify(text.slice(0, 200))} for ${template} begins with a dash, and would be read as an option of the program.`,
    {
      hint: 'Write a path as "./-name".',
      operatorHint: 'In the template, put "--" before it, or write it as --option={name}.',
    },
  );
}

function toCommandOutput(
  { exitCode, stop, output: text, leftOutChars, errorOutput }: ProgramEnd,
  { program, output, okExitCodes }: { readonly program: string; readonly output: CommandOutput; readonly okExitCodes: readonly number[] },
): ToolOutput {
  const errorText = errorOutput.trim().slice(-MAX_ERROR_CHARS);
  if (stop !== undefined) return new ToolOutput({ output: text, exitCode: -1, error: `${program} was stopped: ${STOP_REASONS[stop]}.` });
  if (exitCode === undefined || !okExitCodes.includes(exitCode))
    return new ToolOutput({
      output: text,
      exitCode: exitCode ?? -1,
      error: `${program} exited with code ${exitCode}${errorText === "" ? "" : `: ${errorText}`}.`,
    });
  if (output === "json" && leftOutChars > 0) throw longJsonError(program, text, leftOutChars);
  const value = output === "text" ? text : output === "lines" ? splitLines(text) : readJson(text, program);
  return new ToolOutput({ output: value, ...(exitCode === 0 ? { exitCode } : { metadata: { exitCode } }) });
}

const STOP_REASONS: Readonly<Record<ProgramStop, string>> = {
  time: "it took too long",
  memory: "it used too much memory",
  processes: "it had too many processes at a time",
  output: "it wrote more than 64 MiB",
  cancelled: "the call was cancelled",
};

function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/u);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Only the beginning and the end of so long an output are kept, and they are not JSON. */
function longJsonError(program: string, text: string, leftOutChars: number): ToolError {
  return new ToolError("too_large", `${program} wrote more than ${KEPT_CHARS} characters, too many for output that is read as JSON.`, {
    details: [text.slice(0, MAX_ERROR_CHARS), `${leftOutChars} characters were left out.`],
    hint: "Ask for less, or in several calls.",
    outcome: "unknown",
  });
}

function readJson(text: string, program: string): JsonValue {
  try {
    return parseJson(text, { maxChars: Number.MAX_SAFE_INTEGER, longIntegers: "string" });
  } catch (error: unknown) {
    const { message } = ToolError.fromUnknown(error);
    throw new ToolError("invalid_output", `${program} did not write JSON: ${message}`, {
      details: [text.slice(0, MAX_ERROR_CHARS)],
      outcome: "unknown",
    });
  }
}
