/** Keeps what a handler calls itself within the layer of rules of the call that it answers. */
import { AsyncLocalStorage } from "node:async_hooks";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import type { Session } from "../../session/session.ts";

interface Layer {
  readonly session: Session;
  readonly visibility: Visibility | undefined;
  /** The id of the principal that the call is made for. */
  readonly principal: string | undefined;
}

const CALLER = new AsyncLocalStorage<Layer>();
/** Whether any handler was run within a layer: until then, a plain call need not look for one. */
export const layers = { inUse: false };

/**
 * Runs a handler whose own calls are made for the principal, and in its session and branches of it may use no other tools than these. Without
 * rules of its own it stays within those of the call around it.
 */
export function withinLayer<T>(layer: Layer, work: () => T): T {
  layers.inUse = true;
  const outer = layer.visibility === undefined ? CALLER.getStore() : undefined;
  return CALLER.run(outer?.visibility === undefined ? layer : { ...outer, principal: layer.principal }, work);
}

/** The principal of the call whose handler runs here, in whichever session; undefined outside of handlers. */
export function callerPrincipal(): string | undefined {
  return CALLER.getStore()?.principal;
}

/** The rules of calls of a session, with those of the handler that makes them; undefined where neither has any. */
export function layerOf(session: Session | undefined, rules: VisibilityRules | undefined): Visibility | undefined {
  const outer = session === undefined ? undefined : callerLayer(session);
  if (rules === undefined) return outer;
  return outer === undefined ? visibilityOf(rules) : visibilityOf([outer, visibilityOf(rules)]);
}

/** Whether rules or a principal of the handler that runs here hold for the calls that it makes in this session. */
export function isInLayer(session: Session): boolean {
  return callerPrincipal() !== undefined || (session.recorded && callerLayer(session) !== undefined);
}

function callerLayer(session: Session): Visibility | undefined {
  const caller = CALLER.getStore();
  if (caller === undefined) return undefined;
  let known: Session | undefined = session;
  while (known !== undefined && known !== caller.session) known = known.parent;
  return known === undefined ? undefined : caller.visibility;
}
