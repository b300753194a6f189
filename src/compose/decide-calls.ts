/** Carries out a person's decisions about waiting calls: allowed calls are made again, denied calls are answered. */
import { sessionWarning } from "../call/approve/approval-reason.ts";
import type { ShownTool } from "../core/approvals/approvals.ts";
import { ToolError } from "../core/error.ts";
import type { ModelCall } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { findCalledTool } from "../registry/called-tool.ts";
import type { RoundOptions } from "../runtime/round.ts";
import type { SessionTurn } from "../runtime/runtime-session.ts";
import { NO_USAGE } from "./loop-result.ts";
import { pendingCalls, type ApprovalDecisions, type PendingCall } from "./pending-calls.ts";

/**
 * Runs the decided calls as one round, in the order they were made. Each is allowed by the digest of the input that was shown, so a call whose input
 * has changed waits again.
 *
 * @throws ToolError `invalid_argument` for a digest that no waiting call has, and for an invalid answer
 */
export async function decideCalls(turn: SessionTurn, decisions: ApprovalDecisions, options: RoundOptions): Promise<readonly ToolResult[]> {
  const waiting = pendingCalls(turn.session);
  checkDecisions(decisions, waiting);
  const decided = waiting.filter(({ digest }) => Object.hasOwn(decisions, digest));
  if (decided.length === 0) return [];
  const { approvals } = turn.session;
  const revocations: (() => void)[] = [];
  const round = turn.round(options);
  try {
    for (const call of decided) {
      const { name, input, digest } = call;
      const isDenied = decisions[digest] === "deny";
      if (decisions[digest] === "allow-always") approvals.allowAlways(turn.session.id, name, shownOf(turn, call));
      if (!isDenied) revocations.push(approvals.allowOnce(turn.session.id, digest));
      round.add({ name, input, ...kindOf(turn, call) }, isDenied ? { refusal: deniedError(call) } : {});
    }
    return await round.end({ content: "", finish: "calls", usage: NO_USAGE });
  } finally {
    for (const revoke of revocations) revoke();
  }
}

/** The parts of a waiting call that were shown: its definition, and whether its reason has the warning of the own rule of the session, or of one above it. */
function shownOf({ session }: SessionTurn, { name, reason, definition }: PendingCall): ShownTool {
  const warning = sessionWarning(session, session.approvals, name);
  return { definition, warned: warning !== undefined && reason.includes(warning) };
}

/** The kind of the call to make. If a tool is run by the provider, the waiting call is a question of the provider. */
function kindOf({ session: { registry } }: SessionTurn, { name, input }: PendingCall): Pick<ModelCall, "kind"> {
  return findCalledTool(registry, name, input)?.tool.providerExecuted === true ? { kind: "approval" } : {};
}

function checkDecisions(decisions: ApprovalDecisions, waiting: readonly PendingCall[]): void {
  const digests = new Set(waiting.map(({ digest }) => digest));
  for (const [digest, answer] of Object.entries(decisions)) {
    if (!digests.has(digest))
      throw new ToolError("invalid_argument", `No call with the digest ${JSON.stringify(digest)} is waiting for approval.`, {
        hint: "Use the digests from loop.pending(); later messages may have made earlier ones invalid.",
      });
    if (answer !== "allow-once" && answer !== "allow-always" && answer !== "deny")
      throw new ToolError("invalid_argument", `A decision must be "allow-once", "allow-always" or "deny", not ${JSON.stringify(answer)}.`);
  }
}

function deniedError({ name }: PendingCall): ToolError {
  return new ToolError("approval_denied", `${name} was not approved: the answer was no.`, {
    hint: "Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.",
  });
}
