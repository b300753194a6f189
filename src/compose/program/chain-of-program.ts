/** Turns a program that was run into a chain. The source of each argument is found by running the program with marked values. */
import { isDeepStrictEqual } from "node:util";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { JsonStep } from "../../core/base/json-steps.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { checkSession, checkString } from "../../core/check-argument.ts";
import type { ToolResult } from "../../core/result.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { answerOf } from "../sequence/whole-result.ts";
import { createChain, type Chain } from "../chain/chain.ts";
import type { ChainSource, ChainStep } from "../chain/chain-step.ts";
import { MarkedValues, type Origin } from "./marked-values.ts";
import { PROGRAM_LIMITS } from "./program-limits.ts";
import { PROGRAM_TOOL } from "../../registry/program-offer.ts";
import { runProgram } from "./run-program.ts";

/** A chain that does what a program did. */
export interface KeptProgram {
  readonly chain: Chain;
  /**
   * Option for `toTool`: the key of the context that the program returned. Undefined if it returned something else: the tool then answers with the
   * outputs of all steps.
   */
  readonly answerKey: string | undefined;
}

interface RecordedProgram {
  readonly code: string;
  readonly input: JsonObject;
  readonly calls: readonly RecordedCall[];
}

interface RecordedCall {
  readonly name: string;
  readonly input: JsonObject;
  readonly result: ToolResult;
}

/** The source of an argument: a value, or its origin in an answer. */
type Source = { readonly value: JsonValue } | Origin;

interface MarkedRun {
  readonly calls: readonly { readonly name: string; readonly sources: ReadonlyMap<string, Source> }[];
  readonly returned: Source | undefined;
}

/**
 * Makes a chain of a program that a session has run: its calls in order, each argument a constant of the program or a path to the output of an
 * earlier call or to the program's `input`.
 *
 * No tool is called. The program is run twice with the recorded outputs, with their values replaced by markers, so that each argument shows where it
 * comes from.
 *
 * @throws ToolError `not_found` if the session has no such call that has ended; `invalid_argument` for a program that failed or cannot be a chain: it
 * branches on an answer, computes an argument, or combines parts of several answers in one argument, as a rejection
 */
export async function chainOfProgram(session: RuntimeSession, callId: string): Promise<KeptProgram> {
  checkSession(session, "chainOfProgram()");
  checkString(callId, "chainOfProgram(session, callId)", "the id of a call");
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  const recorded = readRecordedProgram(events, callId);
  const [one, other] = [await runMarked(session, recorded, false), await runMarked(session, recorded, true)];
  if (one.calls.length !== recorded.calls.length || other.calls.length !== one.calls.length) throw branchesError();
  const keys = recorded.calls.map((_, index) => unusedKey(`call${index + 1}`, recorded.input));
  const steps = one.calls.map(({ name, sources }, index): ChainStep => {
    const same = other.calls[index];
    if (name !== same?.name || name !== recorded.calls[index]?.name) throw branchesError();
    const inputMapping: Record<string, ChainSource> = Object.create(null);
    for (const [argument, source] of sources) {
      if (!isDeepStrictEqual(source, same.sources.get(argument))) throw computedArgumentError(argument, index);
      inputMapping[argument] = "value" in source ? { value: source.value } : formatPath(source, keys, argument);
    }
    if (same.sources.size !== sources.size) throw branchesError();
    if (sources.size === 0)
      throw cannotConvertError(`call ${index + 1} (${name}) takes no argument, and a step without any is given the whole context`);
    return { tool: name, inputMapping, outputKey: keys[index] ?? "" };
  });
  if (steps.length === 0) throw cannotConvertError("it makes no calls");
  const { returned } = one;
  const isWhole = returned !== undefined && "step" in returned && returned.path.length === 0 && returned.step > 0;
  return { chain: createChain(steps), answerKey: isWhole ? keys[returned.step - 1] : undefined };
}

function readRecordedProgram(events: readonly SessionEvent[], callId: string): RecordedProgram {
  const ends = new Map(events.flatMap((event) => (event.type === "call-end" ? [[event.callId, event] as const] : [])));
  const program = ends.get(callId);
  if (program === undefined) throw new ToolError("not_found", `The session has no finished call ${JSON.stringify(callId)}.`);
  const { code, input = {} } = program.input ?? {};
  if (!program.result.name.endsWith(`::${PROGRAM_TOOL}`) || typeof code !== "string")
    throw new ToolError("invalid_argument", `The call ${callId} is a call of ${program.result.name}, which does not run programs.`);
  if (program.result.status !== "ok") throw cannotConvertError("it failed");
  if (input !== null && !isJsonObject(input)) throw cannotConvertError("its input is not an object, and the context of a chain is one");
  const starts = events.filter((event) => event.type === "call-start" && event.parentCallId === callId);
  const calls = starts.map((event, index): RecordedCall => {
    const end = "callId" in event ? ends.get(event.callId) : undefined;
    if (end?.input === undefined || end.result.status !== "ok") throw cannotConvertError(`call ${index + 1} did not succeed`);
    if (end.result.truncation !== undefined && end.result.output === undefined)
      throw cannotConvertError(`the answer of call ${index + 1} was too large to be kept in full`);
    return { name: end.result.name, input: end.input, result: end.result };
  });
  return { code, input: input ?? {}, calls };
}

/** @param differs whether to use other values, longer arrays, another time and another seed */
async function runMarked({ ports }: RuntimeSession, { code, input, calls }: RecordedProgram, differs: boolean): Promise<MarkedRun> {
  const marked = new MarkedValues(differs);
  const made: { name: string; input: JsonValue }[] = [];
  const outcome = await runProgram({
    ...defaultProgramLimits(),
    code,
    input: JSON.stringify(marked.mark(input, 0)),
    toolNames: [],
    seed: differs ? "other" : "one",
    wallTime: differs ? 1_000_000_000_000 : 1_500_000_000_000,
    clock: ports.clock,
    signal: new AbortController().signal,
    execute: ({ name, input: given }) => {
      const recorded = calls[made.push({ name, input: copyJson(given).value }) - 1];
      if (recorded === undefined || !recorded.name.endsWith(name)) return Promise.reject(branchesError());
      const { result } = recorded;
      const output = marked.mark(answerOf(result) ?? null, made.length);
      return Promise.resolve({ ...result, name: recorded.name, output, durationMs: differs ? 2 : 1 });
    },
  });
  if (outcome.end.kind !== "returned") throw branchesError();
  return {
    calls: made.map((call, index) => ({ name: calls[index]?.name ?? "", sources: findSources(call.input, marked, index) })),
    returned: marked.findSource(parseJson(outcome.end.text, { longIntegers: "round" })),
  };
}

function findSources(input: JsonValue, marked: MarkedValues, index: number): ReadonlyMap<string, Source> {
  if (!isJsonObject(input)) throw cannotConvertError(`call ${index + 1} is given something other than an object`);
  return new Map(
    Object.entries(input).map(([argument, value]) => {
      const source = marked.findSource(value);
      if (source === undefined) throw computedArgumentError(argument, index);
      return [argument, source] as const;
    }),
  );
}

function formatPath({ step, path }: Origin, keys: readonly string[], argument: string): string {
  const steps: readonly JsonStep[] = step === 0 ? path : [keys[step - 1] ?? "", ...path];
  if (steps.length === 0) throw cannotConvertError(`the argument ${JSON.stringify(argument)} is the whole input`);
  return steps.map((part) => (typeof part === "number" ? `[${part}]` : `[${JSON.stringify(part)}]`)).join("");
}

function unusedKey(key: string, input: JsonObject): string {
  return Object.hasOwn(input, key) ? unusedKey(`${key}_`, input) : key;
}

function defaultProgramLimits() {
  const { maxRunMs, maxMemoryMb, maxCalls, maxLogChars } = PROGRAM_LIMITS;
  return { maxRunMs: maxRunMs.default, maxMemoryMb: maxMemoryMb.default, maxCalls: maxCalls.default, maxLogChars: maxLogChars.default };
}

function branchesError(): ToolError {
  return cannotConvertError("which calls it makes depends on earlier answers");
}

function computedArgumentError(argument: string, index: number): ToolError {
  return cannotConvertError(`it computes the argument ${JSON.stringify(argument)} of call ${index + 1}`);
}

function cannotConvertError(why: string): ToolError {
  return new ToolError("invalid_argument", `The program cannot be kept as a chain: ${why}.`, {
    hint: "A chain calls the same tools each time, with values or with parts of earlier answers. Keep the program itself for anything else.",
  });
}
