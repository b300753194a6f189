/** A conversation of another system as the log of a timeline. It tells no times: each turn takes the place of a second. */
import type { JsonValue } from "../../core/base/json.ts";
import type { LogEvent } from "../server/log-event.ts";
import { SessionLog } from "../timeline/session-log.ts";
import { stepsOf, type Step } from "./conversation.ts";

const TURN_MS = 1_000;
const MAX_ID = 512;

type CallStep = Extract<Step, { readonly kind: "call" }>;

/** @param sessionId what the calls are said to belong to */
export function conversationLog(turns: readonly JsonValue[], sessionId: string): SessionLog {
  const log = new SessionLog();
  log.isTimeless = true;
  const open = new OpenCalls();
  for (const [turn, value] of turns.entries()) {
    const at = turn * TURN_MS;
    for (const step of stepsOf(value)) {
      if (step.kind === "message") log.add({ type: "message-add", sessionId, at, message: { role: step.role, content: step.text } });
      else if (step.kind === "call") log.add(startOf(step, open.begin(step), { sessionId, turn, at }));
      else {
        const ended = open.end(step);
        if (ended !== undefined) log.add(endOf(step, ended, { sessionId, turn, at }));
      }
    }
  }
  log.endAt = turns.length * TURN_MS;
  return log;
}

interface Place {
  readonly sessionId: string;
  readonly turn: number;
  readonly at: number;
}

function startOf({ name, input }: CallStep, callId: string, { sessionId, turn, at }: Place): LogEvent {
  return { type: "call-start", sessionId, turnId: String(turn), callId, at, call: { name, input } };
}

function endOf(
  { output, isError }: Extract<Step, { readonly kind: "result" }>,
  { id, name }: { readonly id: string; readonly name: string },
  { sessionId, turn, at }: Place,
): LogEvent {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const error = { code: "execution_failed", message: text.slice(0, 4_000), retryable: false, outcome: "unknown" } as const;
  return {
    type: "call-end",
    sessionId,
    turnId: String(turn),
    callId: id,
    at,
    result: {
      callId: id,
      name,
      ...(isError ? { status: "error", error } : { status: "ok", output }),
      origin: "replay",
      attempts: 1,
      durationMs: TURN_MS,
      repairs: [],
      warnings: [],
    },
  };
}

/** Which result belongs to which call: ids come again in long conversations, and old ones have none. */
class OpenCalls {
  readonly #used = new Set<string>();
  readonly #open: { readonly id: string; readonly given: string | undefined; readonly name: string }[] = [];

  begin({ id, name }: CallStep): string {
    const wanted = (id ?? `call-${this.#used.size + 1}`).slice(0, MAX_ID);
    let own = wanted;
    for (let next = 2; this.#used.has(own); next++) own = `${wanted}-${next}`;
    this.#used.add(own);
    this.#open.push({ id: own, given: id, name });
    return own;
  }

  end({ id, name }: Extract<Step, { readonly kind: "result" }>): { readonly id: string; readonly name: string } | undefined {
    const index = this.#open.findIndex((call) =>
      id !== undefined && call.given !== undefined ? call.given === id : name === undefined || call.name === name,
    );
    return index < 0 ? undefined : this.#open.splice(index, 1)[0];
  }
}
