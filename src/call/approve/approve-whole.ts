/** Approval of a composite call as a whole: it is simulated first, and one answer covers the calls that the simulation showed. */
import type { CoveredCall } from "../../core/approval-store.ts";
import { isToolError, type ToolError } from "../../core/error.ts";
import { isComputer, safetyChecks } from "../../core/safety-checks.ts";
import { approvalDigest, approvalId } from "../../policy/approval/approval-digest.ts";
import { readEvents } from "../../session/read-events.ts";
import { definitionOf } from "../../registry/definition-of.ts";
import { plural } from "../../core/base/wording.ts";
import { askApproval, noteAllowed } from "./ask-approval.ts";
import { CallRun, type AdmittedCall } from "../call-run.ts";
import { approvalNeed, neededIn } from "../context/composite.ts";

/** Maximum number of calls that one answer covers, and maximum size of them as JSON: all of them are shown to the approver. */
const MAX_COVERED = 200;
const MAX_COVERED_BYTES = 64 * 1024;

/** How often a call with this digest may still be made without asking again. */
type Covers = Map<string, number>;

/** The covered calls of each call that was approved as a whole. */
const COVERS = new WeakMap<CallRun, Covers>();

/**
 * Simulates the call. If it or one of its nested calls needs approval, the approver is asked once and shown all nested calls. The answer covers each
 * of them, with the input that was shown, as often as it was shown. Approval of any other nested call is asked as usual.
 */
export async function approveWhole(run: AdmittedCall): Promise<AdmittedCall | ToolError> {
  const { preview, calls } = await run.parts.simulate(run);
  const own = approvalNeed(run, false);
  const before = await shownBefore(run);
  const needing = (before ?? calls).filter((call) => needsApproval(run, call)).length;
  if (own === undefined && needing === 0) return run;
  const reason =
    needing === 0 ? own : `${run.toolName} would make ${plural(needing, "call")} that ${needing === 1 ? "needs" : "need"} approval.`;
  const covers = before ?? shownCalls(calls);
  const answer = { isOfPerson: false };
  const allowed = await askApproval(run, reason ?? "", { preview, covers, onAllowed: () => (answer.isOfPerson = true) });
  if (isToolError(allowed) || !answer.isOfPerson) return allowed;
  // A question from before a crash covers the calls that were shown then.
  COVERS.set(run, coversOf((await questionOf(run))?.covers ?? covers));
  return run;
}

/**
 * After a crash, the calls shown with the question that is still open: a person may have answered it having seen those, whatever this simulation
 * shows. Undefined if there is no open question, or if it is about another definition.
 */
async function shownBefore(run: AdmittedCall): Promise<readonly CoveredCall[] | undefined> {
  if (run.resumed === undefined) return undefined;
  const question = await questionOf(run);
  return question?.status === "open" && question.digest === ownDigest(run) ? question.covers : undefined;
}

/** After a crash, restores which calls the earlier answer covers, without the calls that have ended. */
export async function coverAgain(run: AdmittedCall): Promise<AdmittedCall> {
  const question = await questionOf(run);
  if (question?.status !== "allowed" || question.covers === undefined) return run;
  const covers = coversOf(question.covers);
  for (const call of await endedIn(run)) takeOne(covers, approvalDigest(call));
  COVERS.set(run, covers);
  return run;
}

/** Whether this very call was approved before a crash, or in the process that owned its session before. */
export function wasAllowed(run: AdmittedCall): boolean {
  const allowed = run.resumed?.allowed;
  return allowed !== undefined && allowed === ownDigest(run);
}

/** Whether the approval of a call around this one covers it; if so, one use of it is taken. */
export function isCovered(run: AdmittedCall): boolean {
  let outer: unknown = run.turn.madeIn;
  let digest: string | undefined;
  while (outer instanceof CallRun) {
    const covers = COVERS.get(outer);
    if (covers !== undefined) {
      digest ??= ownDigest(run);
      if (takeOne(covers, digest)) {
        noteAllowed(run, digest);
        return true;
      }
    }
    outer = outer.turn.madeIn;
  }
  return false;
}

function questionOf({ parts, turn, callId }: AdmittedCall) {
  return parts.approvals.get(approvalId({ sessionId: turn.session.id, callId })).catch(() => undefined);
}

/** The first calls, as many as can be shown. */
function shownCalls(calls: readonly CoveredCall[]): readonly CoveredCall[] {
  const shown: CoveredCall[] = [];
  let bytes = 0;
  for (const call of calls.slice(0, MAX_COVERED)) {
    bytes += Buffer.byteLength(JSON.stringify(call));
    if (bytes > MAX_COVERED_BYTES) break;
    shown.push(call);
  }
  return shown;
}

function needsApproval({ parts, turn }: AdmittedCall, { toolName, input }: CoveredCall): boolean {
  const registered = parts.registry.get(toolName);
  const plan = registered === undefined ? undefined : parts.planOf(registered);
  const isChecked = plan !== undefined && isComputer(plan.tool) && safetyChecks(input) !== undefined;
  const { destructive } = plan?.effects ?? plan?.effectsOf(input) ?? { destructive: false };
  return neededIn(turn.session, parts.approvals, { qualifiedName: toolName, destructive: destructive || isChecked }) !== undefined;
}

function coversOf(calls: readonly CoveredCall[]): Covers {
  const covers: Covers = new Map();
  for (const call of calls) {
    const digest = approvalDigest(call);
    covers.set(digest, (covers.get(digest) ?? 0) + 1);
  }
  return covers;
}

function ownDigest({ parts, plan: { qualifiedName: toolName }, input }: AdmittedCall): string {
  return approvalDigest({ toolName, input, definition: definitionOf(parts.registry, toolName) });
}

function takeOne(covers: Covers, digest: string): boolean {
  const left = covers.get(digest) ?? 0;
  if (left > 0) covers.set(digest, left - 1);
  return left > 0;
}

/** The nested calls that have ended, at any depth. The oldest events of a long session may be only in its store. */
async function endedIn({ parts, turn: { session }, callId }: AdmittedCall): Promise<readonly CoveredCall[]> {
  const { eventLog, firstKept, log } = session;
  const events = eventLog === undefined || firstKept === 0 ? log : readEvents(eventLog);
  const within = new Set([callId]);
  const ended: CoveredCall[] = [];
  for await (const event of events) {
    if (event.type === "call-start" && event.parentCallId !== undefined && within.has(event.parentCallId)) within.add(event.callId);
    if (event.type !== "call-end" || event.callId === callId || !within.has(event.callId) || event.input === undefined) continue;
    const toolName = event.result.name;
    ended.push({ toolName, input: event.input, definition: definitionOf(parts.registry, toolName) });
  }
  return ended;
}
