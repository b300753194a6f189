/** Approval of a composite call as a whole: it is simulated first, and one answer covers the calls that the simulation showed. */
import type { CoveredCall } from "../../core/store/approval-store.ts";
import { isToolError, type ToolError } from "../../core/error.ts";
import { isComputerTool, readSafetyChecks } from "../../core/safety-checks.ts";
import { approvalDigest, approvalId } from "../../policy/approval/approval-digest.ts";
import { wholeLog } from "../../session/read-events.ts";
import { findCalledTool } from "../../registry/called-tool.ts";
import { getDefinitionFingerprint } from "../../registry/definition-fingerprint.ts";
import { plural } from "../../core/base/wording.ts";
import { APPROVAL_NEEDED, markCallersUnshared } from "../cache/unshared-answer.ts";
import { askApproval, recordCoveredApproval } from "./ask-approval.ts";
import { CallRun, type AdmittedCall } from "../call-run.ts";
import { approvalReason, approvalReasonIn } from "./approval-reason.ts";

/** Maximum number of calls that one answer covers, and maximum size of them as JSON: all of them are shown to the approver. */
const MAX_COVERED = 200;
const MAX_COVERED_BYTES = 64 * 1024;

/** How often a call with this digest may still be made without asking again. */
type CoverCounts = Map<string, number>;

/** The covered calls of each call that was approved as a whole. */
const COVERS = new WeakMap<CallRun, CoverCounts>();

/**
 * Simulates the call. If it or one of its nested calls needs approval, the approver is asked once and shown all nested calls. The answer covers each
 * of them, with the input that was shown, as often as it was shown. Approval of any other nested call is asked as usual.
 */
export async function approveWhole(run: AdmittedCall): Promise<AdmittedCall | ToolError> {
  const { preview, calls } = await run.services.simulate(run);
  const ownReason = approvalReason(run, false);
  const shownBefore = await findShownCalls(run);
  const needing = (shownBefore ?? calls).filter((call) => needsApproval(run, call)).length;
  if (ownReason === undefined && needing === 0) return run;
  const reason =
    needing === 0 ? ownReason : `${run.toolName} would make ${plural(needing, "call")} that ${needing === 1 ? "needs" : "need"} approval.`;
  const covers = shownBefore ?? limitShownCalls(calls);
  markCallersUnshared(run, APPROVAL_NEEDED);
  const answer = { isOfPerson: false };
  const allowed = await askApproval(run, reason ?? "", { preview, covers, onAllowed: () => (answer.isOfPerson = true) });
  if (isToolError(allowed) || !answer.isOfPerson) return allowed;
  // A question from before a crash covers the calls that were shown then.
  COVERS.set(run, countByDigest((await findQuestion(run))?.covers ?? covers));
  return run;
}

/**
 * After a crash, the calls shown with the question that is still open: a person may have answered it having seen those, whatever this simulation
 * shows. Undefined if there is no open question, or if it is about another definition.
 */
async function findShownCalls(run: AdmittedCall): Promise<readonly CoveredCall[] | undefined> {
  if (run.resumed === undefined) return undefined;
  const question = await findQuestion(run);
  return question?.status === "open" && question.digest === ownDigest(run) ? question.covers : undefined;
}

/** After a crash, restores which calls the earlier answer covers, without the calls that have ended. */
export async function restoreCoverage(run: AdmittedCall): Promise<AdmittedCall> {
  const question = await findQuestion(run);
  if (question?.status !== "allowed" || question.covers === undefined) return run;
  const covers = countByDigest(question.covers);
  for (const call of await listEndedNested(run)) useCover(covers, approvalDigest(call));
  COVERS.set(run, covers);
  return run;
}

/** Whether this very call was approved before a crash, or in the process that owned its session before. */
export function wasApprovedBefore(run: AdmittedCall): boolean {
  const allowed = run.resumed?.approvedDigest;
  return allowed !== undefined && allowed === ownDigest(run);
}

/** Whether the approval of a call around this one covers it; if so, one use of it is taken. */
export function isCovered(run: AdmittedCall): boolean {
  let outer: unknown = run.turn.parentCall;
  let digest: string | undefined;
  while (outer instanceof CallRun) {
    const covers = COVERS.get(outer);
    if (covers !== undefined) {
      digest ??= ownDigest(run);
      if (useCover(covers, digest)) {
        recordCoveredApproval(run, digest);
        return true;
      }
    }
    outer = outer.turn.parentCall;
  }
  return false;
}

function findQuestion({ services, turn, callId }: AdmittedCall) {
  return services.approvals.get(approvalId({ sessionId: turn.session.id, callId })).catch(() => undefined);
}

/** The first calls, as many as can be shown. */
function limitShownCalls(calls: readonly CoveredCall[]): readonly CoveredCall[] {
  const shown: CoveredCall[] = [];
  let bytes = 0;
  for (const call of calls.slice(0, MAX_COVERED)) {
    bytes += Buffer.byteLength(JSON.stringify(call));
    if (bytes > MAX_COVERED_BYTES) break;
    shown.push(call);
  }
  return shown;
}

function needsApproval({ services, turn }: AdmittedCall, { toolName, input }: CoveredCall): boolean {
  const registered = findCalledTool(services.registry, toolName, input);
  const plan = registered === undefined ? undefined : services.planOf(registered);
  const isChecked = plan !== undefined && isComputerTool(plan.tool) && readSafetyChecks(input) !== undefined;
  const { destructive } = plan?.effects ?? plan?.effectsOf(input) ?? { destructive: false };
  return (
    approvalReasonIn(turn.session, services.approvals, { qualifiedName: toolName, destructive: destructive || isChecked }) !== undefined
  );
}

function countByDigest(calls: readonly CoveredCall[]): CoverCounts {
  const covers: CoverCounts = new Map();
  for (const call of calls) {
    const digest = approvalDigest(call);
    covers.set(digest, (covers.get(digest) ?? 0) + 1);
  }
  return covers;
}

function ownDigest({ services, plan: { qualifiedName: toolName }, input }: AdmittedCall): string {
  return approvalDigest({ toolName, input, definition: getDefinitionFingerprint(services.registry, toolName) });
}

function useCover(covers: CoverCounts, digest: string): boolean {
  const left = covers.get(digest) ?? 0;
  if (left > 0) covers.set(digest, left - 1);
  return left > 0;
}

/** The nested calls that have ended, at any depth. The oldest events of a long session may be only in its store. */
async function listEndedNested({ services, turn: { session }, callId }: AdmittedCall): Promise<readonly CoveredCall[]> {
  const within = new Set([callId]);
  const ended: CoveredCall[] = [];
  for await (const event of wholeLog(session)) {
    if (event.type === "call-start" && event.parentCallId !== undefined && within.has(event.parentCallId)) within.add(event.callId);
    if (event.type !== "call-end" || event.callId === callId || !within.has(event.callId) || event.input === undefined) continue;
    const toolName = event.result.name;
    ended.push({ toolName, input: event.input, definition: getDefinitionFingerprint(services.registry, toolName) });
  }
  return ended;
}
