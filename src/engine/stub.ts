/** Answers calls with prepared answers, and reports calls without a match. */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import { NoAnswer } from "../core/answers/no-answer.ts";
import { toExpectedInput, inputMatcher, describeMismatch, type ExpectedInput } from "./stub/match-input.ts";
import { checkStubs, type Stub } from "./stub/read-stubs.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

export { readStubs } from "./stub/read-stubs.ts";
export type { Stub, StubError } from "./stub/read-stubs.ts";

/** Options of a `stubEngine`. */
export interface StubOptions {
  /** Called with every call that no stub matches. An error that it throws is logged. */
  readonly onUnmatched?: (call: UnmatchedCall) => void;
}

/** A call that no stub matched. */
export interface UnmatchedCall {
  readonly tool: string;
  readonly input: JsonObject;
  /** One line for each stub of the tool, the nearest first, with the reason why it does not match; at most ten. */
  readonly why: readonly string[];
}

/** The use of the stubs in all sessions. */
export interface StubReport {
  /** Whether every stub was used and every call was answered. */
  readonly ok: boolean;
  /** Number of calls, counting each attempt, answered or not. */
  readonly calls: number;
  readonly unmatchedCount: number;
  /** The first 100 of the unmatched calls. */
  readonly unmatched: readonly UnmatchedCall[];
  /** The indexes of the stubs that were never used. */
  readonly unused: readonly number[];
}

/** An engine that can report on the use of its stubs at any time. */
export interface StubEngine extends Engine {
  report(): StubReport;
}

/**
 * An engine that answers from an array of stubs: by the first one that matches the call and is not used up.
 *
 * The uses of each stub are counted in the state of the session, so a fork continues from there and a rolled-back call gives its use back; the report
 * counts over all sessions. A call that no stub matches is `not_found`, with the differences from the stubs of its tool.
 *
 * @throws ToolError `invalid_argument` naming each stub that cannot be used, and where it is wrong
 */
export function stubEngine(stubs: readonly Stub[], options: StubOptions = {}): StubEngine {
  if (typeof options !== "object" || options === null)
    throw new ToolError("invalid_argument", "The options of a stub engine must be an object, such as { onUnmatched }.");
  checkKnownKeys(options, { onUnmatched: true }, "stubEngine()");
  return new ListedStubs(checkStubs(stubs, "invalid_argument"), options);
}

/** A stub in the form in which it is looked up. */
interface Entry extends Pick<Stub, "output" | "error" | "times"> {
  readonly index: number;
  readonly matches: (toolName: string) => boolean;
  readonly expected: ExpectedInput | undefined;
  readonly stateKey: string;
  isUsed: boolean;
}

const MAX_UNMATCHED = 100;
const MAX_REASONS = 10;
/** Maximum number of stubs of a tool that are compared to find the nearest. */
const MAX_COMPARED = 1_000;
const MAX_CACHED_TOOLS = 10_000;

class ListedStubs implements StubEngine {
  readonly kind = "stub";
  /** Sequential, so that equal calls of one batch use up stubs in call order. */
  readonly order = "sequential";
  readonly state = "value";
  readonly effectFree = true;
  readonly origin = "stub";
  readonly #entries: readonly Entry[];
  readonly #entriesByTool = new Map<string, readonly Entry[]>();
  readonly #onUnmatched: StubOptions["onUnmatched"];
  readonly #unmatched: UnmatchedCall[] = [];
  #unmatchedCount = 0;
  #calls = 0;

  constructor(stubs: readonly Stub[], { onUnmatched }: StubOptions) {
    this.#entries = stubs.map(toEntry);
    this.#onUnmatched = onUnmatched;
  }

  call({ input }: EngineRequest, context: ToolContext): JsonValue {
    this.#calls++;
    const entries = this.#find(context.toolName);
    const meets = inputMatcher(input);
    for (const entry of entries) {
      if (entry.expected !== undefined && !meets(entry.expected)) continue;
      if (!consumeUse(entry, context)) continue;
      entry.isUsed = true;
      if (entry.error === undefined) return entry.output ?? null;
      const { code = "execution_failed", message, retryable, hint } = entry.error;
      throw new ToolError(code, message, omitUndefined({ retryable, hint }));
    }
    throw this.#recordUnmatched(entries, input, context);
  }

  report(): StubReport {
    const unused = this.#entries.filter(({ isUsed }) => !isUsed).map(({ index }) => index);
    return {
      ok: unused.length === 0 && this.#unmatchedCount === 0,
      calls: this.#calls,
      unmatchedCount: this.#unmatchedCount,
      unmatched: [...this.#unmatched],
      unused,
    };
  }

  /** The stubs of a tool, in the given order. */
  #find(toolName: string): readonly Entry[] {
    let entries = this.#entriesByTool.get(toolName);
    if (entries === undefined) {
      if (this.#entriesByTool.size >= MAX_CACHED_TOOLS) this.#entriesByTool.clear();
      this.#entriesByTool.set(toolName, (entries = this.#entries.filter(({ matches }) => matches(toolName))));
    }
    return entries;
  }

  #recordUnmatched(entries: readonly Entry[], input: JsonObject, { toolName, log }: ToolContext): NoAnswer {
    const why = mismatchReasons(entries, input);
    const unmatched: UnmatchedCall = { tool: toolName, input, why };
    this.#unmatchedCount++;
    if (this.#unmatched.length < MAX_UNMATCHED) this.#unmatched.push(unmatched);
    try {
      this.#onUnmatched?.(unmatched);
    } catch (thrown: unknown) {
      log(`onUnmatched of the stubs threw: ${describeThrown(thrown)}`);
    }
    const what = entries.length === 0 ? `No stub answers calls of ${toolName}.` : `No stub of ${toolName} answers this call.`;
    return new NoAnswer("not_found", what, {
      details: why,
      retryable: false,
      operatorHint: "Add a stub for it, or call it as one of them expects.",
    });
  }
}

function toEntry({ tool, input, exact = false, output, error, times }: Stub, index: number): Entry {
  return {
    index,
    matches: compileToolPattern(tool),
    expected: input === undefined ? undefined : toExpectedInput(input, exact),
    stateKey: `haft:stub:${index}`,
    isUsed: false,
    ...omitUndefined({ output, error, times }),
  };
}

/** Counts one use in the session; returns false if no use is left. */
function consumeUse({ times, stateKey }: Entry, { state }: ToolContext): boolean {
  if (times === undefined) return true;
  const used = Number(state.get(stateKey) ?? 0);
  if (used >= times) return false;
  state.update(stateKey, () => used + 1);
  return true;
}

/** Why each stub does not match, the nearest first. */
function mismatchReasons(entries: readonly Entry[], input: JsonObject): readonly string[] {
  const compared = entries.slice(0, MAX_COMPARED).map(({ index, expected, times }) => {
    const { count, lines } = expected === undefined ? NO_MISMATCH : describeMismatch(expected, input);
    const more = count > lines.length ? `, and ${count - lines.length} more` : "";
    const why = count === 0 ? `is used up after ${times ?? 0}` : `${lines.join("; ")}${more}`;
    return { count, line: `stubs[${index}]: ${why}` };
  });
  return compared
    .toSorted((one, other) => one.count - other.count)
    .slice(0, MAX_REASONS)
    .map(({ line }) => line);
}

const NO_MISMATCH = { count: 0, lines: [] } as const;

/** Matches qualified names. A pattern without a namespace matches the tool of that name in every toolset. */
function compileToolPattern(pattern: string): (toolName: string) => boolean {
  const [head = "", ...parts] = (pattern.includes("::") || pattern.startsWith("*") ? pattern : `*::${pattern}`).split("*");
  const tail = parts.pop();
  if (tail === undefined) return (toolName) => toolName === head;
  return (toolName) => {
    const end = toolName.length - tail.length;
    if (head.length > end || !toolName.startsWith(head) || !toolName.endsWith(tail)) return false;
    let from = head.length;
    for (const part of parts) {
      const at = toolName.indexOf(part, from);
      if (at < 0 || at + part.length > end) return false;
      from = at + part.length;
    }
    return true;
  };
}
