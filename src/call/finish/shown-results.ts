/** Which results of a session the model has been shown. A tool must not assume that the model knows the others. */
import type { ModelMessage } from "../../core/message.ts";
import type { Turn } from "../../session/turn.ts";

/**
 * Whether the result of a call is in the history that the model was given in this turn, or in the message that is being answered.
 *
 * Without a given history, every call counts that was not voided or rolled back.
 */
export function isShown(turn: Turn, callId: string): boolean {
  const { session, shown, startsAt } = turn;
  if (session.wasRevoked(callId)) return false;
  if (shown === undefined || shownCallIds(shown).has(callId)) return true;
  const latest = session.logSince(startsAt) ?? session.log.slice(Math.max(0, startsAt - session.firstKept));
  return latest.some((event) => event.type === "call-start" && event.callId === callId);
}

interface KnownResults {
  /** Number of messages when it was read: a program may append to its history and pass it again. */
  readonly length: number;
  readonly shown: ReadonlySet<string>;
}

/** Computed once per history, on demand: most rounds have no call that needs it. */
const KNOWN = new WeakMap<readonly ModelMessage[], KnownResults>();

function shownCallIds(messages: readonly ModelMessage[]): ReadonlySet<string> {
  const { length } = messages;
  let known = KNOWN.get(messages);
  if (known?.length !== length) KNOWN.set(messages, (known = { length, shown: findShownCallIds(messages) }));
  return known.shown;
}

/** The calls whose results are shown: neither superseded by a newer one, nor a placeholder for a missing answer. */
function findShownCallIds(messages: readonly ModelMessage[]): ReadonlySet<string> {
  const shown = new Set<string>();
  for (const message of messages) {
    if (message.role !== "result" || message.result.error?.code === "outcome_unknown") continue;
    shown.add(message.callId);
  }
  for (const message of messages) if (message.role === "result") for (const older of message.supersedes ?? []) shown.delete(older);
  for (const message of messages) if (message.role === "result" && message.result.sameAs !== undefined) shown.add(message.result.sameAs);
  return shown;
}
