/** A conversation of another system as the log of a timeline. It has no times: each turn counts as one second. */
import { firstCharacters } from "../show/text-pieces.ts";
import type { JsonValue } from "../../core/base/json.ts";
import type { LogEvent } from "../server/log-event.ts";
import { SessionLog } from "../timeline/session-log.ts";
import { parseTurn, type ImportedStep } from "./parse-conversation.ts";

const TURN_MS = 1_000;
const MAX_ID = 512;

type CallStep = Extract<ImportedStep, { readonly kind: "call" }>;

/** Makes the log of a conversation. @param sessionId the session id that its events get */
export function createConversationLog(turns: readonly JsonValue[], sessionId: string): SessionLog {
  const log = new SessionLog();
  log.isTimeless = true;
  const open = new PendingCalls();
  for (const [turn, value] of turns.entries()) {
    const at = turn * TURN_MS;
    for (const step of parseTurn(value)) {
      if (step.kind === "message") log.add({ type: "message-add", sessionId, at, message: { role: step.role, content: step.text } });
      else if (step.kind === "call") log.add(toCallStart(step, open.start(step), { sessionId, turn, at }));
      else {
        const ended = open.end(step);
        if (ended !== undefined) log.add(toCallEnd(step, ended, { sessionId, turn, at }));
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

function toCallStart({ name, input }: CallStep, callId: string, { sessionId, turn, at }: Place): LogEvent {
  return { type: "call-start", sessionId, turnId: String(turn), callId, at, call: { name, input } };
}

function toCallEnd(
  { output, isError }: Extract<ImportedStep, { readonly kind: "result" }>,
  { id, name }: { readonly id: string; readonly name: string },
  { sessionId, turn, at }: Place,
): LogEvent {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const error = { code: "execution_failed", message: firstCharacters(text, 4_000), retryable: false, outcome: "unknown" } as const;
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

interface PendingCall {
  readonly id: string;
  readonly name: string;
  readonly number: number;
  isEnded: boolean;
}

/** Calls in the order in which they began. Each ended call is skipped only once, whatever the order of the results. */
class CallQueue {
  readonly #calls: PendingCall[] = [];
  #at = 0;

  add(call: PendingCall): void {
    this.#calls.push(call);
  }

  firstPending(): PendingCall | undefined {
    while (this.#calls[this.#at]?.isEnded === true) this.#at++;
    return this.#calls[this.#at];
  }
}

/** Finds the call of each result: ids may repeat in long conversations, and old formats have none. */
class PendingCalls {
  readonly #used = new Set<string>();
  /** For an id that was repeated, the number to try next. */
  readonly #numbers = new Map<string, number>();
  /** Queues by key: `all`, `id <id>`, `name <name>`, `plain` for calls without an id, and `plain <name>`. */
  readonly #queues = new Map<string, CallQueue>();

  start({ id, name }: CallStep): string {
    const call = { id: this.#createUniqueId(id), name, number: this.#used.size, isEnded: false };
    const keys = id === undefined ? ["plain", `plain ${name}`] : [`id ${id}`];
    for (const key of ["all", `name ${name}`, ...keys]) {
      const queue = this.#queues.get(key) ?? new CallQueue();
      this.#queues.set(key, queue);
      queue.add(call);
    }
    return call.id;
  }

  end({ id, name }: Extract<ImportedStep, { readonly kind: "result" }>): { readonly id: string; readonly name: string } | undefined {
    const withName = (key: string): string => (name === undefined ? key : `${key} ${name}`);
    const keys = id === undefined ? [name === undefined ? "all" : withName("name")] : [`id ${id}`, withName("plain")];
    const [call] = keys.flatMap((key) => this.#queues.get(key)?.firstPending() ?? []).sort((one, other) => one.number - other.number);
    if (call !== undefined) call.isEnded = true;
    return call;
  }

  #createUniqueId(given: string | undefined): string {
    const wanted = (given ?? `call-${this.#used.size + 1}`).slice(0, MAX_ID);
    let own = wanted;
    for (let next = this.#numbers.get(wanted) ?? 2; this.#used.has(own); next++) {
      own = `${wanted}-${next}`;
      this.#numbers.set(wanted, next + 1);
    }
    this.#used.add(own);
    return own;
  }
}
