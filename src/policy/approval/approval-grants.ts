/** The grants of this process's sessions besides the rules: a tool until the session ends, one call of a digest once, and all that a simulation allows. */
import type { ApprovalScope, NewApproval } from "../../core/approval-store.ts";

interface SessionGrants {
  /** Tools that are allowed for good, by name, as they were defined then; undefined = however they are defined. */
  readonly always: Map<string, string | undefined>;
  /** Calls that are allowed once, by digest, and how often. */
  readonly once: Map<string, number>;
  /** Calls that are allowed for good, by digest. */
  readonly inputs: Set<string>;
  /** It is a simulation: what it allows is nowhere but here. */
  isSimulated: boolean;
}

export class ApprovalGrants {
  readonly #sessions = new Map<string, SessionGrants>();

  /** Whether the session has allowed this call; one that was allowed once is used up by it. */
  allow(question: NewApproval): boolean {
    const { sessionId, digest } = question;
    const grants = this.#sessions.get(sessionId);
    return grants !== undefined && (isAlways(grants, question) || grants.inputs.has(digest) || takeOnce(grants, digest));
  }

  /** Notes that the session is a simulation. */
  noteSimulated(sessionId: string): void {
    this.#of(sessionId).isSimulated = true;
  }

  isSimulated(sessionId: string): boolean {
    return this.#sessions.get(sessionId)?.isSimulated === true;
  }

  /** Keeps how far the answer to a question of a simulation reaches. */
  allowReached({ sessionId, toolName, definition, digest }: NewApproval, scope: ApprovalScope | undefined): void {
    if (scope === "tool") this.allowAlways(sessionId, toolName, definition);
    if (scope === "input") this.#of(sessionId).inputs.add(digest);
  }

  /** The returned function takes it back, unless it was used. */
  allowOnce(sessionId: string, digest: string): () => void {
    const grants = this.#of(sessionId);
    grants.once.set(digest, (grants.once.get(digest) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) takeOnce(grants, digest);
      isOpen = false;
    };
  }

  /** Returns false where this was allowed already. @param definition the fingerprint of the definition that the grant holds for */
  allowAlways(sessionId: string, toolName: string, definition?: string): boolean {
    const { always } = this.#of(sessionId);
    if (always.has(toolName) && always.get(toolName) === definition) return false;
    always.set(toolName, definition);
    return true;
  }

  /** Ends what `allowAlways` began with the same definition. */
  endAlways(sessionId: string, toolName: string, definition?: string): void {
    const always = this.#sessions.get(sessionId)?.always;
    if (always?.get(toolName) === definition) always?.delete(toolName);
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  #of(sessionId: string): SessionGrants {
    let grants = this.#sessions.get(sessionId);
    if (grants === undefined)
      this.#sessions.set(sessionId, (grants = { always: new Map(), once: new Map(), inputs: new Set(), isSimulated: false }));
    return grants;
  }
}

/** Checks of the model's provider were not shown to the person who allowed the tool. */
function isAlways({ always }: SessionGrants, { toolName, definition, safetyChecks }: NewApproval): boolean {
  return always.has(toolName) && (always.get(toolName) ?? definition) === definition && safetyChecks === undefined;
}

function takeOnce({ once }: SessionGrants, digest: string): boolean {
  const left = once.get(digest);
  if (left === undefined) return false;
  if (left === 1) once.delete(digest);
  else once.set(digest, left - 1);
  return true;
}
