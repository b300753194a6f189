/** Grants of this process's sessions besides the stored rules: a tool until the session ends, a digest once, everything a simulation allows. */
import type { ApprovalScope, NewApproval } from "../../core/store/approval-store.ts";
import type { ShownTool } from "../../core/approvals/approvals.ts";

/** Grants that hold until a session ends. */
interface Standing {
  /** Tools by name, with the fingerprint of their definition at that time; undefined = any definition. */
  readonly always: Map<string, string | undefined>;
  /** Digests of calls. */
  readonly inputs: Set<string>;
}

interface SessionGrants {
  readonly unwarned: Standing;
  /** Grants in view of the warning of the session's own rule. Only these answer a question with the warning. */
  readonly warned: Standing;
  /** How many more calls are allowed once, by digest. */
  readonly once: Map<string, number>;
  /** Whether the session is a simulation, whose grants are kept only here. */
  isSimulated: boolean;
}

export class ApprovalGrants {
  readonly #sessions = new Map<string, SessionGrants>();

  /** Whether the session has allowed this call. A one-time grant is used up by it. */
  consumeGrant(question: NewApproval): boolean {
    const { sessionId, digest, warned } = question;
    const grants = this.#sessions.get(sessionId);
    if (grants === undefined) return false;
    const standing = warned === true ? [grants.warned] : [grants.unwarned, grants.warned];
    return standing.some((one) => isAlwaysAllowed(one, question) || one.inputs.has(digest)) || consumeOnce(grants, digest);
  }

  markSimulated(sessionId: string): void {
    this.#grantsOf(sessionId).isSimulated = true;
  }

  isSimulated(sessionId: string): boolean {
    return this.#sessions.get(sessionId)?.isSimulated === true;
  }

  /** Keeps the scope of an answer to a simulation's question. */
  grantScope(question: NewApproval, scope: ApprovalScope | undefined): void {
    const { sessionId, toolName, definition, digest } = question;
    const warned = question.warned === true;
    if (scope === "tool") this.allowAlways(sessionId, toolName, { definition, warned });
    if (scope === "input") standingOf(this.#grantsOf(sessionId), warned).inputs.add(digest);
  }

  /** Allows one call. The returned function revokes the grant unless it was used. */
  allowOnce(sessionId: string, digest: string): () => void {
    const grants = this.#grantsOf(sessionId);
    grants.once.set(digest, (grants.once.get(digest) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) consumeOnce(grants, digest);
      isOpen = false;
    };
  }

  /** Returns false if the tool was allowed already. */
  allowAlways(sessionId: string, toolName: string, { definition, warned }: ShownTool = {}): boolean {
    const { always } = standingOf(this.#grantsOf(sessionId), warned);
    if (always.has(toolName) && always.get(toolName) === definition) return false;
    always.set(toolName, definition);
    return true;
  }

  /** Revokes the grant of `allowAlways` if it has the same definition. */
  revokeAlways(sessionId: string, toolName: string, { definition, warned }: ShownTool = {}): void {
    const grants = this.#sessions.get(sessionId);
    if (grants === undefined) return;
    const { always } = standingOf(grants, warned);
    if (always.get(toolName) === definition) always.delete(toolName);
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  #grantsOf(sessionId: string): SessionGrants {
    let grants = this.#sessions.get(sessionId);
    if (grants === undefined)
      this.#sessions.set(sessionId, (grants = { unwarned: newStanding(), warned: newStanding(), once: new Map(), isSimulated: false }));
    return grants;
  }
}

function newStanding(): Standing {
  return { always: new Map(), inputs: new Set() };
}

function standingOf({ warned, unwarned }: SessionGrants, isWarned = false): Standing {
  return isWarned ? warned : unwarned;
}

/** False for an input with safety checks of the model's provider: the person who allowed the tool has not seen them. */
function isAlwaysAllowed({ always }: Standing, { toolName, definition, safetyChecks }: NewApproval): boolean {
  return always.has(toolName) && (always.get(toolName) ?? definition) === definition && safetyChecks === undefined;
}

function consumeOnce({ once }: SessionGrants, digest: string): boolean {
  const left = once.get(digest);
  if (left === undefined) return false;
  if (left === 1) once.delete(digest);
  else once.set(digest, left - 1);
  return true;
}
