/** Answers calls from a recording: the same results and errors, without running anything. */
import { quoteValue, formatList } from "../core/base/wording.ts";
import { OWN_NAMESPACE, checkName, splitName } from "../core/call.ts";
import { ToolOutput } from "../core/content.ts";
import { isComputerTool } from "../core/safety-checks.ts";
import { TruncatedOutput } from "../core/answers/truncated-output.ts";
import type { ToolContext } from "../core/context.ts";
import { pure } from "../core/resources/effects.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import { ToolError, pickHints, type ErrorInfo } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { FaultType } from "../core/answers/fault.ts";
import type { Fidelity } from "../core/answers/fidelity.ts";
import { NoAnswer } from "../core/answers/no-answer.ts";
import { StandInError } from "../core/answers/stand-in-error.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { describeDifferences, leavesOf } from "./compare-input.ts";
import {
  ToolAnswers,
  nestedCallsLast,
  recordedCalls,
  toComputerInput,
  type AnswerLists,
  type PlacedAnswer,
  type RecordedCall,
} from "./recorded-calls.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { Mutable } from "../core/base/mutable.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** Options of a `replayEngine`: how calls are matched with recorded calls. */
export interface ReplayOptions {
  /**
   * `strict`: only a call with the same tool and the same input is answered. `nearest`: a call with another input gets the
   * answer of the most similar recorded call of its tool; its `metadata.replay` lists the differences. @default "strict"
   */
  readonly match?: "strict" | "nearest";
  /** Whether the last answer is repeated if a call is made more often than it was recorded. @default false; true for `nearest` */
  readonly repeatLast?: boolean;
}

const OPTIONS: OptionNames<ReplayOptions> = { match: true, repeatLast: "boolean" };

/**
 * An engine that answers from a recording.
 *
 * Inputs are compared as canonical JSON, both with the input that ran and with the one that the model sent. Equal calls of one session get the
 * recorded answers in their order; answers to calls that handlers made go to such calls first, and to others only if none is left. The position of a
 * session is kept in its state, so a fork continues from there, a rolled-back call can be made again, and every other session begins at the first
 * answer. Errors are returned as recorded, but are never retried; a `partial` answer is returned as its output. Fidelity is as recorded: an answer
 * that a model or a fault generated is not `observed` now. A call that was not recorded is `not_found`.
 */
export function replayEngine(events: Iterable<SessionEvent>, options: ReplayOptions = {}): Engine {
  checkKnownKeys(options, OPTIONS, "replayEngine()");
  return new ReplayEngine(recordedCalls(events), options);
}

class ReplayEngine implements Engine {
  readonly kind = "replay";
  /** Sequential, so that equal calls of one batch are answered in call order. */
  readonly order = "sequential";
  readonly state = "value";
  readonly effectFree = true;
  readonly origin = "replay";
  readonly #tools = new Map<string, ToolAnswers>();
  /** The answers of computer-use tools, whose calls arrive without the safety checks of the model's provider. */
  readonly #computers = new Map<string, ToolAnswers>();
  readonly #calls: readonly RecordedCall[];
  readonly #isNearest: boolean;
  readonly #repeatLast: boolean;

  constructor(calls: readonly RecordedCall[], { match = "strict", repeatLast }: ReplayOptions) {
    if (match !== "strict" && match !== "nearest")
      throw new ToolError("invalid_argument", `match of a replay is ${quoteValue(match)}; it takes "strict" or "nearest".`);
    this.#calls = calls;
    this.#isNearest = match === "nearest";
    this.#repeatLast = repeatLast ?? this.#isNearest;
    for (const recorded of calls) {
      const { name } = recorded.result;
      getOrAdd(this.#tools, name, () => new ToolAnswers(name)).add(recorded);
    }
  }

  call({ tool, input }: EngineRequest, context: ToolContext): unknown {
    const known = this.#tools.get(context.toolName);
    const answers = known !== undefined && isComputerTool(tool) ? this.#computerAnswers(context.toolName) : known;
    if (answers === undefined) throw this.#unknownToolError(context.toolName);
    const { isRewritten = false } = context as ReplayContext;
    const exact = answers.findExact(input, isRewritten);
    if (exact.length > 0) return toReplayedOutput(this.#nextAnswer(exact, context), []);
    const nearest = answers.findNearest(input);
    const differing = nearest === undefined ? [] : describeDifferences(leavesOf(input), nearest.group.leaves);
    if (nearest === undefined || !this.#isNearest) throw unknownInputError(context.toolName, differing);
    return toReplayedOutput(this.#nextAnswer([nearest.group.lists], context), differing);
  }

  #computerAnswers(toolName: string): ToolAnswers {
    return getOrAdd(this.#computers, toolName, () => {
      const answers = new ToolAnswers(toolName, toComputerInput);
      for (const recorded of this.#calls) if (recorded.result.name === toolName) answers.add(recorded);
      return answers;
    });
  }

  /** The next answer for this session. Calls of handlers have their own answers: they are not made if the handler's call is replayed. */
  #nextAnswer(found: readonly AnswerLists[], context: ReplayContext): ToolResult {
    const { state, toolName, isNested = false } = context;
    const kinds = isNested ? (["nested", "outer"] as const) : (["outer", "nested"] as const);
    for (const kind of kinds) {
      const [next] = found.flatMap((lists) => lists[kind].next(state) ?? []).toSorted(byPlace);
      if (next === undefined) continue;
      state.update(next.stateKey, () => next.usedCount + 1);
      return next.result;
    }
    const all = found.flatMap(({ outer, nested }) => [outer.answers, nested.answers]);
    const last = this.#repeatLast
      ? all
          .flatMap((answers) => answers.at(-1) ?? [])
          .toSorted(byPlace)
          .at(-1)
      : undefined;
    if (last !== undefined) return last.result;
    const count = all.reduce((sum, { length }) => sum + length, 0);
    throw notRecordedError(`${toolName} was recorded ${formatTimes(count)} with this input, and is called once more.`, {
      operatorHint: "Give the replay repeatLast: true to return the last answer again.",
    });
  }

  #unknownToolError(toolName: string): ToolError {
    const known = [...this.#tools.keys()];
    return notRecordedError(`The recording has no call of ${toolName}.`, {
      operatorHint: known.length === 0 ? "It has no calls at all." : `It has calls of ${formatList(known)}.`,
    });
  }
}

/** The context with the fields that the runtime adds for engines. */
type ReplayContext = ToolContext & { readonly isNested?: boolean; readonly isRewritten?: boolean };

function byPlace(one: PlacedAnswer, other: PlacedAnswer): number {
  return one.place - other.place;
}

function unknownInputError(toolName: string, details: readonly string[]): ToolError {
  return notRecordedError(`The recording has no call of ${toolName} with this input. The nearest one differs.`, {
    details,
    operatorHint: 'Call it as it was recorded, or set match to "nearest" (--nearest on the command line).',
  });
}

function notRecordedError(message: string, options: { readonly operatorHint: string; readonly details?: readonly string[] }): NoAnswer {
  return new NoAnswer("not_found", message, { ...options, retryable: false });
}

function formatTimes(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function toReplayedOutput(result: ToolResult, differing: readonly string[]): ToolOutput {
  const { output, content, exitCode, metadata, status, error } = result;
  const fidelity = fidelityOf(result, differing.length === 0);
  if (error !== undefined && status !== "partial" && exitCode === undefined && content === undefined)
    throw recordedError(error, { fidelity, differing, ...(status === "error" ? { answer: output, truncation: result.truncation } : {}) });
  const replay = differing.length === 0 ? {} : { replay: { match: "nearest", differences: differing } };
  const answer = {
    ...omitUndefined({ output, content, exitCode, error: result.status === "error" ? error?.message : undefined }),
    ...(metadata === undefined && differing.length === 0 ? {} : { metadata: { ...metadata, ...replay } }),
    ...(fidelity === "observed" ? {} : { fidelity }),
  };
  const { truncation } = result;
  return truncation === undefined ? new ToolOutput(answer) : new TruncatedOutput(answer, truncation, status === "partial");
}

/** The fidelity of a replayed answer: at most that of the recorded one, and at most `similar` if it was the answer to another call. */
function fidelityOf({ fidelity = "observed", fault, status }: ToolResult, isSameCall: boolean): Fidelity {
  const isMadeUp = fault !== undefined && (status !== "ok" || SPOILING_FAULTS.has(fault));
  if (isMadeUp) return "unchecked";
  return fidelity === "observed" && !isSameCall ? "similar" : fidelity;
}

/** The faults with which a call still succeeds. */
const SPOILING_FAULTS: ReadonlySet<string> = new Set<FaultType>(["unparseable_result", "empty_result", "partial_result"]);

/** The same error, but not retryable. */
function recordedError(
  error: ErrorInfo,
  {
    fidelity,
    differing,
    answer,
    truncation,
  }: Pick<ToolResult, "truncation"> & {
    readonly fidelity: Fidelity;
    readonly differing: readonly string[];
    readonly answer?: ToolResult["output"];
  },
): ToolError {
  const { code, message, outcome, details = [] } = error;
  return new StandInError(code, message, {
    fidelity,
    answer,
    truncation,
    outcome,
    retryable: false,
    details: [...details, ...differing.map((line) => `Replayed from another call: ${line}`)],
    ...pickHints(error),
  });
}

/** Options of `toolsetsOfRecording`. */
export interface ReplayToolsetOptions extends ReplayOptions {
  /**
   * The recorded toolsets, for their definitions. Their handlers and engines are left out, and so are tools that only their engines bring. Called
   * tools that are not among them are described from their calls.
   */
  readonly toolsets?: readonly Toolset[];
}

/**
 * Makes toolsets that replay a recording: one for each namespace, all with the same replay engine.
 *
 * A tool that is known only from its calls accepts any object and is declared to have no effects, so that neither locks nor a simulation stop it.
 * Calls of the namespace `haft`, which every runtime brings itself, and of names that are not tools are left out.
 */
export function toolsetsOfRecording(events: Iterable<SessionEvent>, options: ReplayToolsetOptions = {}): readonly Toolset[] {
  checkKnownKeys(options, { ...OPTIONS, toolsets: "array" }, "toolsetsOfRecording()");
  const calls = nestedCallsLast(recordedCalls(events));
  const engine = new ReplayEngine(calls, options);
  const seen = countTools(calls);
  const given = (options.toolsets ?? []).map((toolset) => {
    const tools = (toolset.tools ?? []).map(withoutHandler);
    return { ...toolset, engine, tools: [...tools, ...describeTools(seen.get(toolset.name), new Set(tools.map((tool) => tool.name)))] };
  });
  for (const { name } of given) seen.delete(name);
  const described = [...seen].map(([name, counts]) => ({
    name,
    description: "Answers as recorded.",
    tools: describeTools(counts),
    engine,
  }));
  return [...given, ...described];
}

/** The errors of calls whose name does not identify a tool. */
export const UNKNOWN_TOOL_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["not_found", "ambiguous", "invalid_call"]);

/** The number of calls of each tool, by namespace and name. */
function countTools(calls: readonly RecordedCall[]): Map<string, Map<string, number>> {
  const seen = new Map<string, Map<string, number>>();
  for (const { result } of calls) {
    const { namespace, name } = splitName(result.name);
    if (namespace === undefined || !hasToolName(result)) continue;
    const counts = getOrAdd(seen, namespace, () => new Map<string, number>());
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return seen;
}

function hasToolName({ name: qualifiedName, error, attempts }: ToolResult): boolean {
  const { namespace, name } = splitName(qualifiedName);
  if (namespace === undefined || namespace === OWN_NAMESPACE) return false;
  if (attempts === 0 && error !== undefined && UNKNOWN_TOOL_CODES.has(error.code)) return false;
  try {
    checkName(namespace, "toolset");
    checkName(name, "tool");
    return true;
  } catch {
    return false; // not a valid name of a toolset and a tool
  }
}

function describeTools(counts: ReadonlyMap<string, number> = new Map(), known: ReadonlySet<string> = new Set()): readonly Tool[] {
  return [...counts]
    .filter(([name]) => !known.has(name))
    .map(([name, count]) => ({
      name,
      description: `Answers as recorded; was called ${formatTimes(count)}.`,
      inputSchema: { type: "object" },
      effects: pure,
      timeoutMs: 0,
      maxResultBytes: 0,
    }));
}

/** The definition without its code, which must not run; recorded outputs, which were parsed already, are not parsed again. */
function withoutHandler(tool: Tool): Tool {
  const bare: Mutable<Tool> = { ...tool };
  delete bare.execute;
  delete bare.parseOutput;
  if (tool.effects === undefined) return bare;
  const effects: Mutable<NonNullable<Tool["effects"]>> = { ...tool.effects };
  delete effects.undo;
  delete effects.reconcile;
  return { ...bare, effects };
}
