/** Turns what a handler returned into recorded JSON and content, checked against the output schema. */
import { ToolOutput } from "../core/content.ts";
import type { ContentPart } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import { copyJson, isJsonObject } from "../core/json.ts";
import type { ParsedInput } from "../core/tool.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { toolOf } from "./resolve-tool.ts";

export function takeOutput(run: CallRun): StepEnd | Promise<StepEnd> {
  const { raw } = run;
  run.raw = undefined;
  const answer = raw instanceof ToolOutput ? takeContent(run, raw) : raw;
  const { parseOutput } = toolOf(run).tool;
  if (parseOutput === undefined || !run.options.validate) return takeJson(run, answer);
  const parsing = parseOutput(answer);
  return parsing instanceof Promise ? parsing.then((parsed) => takeParsed(run, answer, parsed)) : takeParsed(run, answer, parsing);
}

/** Room for images and documents, which are base64: a file of 20 MB has 27 million characters. */
const CONTENT_LIMITS = { maxChars: 64 * 1024 * 1024 } as const;

function takeContent(run: CallRun, answer: ToolOutput): unknown {
  if (answer.content !== undefined) run.content = copyJson(answer.content, CONTENT_LIMITS).value as unknown as readonly ContentPart[]; // parts are plain JSON, checked next
  for (const part of run.content ?? []) {
    if (!isJsonObject(part) || !PART_TYPES.has(part.type)) throw new ToolError("not_json", `${run.toolName} answered with a content part that is not text, image, audio or file.`);
  }
  run.metadata = answer.metadata;
  return answer.output;
}

const PART_TYPES: ReadonlySet<unknown> = new Set(["text", "image", "audio", "file"]);

function takeParsed(run: CallRun, answer: unknown, parsed: ParsedInput): StepEnd {
  if (!("issues" in parsed)) return takeJson(run, parsed.value);
  const end = takeJson(run, answer);
  if (end === undefined) run.partial = invalidOutput(run, parsed.issues);
  return end;
}

function takeJson(run: CallRun, answer: unknown): StepEnd {
  if (answer === undefined) {
    if (run.content === undefined) run.output = null;
  } else {
    try {
      run.output = copyJson(answer).value;
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "not_json");
      return new ToolError(error.code, `${run.toolName} ran, but its answer cannot be recorded: ${error.message}`, { cause: thrown, outcome: "unknown", retryable: false });
    }
  }
  if (!run.options.validate) return undefined;
  const validator = toolOf(run).outputValidator;
  if (validator === undefined || validator.check(run.output)) return undefined;
  run.partial = invalidOutput(run, validator.problems(run.output).map((problem) => `${problem.path}: ${problem.message}`));
  return undefined;
}

function invalidOutput(run: CallRun, problems: readonly string[]): ToolError {
  return new ToolError("invalid_output", `${run.toolName} ran, but its output breaks its schema; the output is kept.`, { details: problems });
}
