/** The tool `run_program`. */
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { ToolContext } from "../../core/context.ts";
import { describeThrown, ToolError } from "../../core/error.ts";
import { packageLoadError } from "../../core/system/lazy-package.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { plural } from "../../core/base/wording.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { callerVisibility, findCallStart, portsOf, registryOf } from "../../call/context/tool-context.ts";
import { visibleTools } from "../../policy/visibility.ts";
import type { ProgramEnd, ProgramLimits, ThrownInProgram } from "../../processes/program/thread-messages.ts";
import { PROGRAM_TOOL, type ProgramOffer } from "../../registry/program-offer.ts";
import { withProgramSlot } from "./program-slots.ts";
import { runProgram, type ProgramOutcome } from "./run-program.ts";

export interface ProgramInput {
  readonly code: string;
  readonly input?: JsonValue;
}

const MAX_CODE = 200_000;
/** Maximum number of names that `Object.keys(tools)` lists. Further tools can still be called by name. */
const MAX_NAMES = 2_000;
const FENCED = "$.code: begins with the fence of a code block (```); give only the program in it";
/** Maximum number of calls that an error lists. */
const MAX_LISTED_CALLS = 50;

const DESCRIPTION = `Runs a program in JavaScript that calls tools. Use it for several calls that depend on one another, for loops and for filtering: you are shown only what the program returns and prints.

\`code\` is the body of an async function. tools.<toolset>.<tool>(input) calls a tool and resolves to its output; a tool without toolset is tools.<tool>(input), and a name that is no identifier is written tools["my-tools"]["do-it"](input). Calls that do not wait for one another run at the same time: await Promise.all([…]). A call that fails throws a ToolError with code and message. Return the answer as JSON; console.log shows text beside it. There are no files, timers, modules or network but by tools.

Example: const items = await tools.shop.list({ page: 1 }); return items.filter((item) => item.left < 5).map((item) => item.name);`;

export function programTool(limits: ProgramLimits, offer: ProgramOffer, approveWhole: boolean): Tool {
  return {
    name: PROGRAM_TOOL,
    description: DESCRIPTION,
    inputSchema: {
      type: "object",
      properties: {
        code: { type: "string", minLength: 1, maxLength: MAX_CODE, description: "The body of an async function, in JavaScript." },
        input: { description: "Any JSON; the program has it as the variable `input`." },
      },
      required: ["code"],
      additionalProperties: false,
    },
    validate: ({ code }) => (typeof code === "string" && /^\s*```/u.test(code) ? [FENCED] : []),
    tags: ["haft"],
    metadata: { program: offer },
    composite: true,
    ...(approveWhole ? { approveWhole } : {}),
    timeoutMs: 0,
    maxAttempts: 1,
    execute: async (input: ProgramInput, context: ToolContext) =>
      buildAnswer(await withProgramSlot(context.signal, () => run(input, context, limits)), limits),
  };
}

/** Reads `context.execute` itself, because calls belong to the code that reads it. */
async function run({ code, input = null }: ProgramInput, context: ToolContext, limits: ProgramLimits): Promise<ProgramOutcome> {
  const { execute, signal } = context;
  const { clock } = portsOf(context);
  return runProgram({
    ...limits,
    code,
    input: JSON.stringify(input),
    toolNames: listToolNames(context),
    seed: context.callId,
    wallTime: await findCallStart(context),
    clock,
    signal,
    execute: (call, stopped) => execute(call, { background: false, signal: stopped }),
  });
}

/** The names that `Object.keys(tools)` lists. */
function listToolNames(context: ToolContext): readonly string[] {
  const names = new Set<string>();
  for (const { tool, toolset, qualifiedName } of visibleTools(registryOf(context), callerVisibility(context))) {
    if (tool.providerExecuted === true || toolset.name === OWN_NAMESPACE || qualifiedName === context.toolName) continue;
    names.add(qualifiedName.startsWith("default::") ? qualifiedName.slice("default::".length) : qualifiedName);
    if (names.size >= MAX_NAMES) break;
  }
  return [...names].sort();
}

/** @throws ToolError that says how the program ended and which calls it made */
function buildAnswer({ end, log, results, unawaited }: ProgramOutcome, limits: ProgramLimits): JsonObject {
  if (end.kind !== "returned") throw toFailureError(end, { log, results }, limits);
  const note =
    end.returnedNothing && results.length === 0 && log === ""
      ? "The program made no call and returned nothing. Write the body of a function, with its own return: not a function that nobody calls."
      : unawaitedNote(results, unawaited);
  return {
    returned: readReturned(end.text, failureDetails({ log, results })),
    ...(log === "" ? {} : { printed: log }),
    ...(note === undefined ? {} : { note }),
  };
}

/** Describes calls that the program did not wait for, on purpose (`Promise.race`) or not: code after them never ran, and errors are lost. */
function unawaitedNote(results: readonly ToolResult[], unawaited: readonly number[]): string | undefined {
  if (unawaited.length === 0) return undefined;
  const listed = unawaited
    .slice(0, MAX_LISTED_CALLS)
    .flatMap((index) => (results[index] === undefined ? [] : [formatCallResult(results[index], index)]));
  return `The program ended without waiting for ${plural(unawaited.length, "call")}: they were made, but their answers were not used. Await those whose answers matter, including those made inside a function: await main(), await Promise.all(items.map(async …)). ${listed.join(" ")}`;
}

type Failure = Exclude<ProgramOutcome["end"], { readonly kind: "returned" }>;

interface FailureDetails {
  readonly outcome: "unknown" | "failed";
  readonly details: readonly string[];
  readonly retryable: false;
}

/** The parts that all errors of a program share: its calls, its printed text, and whether it may have had effects. */
function failureDetails({ log, results }: Pick<ProgramOutcome, "log" | "results">): FailureDetails {
  const mayHaveActed = results.some(({ status, error }) => status === "ok" || status === "partial" || error?.outcome === "unknown");
  const listed = results.slice(0, MAX_LISTED_CALLS).map(formatCallResult);
  const more = results.length > listed.length ? [`And ${plural(results.length - listed.length, "more call")}.`] : [];
  const printed = log === "" ? [] : [`Printed: ${log.trimEnd()}`];
  return { outcome: mayHaveActed ? "unknown" : "failed", details: [...listed, ...more, ...printed], retryable: false };
}

/** @throws ToolError `too_large` for JSON that is too deep or has too many values, although the calls of the program were made */
function readReturned(text: string, options: FailureDetails): JsonValue {
  try {
    return parseJson(text, { longIntegers: "round" });
  } catch (thrown: unknown) {
    throw new ToolError("too_large", `The program ended, but what it returned is too large. ${describeThrown(thrown)}`, {
      ...options,
      hint: "Return less, or nest it less deeply: a summary, or what is asked for.",
      cause: thrown,
    });
  }
}

function toFailureError(end: Failure, outcome: Pick<ProgramOutcome, "log" | "results">, limits: ProgramLimits): ToolError {
  const options = failureDetails(outcome);
  if (end.kind === "missing")
    return packageLoadError({ name: "quickjs-emscripten", need: "programs written by models need it" }, end.message);
  if (end.kind === "limit") return limitReachedError(end.limit, limits, options);
  if (end.kind === "invalid")
    return new ToolError("invalid_input", `The program has a syntax error${formatPlace(end)}: ${end.message}.`, {
      hint: "`code` is the body of an async function, in JavaScript: no import, no types.",
    });
  if (end.kind === "threw") {
    const error = end.name === "" ? `by throwing ${end.message}` : `with ${end.name}: ${end.message}`;
    return new ToolError("execution_failed", `The program ended${formatPlace(end)} ${error}`, {
      ...options,
      ...hintFor(end),
      details: [...end.details, ...options.details],
    });
  }
  if (end.kind === "waiting")
    return new ToolError("execution_failed", "The program waits for a promise that nothing resolves.", {
      ...options,
      hint: "Only tool calls take time; there are no timers.",
    });
  return new ToolError("execution_failed", `The interpreter of the program failed: ${end.message}.`, options);
}

type LimitEnd = Extract<ProgramEnd, { readonly kind: "limit" }>["limit"];

function limitReachedError(limit: LimitEnd, limits: ProgramLimits, options: ConstructorParameters<typeof ToolError>[2]): ToolError {
  const texts: Readonly<Record<LimitEnd, readonly [string, string]>> = {
    time: [`it computed for more than ${limits.maxRunMs} ms`, "Do less at once. Waiting for tools does not count."],
    memory: [`it needed more than ${limits.maxMemoryMb} MiB of memory`, "Keep less at once, or ask tools for less."],
    stack: ["its functions called one another too deep", "Use a loop instead of recursion."],
    calls: [`it made more than ${plural(limits.maxCalls, "call")}`, "Split the work over several programs."],
    text: ["it returned, or passed to tools at once, more than 4 MiB of text", "Return less: a summary, or what is asked for."],
  };
  const [what, hint] = texts[limit];
  return new ToolError("limit_exceeded", `The program was stopped: ${what}.`, { ...options, hint });
}

function formatCallResult({ name, status, error }: ToolResult, index: number): string {
  return `Call ${index + 1}: ${name} ended with the status ${status}${error === undefined ? "" : ` (${error.code})`}.`;
}

function formatPlace({ place }: { readonly place: { readonly line: number; readonly column: number } | undefined }): string {
  return place === undefined ? "" : ` in line ${place.line}, column ${place.column}`;
}

/** The hint for a global that programs do not have but models expect. */
function hintFor({ name, message, hint }: ThrownInProgram): { readonly hint?: string } {
  if (hint !== "") return { hint };
  const missing = name === "ReferenceError" ? /^'?(\w+)'? is not defined$/u.exec(message)?.[1] : undefined;
  if (missing === undefined && !message.startsWith("could not load module")) return {};
  return { hint: "A program has the language itself, tools, input, console and ToolError: no timers, modules, process, fetch or files." };
}
