/**
 * Finds out whether the answer of a handler is valid for its own call only: what the handler did meanwhile decides, not only what its tool declares.
 */
import type { ToolError } from "../../core/error.ts";
import { normalizeCacheSettings } from "../../registry/check-cache.ts";
import { isAdmitted, lockKeysOf, type AdmittedCall, type CallRun } from "../call-run.ts";
import type { CachedRead } from "./cache-plan.ts";

/** Maximum number of resources that an answer may be read from besides those that its tool declares. */
const MAX_OTHER_READS = 1_000;
/** The approval is about this caller's request. */
export const APPROVAL_NEEDED = "its handler made a call that needs approval";

/** Whether the answer depends on nothing private to a session: neither its own state, nor an engine's state for it. */
export function isSessionIndependent({ effects, route }: AdmittedCall): boolean {
  return !effects.hasSessionKeys && (route.engine.state ?? "none") === "none" && route.engine.effectFree !== true;
}

/** Notes that a cached answer would not repeat what the handler did. It is neither cached nor passed on, and nor are those of the calls around it. */
export function markUnshared(run: CallRun, why: string): void {
  for (let one: CallRun | undefined = run; one !== undefined; one = one.callerRun) markRead(one.cachedRead, why);
}

/** Like `markUnshared`, for the calls around this one only. */
export function markCallersUnshared(run: CallRun, why: string): void {
  if (run.callerRun !== undefined) markUnshared(run.callerRun, why);
}

/** Notes that a handler read something of its session without declaring it. Within a turn, equal calls may still share the answer. */
export function noteSessionRead(run: AdmittedCall, why: string): void {
  if (!isSessionIndependent(run)) return; // `noteNestedEnd` notes it for the calls around this one
  const { session } = run.turn;
  for (let one: CallRun | undefined = run; one !== undefined; one = one.callerRun)
    if (one.turn.session === session && one.cachedRead !== undefined && isAdmitted(one) && isSessionIndependent(one))
      markSessionRead(one.cachedRead, why);
}

/** Notes, for the calls around this one, that it has begun: until it has ended, their answers are not complete. */
export function noteNestedStart(run: CallRun): void {
  for (let outer = run.callerRun; outer !== undefined; outer = outer.callerRun) outer.openNested = (outer.openNested ?? 0) + 1;
}

/** Notes, for the calls around this one, what their answers depend on because of it. Called at its end, before its own cache state is dropped. */
export function noteNestedEnd(run: CallRun, error: ToolError | undefined): void {
  for (let outer = run.callerRun; outer !== undefined; outer = outer.callerRun) {
    const { cachedRead: read } = outer;
    if (read === undefined || !isAdmitted(outer)) continue;
    if (read.unsharedBecause !== undefined) continue;
    if (error?.code === "permission_denied") continue; // calls under other rules are not equal
    if (error !== undefined || !isAdmitted(run)) markRead(read, ""); // the next call may succeed: not worth a warning
    else noteDependencies(run, outer, read);
  }
}

/** Within a turn, equal calls may share the answer, but what is made of it must not leave the session. */
function markSessionRead(read: CachedRead, why: string): void {
  if (read.plan.scope === "turn") read.readsSession = true;
  else markRead(read, why);
}

function noteDependencies(run: AdmittedCall, outer: AdmittedCall, read: CachedRead): void {
  if (run.turn.session === outer.turn.session && isOfSession(run) && isSessionIndependent(outer))
    markSessionRead(read, `its handler called ${run.toolName}, whose results are valid in its session only`);
  if (read.unsharedBecause !== undefined) return;
  const why = findOwnDependency(run, outer, read);
  if (why !== undefined) return markRead(read, `its handler called ${run.toolName}, ${why}`);
  const declared = new Set(read.reads);
  const others = new Set(read.otherReads);
  for (const key of [...lockKeysOf(run).reads, ...(run.answer.otherReads ?? [])]) if (!declared.has(key)) others.add(key);
  if (others.size === 0) return;
  if (read.stored !== undefined) {
    markRead(
      read,
      `its handler called ${run.toolName}, which reads ${[...others].map((key) => JSON.stringify(key)).join(", ")}: declare that too`,
    );
  } else if (others.size > MAX_OTHER_READS) {
    markRead(read, `its handler's calls read more than ${MAX_OTHER_READS} resources that its tool does not declare`);
  } else {
    read.otherReads = [...others];
  }
}

/** Whether the answer depends on the session: as its tool declares, or because it is that of an equal call whose handler read the session. */
function isOfSession(run: AdmittedCall): boolean {
  return !isSessionIndependent(run) || run.answer.readsSession === true;
}

/** Returns why the answer of a nested call makes that of the call around it valid for this caller only. */
function findOwnDependency(run: AdmittedCall, outer: AdmittedCall, read: CachedRead): string | undefined {
  const { tool, registered } = run.plan;
  if (run.effects.writes.length > 0) return "which may write";
  if (run.faults?.answerFault !== undefined) return "whose answer an injected fault changed";
  if (registered.toolset.engine?.perUser === true && outer.plan.registered.toolset.engine?.perUser !== true)
    return "whose results are those of a user";
  const identity = tool.cache === undefined ? [] : (normalizeCacheSettings(tool.cache).identity ?? []);
  const missing = identity.filter((key) => !read.plan.identity.includes(key));
  return missing.length === 0 ? undefined : `whose cache.identity has ${missing.map((key) => JSON.stringify(key)).join(", ")}`;
}

function markRead(read: CachedRead | undefined, why: string): void {
  if (read !== undefined) read.unsharedBecause ??= why;
}

/** Whether the answer may be given to equal calls. Warns once for each tool whose answers may not, unless it was for a failure. */
export function mayShareAnswer({ openNested = 0 }: CallRun, { unsharedBecause: why, plan }: CachedRead): boolean {
  if (why !== undefined && why !== "") plan.warnAboutAnswer(why);
  return why === undefined && openNested === 0;
}
