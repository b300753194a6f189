/** Applies a call's visibility rules and principal to the calls that its handler makes. */
import { AsyncLocalStorage } from "node:async_hooks";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import type { Session } from "../../session/session.ts";

interface Layer {
  readonly session: Session;
  readonly visibility: Visibility | undefined;
  /** The id of the principal for which the call is made. */
  readonly principal: string | undefined;
}

const CALLER = new AsyncLocalStorage<Layer>();
/** Whether any handler has run within a layer; until then, calls need not look for one. */
export const layers = { inUse: false };

/**
 * Runs a handler. Its calls are made for the principal; in its session, in that session's branches and in the sessions of its calls, they may use
 * only these tools. A layer without rules keeps those of the call around it.
 */
export function runInLayer<T>(layer: Layer, work: () => T): T {
  layers.inUse = true;
  const outer = layer.visibility === undefined ? CALLER.getStore() : undefined;
  return CALLER.run(outer?.visibility === undefined ? layer : { ...outer, principal: layer.principal }, work);
}

/** The principal of the call whose handler runs here, of any session; undefined outside of handlers. */
export function callerPrincipal(): string | undefined {
  return CALLER.getStore()?.principal;
}

/** The rules of a session's calls, combined with those of the handler that makes them; undefined if neither has any. */
export function combineVisibility(session: Session | undefined, rules: VisibilityRules | undefined): Visibility | undefined {
  const outer = session === undefined ? undefined : findCallerVisibility(session);
  if (rules === undefined) return outer;
  return outer === undefined ? visibilityOf(rules) : visibilityOf([outer, visibilityOf(rules)]);
}

/** Whether rules or a principal of the handler that runs here apply to the calls that it makes in this session. */
export function hasCallerLayer(session: Session): boolean {
  return callerPrincipal() !== undefined || (session.recorded && findCallerVisibility(session) !== undefined);
}

function findCallerVisibility(session: Session): Visibility | undefined {
  const caller = CALLER.getStore();
  if (caller === undefined) return undefined;
  let known: Session | undefined = session;
  while (known !== undefined && known !== caller.session) known = known.parent ?? known.callingSession;
  return known === undefined ? undefined : caller.visibility;
}
