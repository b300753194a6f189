/** How deep composite tools may call one another, and whose rules of approval hold for the calls made in them. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Approvals } from "../../core/approvals.ts";
import { splitName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { safetyReason } from "../../core/safety-checks.ts";
import { isOfSettings } from "../../policy/approval/approval-rules.ts";
import type { Session } from "../../session/session.ts";
import type { AdmittedCall, CallRun } from "../call-run.ts";

/** A composite tool that calls composite tools that call composite tools. */
const MAX_DEPTH = 3;
const DEPTH = new AsyncLocalStorage<number>();

/** How many composite calls a session is inside, of those that were begun by one. */
const SESSION_DEPTHS = new WeakMap<Session, number>();

/** The composite call that a session was begun by. */
const CALLERS = new WeakMap<Session, CallRun>();

/** Why a call must be approved: by the settings, by the own rule of its session or of one above it, and because the model's provider asks. */
export function approvalNeed({ parts, plan, turn, resumed, safetyChecks }: AdmittedCall, destructive: boolean): string | undefined {
  const { qualifiedName } = plan;
  const need = neededIn(turn.session, parts.approvals, { qualifiedName, destructive });
  if (safetyChecks === undefined) return need ?? resumed?.askedFor;
  if (need !== undefined) return `${need} ${safetyReason(safetyChecks)}`;
  const isAsked = neededIn(turn.session, parts.approvals, { qualifiedName, destructive: true }) !== undefined; // not of a tool that is never asked about
  return isAsked ? safetyReason(safetyChecks) : resumed?.askedFor;
}

/** Why the own rule of one of these sessions asks before a call that begins; undefined where none does, and of a name that is no tool. */
export function sessionNeed({ parts, call, turn }: CallRun): string | undefined {
  if (!parts.approvals.mayAsk) return undefined;
  const qualifiedName = parts.registry.get(call.name)?.qualifiedName ?? lateName(parts.registry, call.name);
  if (qualifiedName === undefined) return undefined;
  const reason = neededIn(turn.session, parts.approvals, { qualifiedName, destructive: false });
  return reason === undefined || isOfSettings(reason, qualifiedName) ? undefined : reason;
}

/** Why a call of this tool in the session must be approved. */
export function neededIn(
  session: Session,
  approvals: Pick<Approvals, "needed">,
  { qualifiedName, destructive }: { readonly qualifiedName: string; readonly destructive: boolean },
): string | undefined {
  let reason: string | undefined;
  for (let one: Session | undefined = session; reason === undefined && one !== undefined; one = rulingSession(one))
    reason = approvals.needed(qualifiedName, destructive, one);
  return reason;
}

/** The name that a tool of a toolset which is being opened will have, where the call says which: its tools are not known yet. */
function lateName({ late }: CallRun["parts"]["registry"], name: string): string | undefined {
  return late.any && splitName(name).namespace !== undefined ? name : undefined;
}

/** The next session whose own rule holds for calls in this one: the session that it is a branch of, else the one in whose call it was begun. */
function rulingSession(session: Session): Session | undefined {
  return session.parent ?? CALLERS.get(session)?.turn.session;
}

/** The call whose handler made this one, or began the session that it is made in. */
export function callOutside({ madeBy, turn }: CallRun): object | undefined {
  return madeBy ?? turn.madeIn ?? CALLERS.get(turn.session);
}

/** Begins a session whose calls count as made inside this composite call. */
export async function beginDeeper(run: CallRun, begin: (begun: (session: Session) => void) => Promise<Session>): Promise<Session> {
  const depth = depthIn(run.turn.session) + 1;
  const begun = (session: Session): void => {
    SESSION_DEPTHS.set(session, depth);
    CALLERS.set(session, run);
  };
  const session = await DEPTH.run(depth, () => begin(begun));
  begun(session);
  return session;
}

/** Runs what makes calls of a handler: those count as one composite call deeper. */
export function runDeeper<T>({ turn }: CallRun, work: () => T): T {
  return DEPTH.run(depthIn(turn.session) + 1, work);
}

/** How many composite calls the code running now is inside, as a call of this session. */
function depthIn(session: Session): number {
  let begun: number | undefined;
  for (let one: Session | undefined = session; begun === undefined && one !== undefined; one = one.parent) begun = SESSION_DEPTHS.get(one);
  return Math.max(DEPTH.getStore() ?? 0, begun ?? 0);
}

/** Refuses a composite tool that is called too deep inside others. */
export function tooDeep({ toolName, turn }: CallRun): ToolError | undefined {
  if (depthIn(turn.session) < MAX_DEPTH) return undefined;
  return new ToolError(
    "limit_exceeded",
    `${toolName} was not run: it is called inside ${MAX_DEPTH} composite tools, and that is the limit.`,
    {
      outcome: "not_started",
      hint: "Call the tools that it is made of.",
    },
  );
}
