/** Turns a handler's return value into recorded JSON and content, validated against the output schema. */
import { ANSWER_LIMITS } from "../../core/answers/answer-limits.ts";
import { ToolOutput } from "../../core/content.ts";
import { TruncatedOutput } from "../../core/answers/truncated-output.ts";
import { ToolError, describeThrown, pickHints } from "../../core/error.ts";
import { isForeignHandler } from "../../core/answers/foreign-handler.ts";
import { FIDELITIES } from "../../core/answers/fidelity.ts";
import { StruckOutput } from "../../core/answers/struck-output.ts";
import { isValidOutput } from "../../schema/long-integers.ts";
import { findOpaqueProblem } from "../../core/base/class-instance.ts";
import { copyJson, fitJson, isJsonObject } from "../../core/base/json.ts";
import { MAX_ID_LENGTH } from "../../core/recording/read-event.ts";
import type { ParsedInput } from "../../core/tool.ts";
import { mayHaveDataUrls } from "../../policy/results/data-urls.ts";
import { extractDataUrls } from "../../policy/results/extract-data-urls.ts";
import type { AdmittedCall, CallRun } from "../call-run.ts";
import { copyContent } from "../../session/copy-content.ts";
import { injectOutputFault } from "../attempt/inject-fault.ts";
import { recordsFilesInline } from "./store-artifacts.ts";
import { settleParsing } from "../admit/settle-parsing.ts";

type NormalizedCall = AdmittedCall | ToolError;

export function normalizeOutput(run: AdmittedCall): NormalizedCall | Promise<NormalizedCall> {
  const { answer } = run;
  if (answer.isCached === true) return run; // validated before it was cached
  const { raw } = answer;
  answer.raw = undefined;
  // Clears the fidelity of an earlier attempt's error. A field that was never set is not created here.
  if (answer.fidelity !== undefined) answer.fidelity = undefined;
  let output = raw;
  let original: unknown;
  let skipsChecks = false;
  try {
    if (isClassInstance(raw) && raw instanceof ToolOutput) {
      readFields(run, raw);
      output = raw.output;
      skipsChecks = raw instanceof TruncatedOutput && !raw.isChecked;
      if (raw instanceof StruckOutput) original = raw.original;
    }
    const answerFault = run.faults?.answerFault;
    if (answerFault !== undefined) {
      const faulty = injectOutputFault(run, answerFault, output);
      output = faulty.output;
      original = undefined;
      if (!faulty.isChecked) return recordJson(run, output);
    }
  } catch (thrown: unknown) {
    return notRecordableError(run, thrown);
  }
  if (skipsChecks) return recordJson(run, output);
  const { tool } = run.plan;
  return tool.parseOutput === undefined || !run.options.validate
    ? recordAndCheckJson(run, output, original)
    : settleOutput(run, { output, original }, tool.parseOutput(output));
}

interface Answered {
  readonly output: unknown;
  /** As it came, if credentials were struck out of it. */
  readonly original: unknown;
}

function settleOutput(run: AdmittedCall, answered: Answered, work: unknown): NormalizedCall | Promise<NormalizedCall> {
  return settleParsing(run, { what: "output", work, onParsed: (parsed) => applyParsed(run, answered, parsed) });
}

/** Reads the fields of a ToolOutput besides its output. */
function readFields(run: AdmittedCall, toolOutput: ToolOutput): void {
  const { answer } = run;
  if (toolOutput.content !== undefined) answer.content = copyContent(toolOutput.content);
  if (toolOutput.metadata !== undefined) setMetadata(run, toolOutput.metadata);
  if (toolOutput.fidelity !== undefined && FIDELITIES.includes(toolOutput.fidelity)) answer.fidelity = toolOutput.fidelity;
  if (typeof toolOutput.sameAs === "string" && toolOutput.sameAs !== "" && toolOutput.sameAs.length <= MAX_ID_LENGTH)
    answer.sameAs = toolOutput.sameAs;
  if (toolOutput.exitCode !== undefined || toolOutput.error !== undefined) readFailure(run, toolOutput);
  if (toolOutput instanceof TruncatedOutput) answer.truncation = toolOutput.truncation;
}

/** Reads a failure that the handler itself reports; its answer is kept. */
function readFailure({ answer, toolName }: AdmittedCall, { exitCode, error }: ToolOutput): void {
  if (Number.isSafeInteger(exitCode)) answer.exitCode = exitCode;
  const errorText = typeof error === "string" && error !== "" ? error : undefined;
  if (errorText === undefined && answer.exitCode !== exitCode) {
    answer.error = new ToolError("invalid_output", `${toolName} ended with an exit code that is not an integer, so it may have failed.`);
    return;
  }
  if (errorText === undefined && (answer.exitCode === undefined || answer.exitCode === 0)) return;
  const message = errorText ?? `${toolName} ended with exit code ${answer.exitCode}.`;
  answer.error = new ToolError("execution_failed", message, { retryable: false });
}

/** Takes the metadata. Metadata that cannot be recorded is left out with a warning: no model sees it, so it must not cost the answer. */
export function setMetadata(run: CallRun, metadata: unknown): void {
  try {
    const { value } = copyJson(metadata);
    if (isJsonObject(value)) run.answer.metadata = value;
    else run.warnings = [...run.warnings, "The metadata was left out: it is not an object."];
  } catch (thrown: unknown) {
    run.warnings = [...run.warnings, `The metadata was left out: ${describeThrown(thrown)}`];
  }
}

function applyParsed(run: AdmittedCall, { output, original }: Answered, parsed: ParsedInput): NormalizedCall {
  if (!("issues" in parsed)) return recordAndCheckJson(run, parsed.value, parsed.value === output ? original : undefined);
  const end = recordAndCheckJson(run, output, original);
  if (!(end instanceof ToolError)) run.answer.error ??= invalidOutputError(run, parsed.issues);
  return end;
}

function recordAndCheckJson(run: AdmittedCall, output: unknown, original: unknown): NormalizedCall {
  const end = recordJson(run, output);
  if (!(end instanceof Error)) checkOutput(run, original);
  return end;
}

/** A quick check before `instanceof ToolOutput`, which has its own look-up: most answers are plain objects. */
function isClassInstance(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) !== Object.prototype;
}

function recordJson(run: AdmittedCall, output: unknown): NormalizedCall {
  const { answer } = run;
  let mayHaveFiles = false;
  if (output === undefined) {
    if (answer.content === undefined) answer.output = null;
  } else {
    try {
      // one with a toJSON(), such as a ToolError, would become the answer of a call that went well
      if (isClassInstance(output) && output instanceof Error) throw returnedError(output);
      const { value, wasCut, found, maxBytes } = fitJson(output, ANSWER_LIMITS, mayHaveDataUrls);
      answer.output = value;
      answer.outputBound = maxBytes;
      mayHaveFiles = found;
      const { execute } = run.plan.tool;
      if (answer.content === undefined && execute !== undefined && isMcpResult(value) && !isForeignHandler(execute))
        run.warnings = [...run.warnings, MCP_RESULT];
      if (wasCut && answer.error === undefined) answer.error = tooLargeError(run);
      else if (wasCut) run.warnings = [...run.warnings, "The answer is too large: the beginning is kept."];
    } catch (thrown: unknown) {
      return notRecordableError(run, thrown, output);
    }
  }
  if ((!mayHaveFiles && answer.content === undefined) || !recordsFilesInline(run.services, run.turn.session)) return run;
  const lifted = extractDataUrls(answer.output, answer.content);
  if (lifted !== undefined) answer.content = Object.freeze(lifted.map((part) => Object.freeze(part)));
  return run;
}

const MCP_RESULT =
  "The answer is a result of MCP, { content: […] }, and is kept as JSON. Return a text or a value, or new ToolOutput({ content, output }); throw a ToolError in place of isError.";

/** Whether a value is a result as a handler of an MCP server returns it; a program that was such a server may still do so. */
function isMcpResult(value: unknown): boolean {
  if (!isJsonObject(value) || !Array.isArray(value["content"])) return false;
  if (Object.keys(value).some((key) => !MCP_FIELDS.has(key))) return false; // such as a message of a model
  const parts: readonly unknown[] = value["content"];
  return parts.length > 0 && parts.every((part) => isJsonObject(part) && MCP_PARTS.has(part["type"]));
}

const MCP_FIELDS: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);
const MCP_PARTS: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** The call has run, so its answer is kept as far as it fits, and the error says that the effect has happened. */
function tooLargeError(run: AdmittedCall): ToolError {
  return new ToolError("too_large", `${run.toolName} ran, but its answer is too large: the beginning is kept.`, {
    outcome: "unknown",
    retryable: false,
    hint: "Its effect has happened. Ask for less at a time.",
  });
}

function checkOutput(run: AdmittedCall, original: unknown): void {
  const { answer } = run;
  if (!run.options.validate || answer.error !== undefined) return;
  const validator = run.plan.outputValidator;
  if (validator === undefined || isValidOutput(validator, original ?? answer.output)) return;
  const problems = validator.problems(answer.output); // not those of the original, which quote it
  answer.error = invalidOutputError(
    run,
    problems.length === 0 ? [STRUCK] : problems.map((problem) => `${problem.path}: ${problem.message}`),
  );
}

const STRUCK = "$: a credential that was struck out of the output breaks it";

function notRecordableError(run: AdmittedCall, thrown: unknown, output?: unknown): ToolError {
  const error = ToolError.fromUnknown(thrown, "not_json");
  return new ToolError(error.code, `${run.toolName} ran, but its answer cannot be recorded: ${error.message}`, {
    cause: thrown,
    outcome: "unknown",
    retryable: false,
    ...pickHints(error),
    ...(isGenerator(output) ? { operatorHint: NO_GENERATOR } : {}),
  });
}

function returnedError(returned: Error): ToolError {
  const opaque = findOpaqueProblem(returned, []);
  return new ToolError("not_json", `$: ${opaque?.problem ?? "an error is not JSON"}`, opaque === undefined ? {} : { hint: opaque.hint });
}

const NO_GENERATOR =
  'It answered with a generator. A tool that asks has mode: "stateful", and execute is an async generator: async *execute() { … }.';

function isGenerator(value: unknown): boolean {
  return typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value) && "next" in value;
}

function invalidOutputError(run: AdmittedCall, problems: readonly string[]): ToolError {
  return new ToolError("invalid_output", `${run.toolName} ran, but its output breaks its schema; the output is kept.`, {
    details: problems,
  });
}
