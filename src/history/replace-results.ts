/** Rewrites a history without the results that newer ones supersede. */
import type { ModelMessage, ResultMessage } from "../core/message.ts";
import { addTo } from "../core/base/add-to.ts";

export interface Replacements {
  /** Which newer call superseded each one, according to the messages. */
  readonly earlier: ReadonlyMap<string, string>;
  /** The same, including those to be left out now. Each maps to a call whose result comes later. */
  readonly replacedBy: ReadonlyMap<string, string>;
  /** Calls to be dropped, with their results. */
  readonly dropped: ReadonlySet<string>;
}

/** Drops calls with their results, replaces superseded results whose calls stay with a line, and lists both in `supersedes` of the newer result. */
export function replaceResults(messages: readonly ModelMessage[], replacements: Replacements): readonly ModelMessage[] {
  const rewriting = new ResultRewriter(messages, replacements);
  const kept = messages.filter((message) => !("callId" in message && replacements.dropped.has(message.callId)));
  return kept.map((message) => (message.role === "result" ? rewriting.rewrite(message) : message));
}

/** The first result of each call, by the id of the call, in order. */
export function firstResults(messages: readonly ModelMessage[]): ReadonlyMap<string, ResultMessage> {
  const results = new Map<string, ResultMessage>();
  for (const message of messages) if (message.role === "result" && !results.has(message.callId)) results.set(message.callId, message);
  return results;
}

class ResultRewriter {
  readonly #replacedBy: Map<string, string>;
  readonly #earlier: ReadonlyMap<string, string>;
  readonly #results: ReadonlyMap<string, ResultMessage>;
  /** The superseded results of each shown result. */
  readonly #replaced = new Map<string, string[]>();

  constructor(messages: readonly ModelMessage[], { earlier, replacedBy }: Replacements) {
    this.#earlier = earlier;
    this.#replacedBy = new Map(replacedBy);
    this.#results = firstResults(messages);
    const order = new Map([...this.#results.keys()].map((callId, place) => [callId, place]));
    const placeOf = (callId: string): number => order.get(callId) ?? -1;
    for (const callId of [...replacedBy.keys()].sort((one, other) => placeOf(one) - placeOf(other))) {
      const newest = this.#findNewest(callId);
      addTo(this.#replaced, newest, callId);
    }
  }

  rewrite(message: ResultMessage): ResultMessage {
    const newest = this.#findNewest(message.callId);
    const newer = newest === message.callId ? undefined : this.#results.get(newest);
    if (newer !== undefined) return this.#earlier.get(message.callId) === newest ? message : createSupersededLine(message, newer);
    const older = this.#replaced.get(message.callId);
    if (older === undefined || isSameSet(older, message.supersedes ?? [])) return message;
    return Object.freeze({ ...message, supersedes: Object.freeze(older) });
  }

  /** The call that is shown in place of this one, or the call itself if it is shown. Shortens the chain for later look-ups. */
  #findNewest(callId: string): string {
    const path: string[] = [];
    let newest = callId;
    for (let next = this.#replacedBy.get(newest); next !== undefined; next = this.#replacedBy.get(newest)) {
      path.push(newest);
      newest = next;
    }
    for (const step of path) this.#replacedBy.set(step, newest);
    return newest;
  }
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  const members = new Set(other);
  return one.length === members.size && one.every((member) => members.has(member));
}

/** A result with a line that names the newer result. */
function createSupersededLine({ role, at, callId, result }: ResultMessage, newer: ResultMessage): ResultMessage {
  const text = `[left out: superseded by ${newer.result.name}, call ${newer.result.id ?? newer.callId}]`;
  const { id, name, origin, attempts, durationMs } = result;
  const end = result.error === undefined ? { status: "ok" as const } : { status: result.status, error: result.error };
  const content = Object.freeze([Object.freeze({ type: "text", text } as const)]);
  const line = { callId, ...(id === undefined ? {} : { id }), name, ...end, content, origin, attempts, durationMs, ...NO_NOTES };
  return Object.freeze({ role, at, callId, result: Object.freeze(line) });
}

const NO_NOTES = { repairs: Object.freeze([]), warnings: Object.freeze([]) };
