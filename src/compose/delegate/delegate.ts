/** A delegate: a sub-agent, or any other loop, that a model calls as a tool. */
import { quoteValue, plural } from "../../core/base/wording.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ToolContext } from "../../core/context.ts";
import type { ToolOutput } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { checkArgument, wrongReturnError } from "../../core/check-argument.ts";
import { ignoreRejection } from "../../core/system/ignore-rejections.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import type { ModelMessage } from "../../core/message.ts";
import { partText } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import { callerVisibility, sessionOfContext, shownHistoryOf } from "../../call/context/tool-context.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import { visibilityOf } from "../../policy/visibility.ts";
import { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { Session } from "../../session/session.ts";
import { sessionWithin } from "../../runtime/session-within.ts";
import { createLoop } from "../loop.ts";
import { NO_USAGE, type LoopResult } from "../loop-result.ts";
import { StructuredOutput } from "../structured-output.ts";
import {
  checkDelegate,
  checkMaxRunning,
  LOOP_KEYS,
  TASK_SCHEMA,
  taskOf,
  type DelegateLoopOptions,
  type DelegateOptions,
} from "./delegate-options.ts";
import { DelegateReport } from "./delegate-report.ts";
import { registerDelegate } from "./tools-read-by-delegates.ts";
import { sharedContext } from "./shared-context.ts";

const DEFAULT_MAX_RUNNING = 3;

/** Options of `delegatesToolset`. */
export interface DelegatesToolsetOptions {
  /** @default "delegates" */
  readonly name?: string;
  readonly description?: string;
  readonly delegates: readonly DelegateOptions[];
  /** Maximum number of runs of all delegates at once in one conversation. Integer ≥ 1. @default 3 */
  readonly maxRunning?: number;
}

/**
 * Returns a sub-agent as a tool: a model calls it with a task, and it answers with the last text of its own loop.
 *
 * The loop has its own session, and at most the tools that the caller may use. Its calls are checked, approved and recorded like any other, cancelled
 * with the delegate's call, and simulated if that call is. Delegates may call delegates, at most 3 levels deep, and `maxRunning` at once. A delegate
 * that is stopped by a limit, by its model or by a call that waits for approval ends `execution_failed`, and one that is cancelled ends `cancelled`;
 * both keep the latest text and the list of calls as their output.
 *
 * If a store keeps the caller's session, the delegate's session is kept under the id `<session>/<call>`, and after a crash it continues from there.
 * By default a delegate has no timeout and is attempted once: see `timeoutMs` and `maxAttempts`.
 *
 * @throws ToolError `invalid_argument`, `invalid_schema`
 */
export function delegateTool(options: DelegateOptions): Tool {
  checkDelegate(options);
  const { maxRunning = DEFAULT_MAX_RUNNING } = options;
  checkMaxRunning(maxRunning, `the delegate ${quoteValue(options.name)}`);
  return createDelegateTool(options, new RunningDelegates(maxRunning));
}

/** Returns a toolset of delegates, which share one limit of concurrent runs. @throws ToolError `invalid_argument`, `invalid_schema` */
export function delegatesToolset(options: DelegatesToolsetOptions): Toolset {
  checkKnownKeys(options, { name: "string", description: "string", delegates: "array", maxRunning: true }, "delegatesToolset()");
  checkArgument(
    Array.isArray(options.delegates),
    "delegatesToolset({ delegates })",
    "an array of the options of delegates",
    options.delegates,
  );
  const { name = "delegates", description = "Sub-agents that do a task on their own.", maxRunning = DEFAULT_MAX_RUNNING } = options;
  checkMaxRunning(maxRunning, "delegatesToolset()");
  const running = new RunningDelegates(maxRunning);
  const tools = options.delegates.map((delegate) => {
    checkDelegate(delegate);
    if (delegate.maxRunning === undefined) return createDelegateTool(delegate, running);
    checkMaxRunning(delegate.maxRunning, `the delegate ${JSON.stringify(delegate.name)}`);
    return createDelegateTool(delegate, running, new RunningDelegates(delegate.maxRunning));
  });
  return { name, description, tools };
}

/** @param limits each counts the runs of the tool */
function createDelegateTool(options: DelegateOptions, ...limits: readonly RunningDelegates[]): Tool {
  const { share: _share, maxRunning: _maxRunning, prompt: _prompt, allow: _allow, output, inputSchema = TASK_SCHEMA, ...rest } = options;
  const tool = Object.fromEntries(Object.entries(rest).filter(([key]) => !Object.hasOwn(LOOP_KEYS, key)));
  const reader = output === undefined ? undefined : new StructuredOutput(output);
  return {
    timeoutMs: 0,
    maxAttempts: 1,
    ...(tool as Pick<Tool, "name" | "description">), // only the fields of a tool are left
    inputSchema,
    ...(reader === undefined ? {} : { outputSchema: reader.responseFormat.schema }),
    composite: true,
    execute: (input: JsonObject, context: ToolContext) => executeDelegate(options, { input, context, reader, limits }),
  };
}

interface DelegateCall {
  readonly input: JsonObject;
  readonly context: ToolContext;
  readonly reader: StructuredOutput | undefined;
  readonly limits: readonly RunningDelegates[];
}

/** @throws ToolError `resource_busy`; the error of a model that could not be asked; `cancelled` with the call */
async function executeDelegate(options: DelegateOptions, call: DelegateCall): Promise<ToolOutput> {
  const { context, limits } = call;
  const caller = sessionOfContext(context);
  const cleanups: (() => void)[] = [];
  try {
    for (const limit of limits) cleanups.push(limit.acquire(caller, context.toolName));
    const session = await sessionWithin(context, omitUndefined({ allow: options.allow }));
    for (const limit of limits) limit.setRoot(session, caller);
    const report = new DelegateReport(context, session);
    cleanups.push(registerDelegate(caller, () => report.toolsRead));
    try {
      return await runUntilCallerCloses(caller, session, () => runDelegateLoop({ session, report }, options, call));
    } finally {
      await session.close();
    }
  } finally {
    for (const end of cleanups) end();
  }
}

/** Closes the session of the delegate when its caller's is closed: no new call begins in it, and running calls are waited for. */
async function runUntilCallerCloses(caller: Session, session: RuntimeSession, work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  const removeListener =
    caller instanceof RuntimeSession ? onAbort(caller.whenClosed, () => void session.close().catch(() => {})) : undefined;
  try {
    return await work();
  } catch (thrown: unknown) {
    if (caller.closed) throw new ToolError("cancelled", "The session of its caller was closed.", { cause: thrown });
    throw thrown;
  } finally {
    removeListener?.();
  }
}

/** Begins the loop, or continues it after a crash. */
async function runDelegateLoop(
  { session, report }: { readonly session: RuntimeSession; readonly report: DelegateReport },
  options: DelegateOptions,
  { input, context, reader }: DelegateCall,
): Promise<ToolOutput> {
  const { share = "task", prompt = taskOf, output, onEvent } = options;
  const { ask, data, variation, signal } = context;
  await report.examinePastEvents();
  const messages = session.messages();
  const ended = await findEarlierResult(messages, reader);
  if (ended !== undefined) return report.buildAnswer(ended);
  const loop = createLoop({
    ...pickLoopOptions(options),
    session,
    agentName: options.name,
    // At most the tools that the caller of the delegate may use.
    allow: visibilityOf([callerVisibility(context), options.allow === undefined ? undefined : visibilityOf(options.allow)]),
    // the session ends with the loop, so no call can run in the background
    calls: {
      data,
      background: false,
      ask: ({ asker, message, schema, url }) => ask({ message, ...omitUndefined({ schema, url }) }, asker),
      ...omitUndefined({ variation }),
    },
    onEvent: (event) => {
      report.onEvent(event);
      return onEvent?.(event);
    },
  });
  const hasStarted = messages.some(({ role }) => role === "user");
  const shared = hasStarted || messages.length > 0 ? undefined : sharedContext(share, shownHistoryOf(context) ?? []);
  if (shared !== undefined) await session.addMessage(shared);
  const result = await loop.run(hasStarted ? undefined : checkPrompt(prompt(input)), { signal, ...omitUndefined({ output }) });
  signal.throwIfAborted();
  return report.buildAnswer(result);
}

/** @throws ToolError `invalid_argument` for anything but a string, such as a promise */
function checkPrompt(prompt: unknown): string {
  if (typeof prompt === "string") return prompt;
  ignoreRejection(prompt);
  throw wrongReturnError("prompt() of a delegate returns a string", prompt);
}

function pickLoopOptions(options: DelegateOptions): DelegateLoopOptions {
  // Only the loop's options are left.
  return Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(LOOP_KEYS, key))) as unknown as DelegateLoopOptions;
}

/** Returns the result of a loop that had answered before a crash; undefined if it had not. */
async function findEarlierResult(messages: readonly ModelMessage[], reader: StructuredOutput | undefined): Promise<LoopResult | undefined> {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return undefined;
  const text = typeof last.content === "string" ? last.content : last.content.map(partText).join("\n");
  const result: LoopResult = { text, reason: "answered", rounds: 0, results: [], usage: NO_USAGE };
  if (reader === undefined) return result;
  const reading = await reader.read(text);
  return "value" in reading ? { ...result, output: reading.value } : undefined;
}

/** Limits how many delegates run at once in one conversation, including those called by delegates. */
class RunningDelegates {
  readonly #maxRunning: number;
  /** Number of running delegates, by the root session: the one that is not a delegate's. */
  readonly #running = new WeakMap<object, number>();
  /** The root session of each delegate's session. */
  readonly #roots = new WeakMap<object, object>();

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /** Takes a place, and returns a function that releases it. @throws ToolError `resource_busy` */
  acquire(session: object, name: string): () => void {
    const root = this.#rootOf(session);
    const running = this.#running.get(root) ?? 0;
    if (running >= this.#maxRunning)
      throw new ToolError(
        "resource_busy",
        `${name} was not started: ${plural(running, "delegate is", "delegates are")} running already, which is the limit.`,
        {
          outcome: "not_started",
          hint: "Call it again when one of them has ended, or do the task without it.",
        },
      );
    this.#running.set(root, running + 1);
    return () => void this.#running.set(root, (this.#running.get(root) ?? 1) - 1);
  }

  /** Records the root of a delegate's session. @param caller the session whose call began it */
  setRoot(session: object, caller: object): void {
    this.#roots.set(session, this.#rootOf(caller));
  }

  #rootOf(session: object): object {
    return this.#roots.get(session) ?? session;
  }
}
