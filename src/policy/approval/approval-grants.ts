/** Grants of this process's sessions besides the stored rules: a tool until the session ends, a digest once, everything a simulation allows. */
import type { ApprovalScope, NewApproval } from "../../core/approval-store.ts";

interface SessionGrants {
  /** Tools allowed until the session ends, by name, with the fingerprint of their definition at that time; undefined = any definition. */
  readonly always: Map<string, string | undefined>;
  /** How many more calls are allowed once, by digest. */
  readonly once: Map<string, number>;
  /** Digests of calls that are allowed until the session ends. */
  readonly inputs: Set<string>;
  /** Whether the session is a simulation, whose grants are kept only here. */
  isSimulated: boolean;
}

export class ApprovalGrants {
  readonly #sessions = new Map<string, SessionGrants>();

  /** Whether the session has allowed this call. A one-time grant is used up by it. */
  allow(question: NewApproval): boolean {
    const { sessionId, digest } = question;
    const grants = this.#sessions.get(sessionId);
    return grants !== undefined && (isAlways(grants, question) || grants.inputs.has(digest) || takeOnce(grants, digest));
  }

  noteSimulated(sessionId: string): void {
    this.#of(sessionId).isSimulated = true;
  }

  isSimulated(sessionId: string): boolean {
    return this.#sessions.get(sessionId)?.isSimulated === true;
  }

  /** Keeps the scope of an answer to a simulation's question. */
  allowReached({ sessionId, toolName, definition, digest }: NewApproval, scope: ApprovalScope | undefined): void {
    if (scope === "tool") this.allowAlways(sessionId, toolName, definition);
    if (scope === "input") this.#of(sessionId).inputs.add(digest);
  }

  /** Allows one call. The returned function revokes the grant unless it was used. */
  allowOnce(sessionId: string, digest: string): () => void {
    const grants = this.#of(sessionId);
    grants.once.set(digest, (grants.once.get(digest) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) takeOnce(grants, digest);
      isOpen = false;
    };
  }

  /** Returns false if the tool was allowed already. @param definition the fingerprint of the definition that the grant is for */
  allowAlways(sessionId: string, toolName: string, definition?: string): boolean {
    const { always } = this.#of(sessionId);
    if (always.has(toolName) && always.get(toolName) === definition) return false;
    always.set(toolName, definition);
    return true;
  }

  /** Revokes the grant of `allowAlways` if it has the same definition. */
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

/** False for an input with safety checks of the model's provider: the person who allowed the tool has not seen them. */
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
