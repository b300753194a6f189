/** Calls that a handler makes as part of the call it answers, and how deep composite tools may call one another. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { CallTools, NestedCallOptions } from "../core/context.ts";
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { ResultStatus, ToolResult } from "../core/result.ts";
import type { Session } from "../session/session.ts";
import type { AdmittedCall, CallRun } from "./call-run.ts";
import { madeBy } from "./nested-calls.ts";
import type { NestedCalls } from "./nested-options.ts";

type Results = ToolResult | readonly ToolResult[];

const OPTIONS: OptionNames<NestedCallOptions> = { signal: true, background: true };
/** A composite tool that calls composite tools that call composite tools. */
const MAX_DEPTH = 3;
const FAILED: ReadonlySet<ResultStatus> = new Set(["error", "cancelled", "skipped"]);
const DEPTH = new AsyncLocalStorage<number>();

/** How many composite calls a session is inside, of those that were begun by one. */
const SESSION_DEPTHS = new WeakMap<Session, number>();

/** The session of the composite call that a session was begun by. */
const CALLERS = new WeakMap<Session, Session>();

/** Why a call must be approved: by the rules, or by those of its session and of each session whose call that one belongs to. */
export function approvalNeed({ parts, plan, turn }: AdmittedCall, destructive: boolean): string | undefined {
  let reason: string | undefined;
  for (let session: Session | undefined = turn.session; reason === undefined && session !== undefined; session = callerOf(session))
    reason = parts.approvals.needed(plan.qualifiedName, destructive, session);
  return reason;
}

/** A branch has the caller of what it is a branch of. */
function callerOf(session: Session): Session | undefined {
  let caller: Session | undefined;
  for (let one: Session | undefined = session; caller === undefined && one !== undefined; one = one.parent) caller = CALLERS.get(one);
  return caller;
}

/** Begins a session whose calls count as made inside this composite call. */
export async function beginDeeper({ turn }: CallRun, begin: () => Promise<Session>): Promise<Session> {
  const depth = depthIn(turn.session) + 1;
  const session = await DEPTH.run(depth, begin);
  SESSION_DEPTHS.set(session, depth);
  CALLERS.set(session, turn.session);
  return session;
}

/** How many composite calls the code running now is inside, as a call of this session. */
function depthIn(session: Session): number {
  let begun: number | undefined;
  for (let one: Session | undefined = session; begun === undefined && one !== undefined; one = one.parent) begun = SESSION_DEPTHS.get(one);
  return Math.max(DEPTH.getStore() ?? 0, begun ?? 0);
}

/** Refuses a composite tool that is called too deep inside others. */
export function tooDeep({ toolName, turn }: CallRun): ToolError | undefined {
  if (depthIn(turn.session) < MAX_DEPTH) return undefined;
  return new ToolError(
    "limit_exceeded",
    `${toolName} was not run: it is called inside ${MAX_DEPTH} composite tools, and that is the limit.`,
    {
      outcome: "not_started",
      hint: "Call the tools that it is made of.",
    },
  );
}

interface Attempt {
  readonly signal: AbortSignal;
  readonly isOver: boolean;
}

/** Returns the function that makes the calls of one attempt. It may be called from anywhere: they are those of the code that asked for it here. */
export function nestedCalls(run: AdmittedCall, attempt: Attempt): CallTools {
  const asHandler = AsyncLocalStorage.snapshot();
  let made = 0;
  const call = (calls: ToolCall | readonly ToolCall[], options: NestedCallOptions = {}): Promise<Results> => {
    if (attempt.isOver) return Promise.reject(tooLate(run));
    try {
      checkKnownKeys(options, OPTIONS, "context.execute()");
    } catch (thrown: unknown) {
      return Promise.reject(ToolError.fromUnknown(thrown));
    }
    const { signal, background } = options;
    const nested: NestedCalls = {
      signal: signal === undefined ? attempt.signal : AbortSignal.any([attempt.signal, signal]),
      ...(background === undefined ? {} : { background }),
      // After a crash the same code makes the same calls again, in the same order, and those that were made have their results.
      ...(run.plan.tool.composite === true && run.kept ? { idempotencyKey: `${run.callId}/${++made}` } : {}),
    };
    run.unanswered = (run.unanswered ?? 0) + 1;
    const results = asHandler(() =>
      DEPTH.run(depthIn(run.turn.session) + 1, () => madeBy(run, () => run.parts.executeWithin(run, calls, nested))),
    );
    return results.then((ended) => {
      if ([ended].flat().every(({ status }) => !FAILED.has(status))) run.unanswered = (run.unanswered ?? 1) - 1;
      return Array.isArray(ended) ? ended.map((one: ToolResult) => whole(run, one)) : whole(run, ended as ToolResult);
    });
  };
  return call as CallTools; // one call gives one result, a list gives a list
}

/** Code is not cut short what is too long for a model, as far as it is kept. */
function whole({ parts, turn }: CallRun, result: ToolResult): ToolResult {
  const { truncation, ...rest } = result;
  const kept = truncation?.handle === undefined ? undefined : parts.largeResults.whole(turn.session.id, truncation.handle);
  if (kept === undefined) return result;
  const { output, content } = kept;
  return { ...rest, ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }) };
}

function tooLate({ toolName }: CallRun): ToolError {
  return new ToolError("invalid_argument", `${toolName} made a call after its own had ended; that is too late.`, {
    outcome: "not_started",
  });
}
