/** Keeps what a handler calls itself within the layer of rules of the call that it answers. */
import { AsyncLocalStorage } from "node:async_hooks";
import { visibilityOf, type Visibility, type VisibilityRules } from "../policy/visibility.ts";
import type { Session } from "../session/session.ts";

interface Layer {
  readonly session: Session;
  readonly visibility: Visibility | undefined;
}

const CALLER = new AsyncLocalStorage<Layer>();

/** Runs a handler whose own calls, in its session and in branches of it, may use no other tools than these. */
export function withinLayer<T>(session: Session, visibility: Visibility | undefined, work: () => T): T {
  return CALLER.run({ session, visibility }, work);
}

/** The rules of calls of a session, with those of the handler that makes them; undefined where neither has any. */
export function layerOf(session: Session | undefined, rules: VisibilityRules | undefined): Visibility | undefined {
  const outer = session === undefined ? undefined : callerLayer(session);
  if (rules === undefined) return outer;
  return outer === undefined ? visibilityOf(rules) : visibilityOf([outer, visibilityOf(rules)]);
}

function callerLayer(session: Session): Visibility | undefined {
  const caller = CALLER.getStore();
  if (caller === undefined) return undefined;
  let known: Session | undefined = session;
  while (known !== undefined && known !== caller.session) known = known.parent;
  return known === undefined ? undefined : caller.visibility;
}
