/** Indexes the calls of a recording by tool and input. */
import { hash } from "node:crypto";
import type { ToolCall } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import { readSafetyChecks, withoutSafetyChecks } from "../core/safety-checks.ts";
import { wasBlockedByStore } from "../core/not-started-error.ts";
import type { ToolResult } from "../core/result.ts";
import { leavesOf, similarity, type Leaves } from "./compare-input.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** A recorded call with its result. */
export interface RecordedCall {
  /** The call as the model made it. */
  readonly call: ToolCall;
  /** The input that ran, after repair; undefined if the call failed before. */
  readonly input: JsonObject | undefined;
  readonly result: ToolResult;
  /** Whether a handler made the call, as part of its own. */
  readonly isNested: boolean;
}

/** A result with the index of its call in the recording. */
export interface PlacedAnswer {
  readonly result: ToolResult;
  readonly place: number;
}

/**
 * The calls that have a result, in the order in which they were made, including those of batches that were rolled back. If the store kept a call from
 * starting and it ran when its batch was submitted again, only the call that ran is returned.
 *
 * @throws ToolError `invalid_argument` if it is not an iterable of events
 */
export function recordedCalls(events: Iterable<SessionEvent>): readonly RecordedCall[] {
  if (typeof events !== "object" || typeof events?.[Symbol.iterator] !== "function")
    throw new ToolError("invalid_argument", "A replay needs the events of a recording, as an array.", {
      hint: "Read a file with readRecording(), and collect asynchronous events: await Array.fromAsync(events).",
    });
  const started = new Map<string, SessionEvent & { readonly type: "call-start" }>();
  const ended = new Map<string, RecordedCall>();
  const batches = new Map<string, ReadonlySet<string>>();
  const repeated = new Set<string>();
  for (const event of events) {
    if (event.type === "batch-start") {
      const batch = JSON.stringify([event.sessionId, event.idempotencyKey]);
      const callIds = new Set(event.callIds);
      for (const callId of batches.get(batch) ?? []) if (!callIds.has(callId)) repeated.add(callId);
      batches.set(batch, callIds);
    }
    if (event.type === "call-start" && !started.has(event.callId)) started.set(event.callId, event);
    if (event.type !== "call-end" || ended.has(event.callId)) continue;
    const start = started.get(event.callId);
    if (start === undefined) continue;
    ended.set(event.callId, {
      call: start.call,
      input: event.input,
      result: event.result,
      isNested: start.parentCallId !== undefined,
    });
  }
  return [...started.keys()].flatMap((callId): readonly RecordedCall[] => {
    const call = ended.get(callId);
    return call === undefined || (repeated.has(callId) && wasBlockedByStore(call.result)) ? [] : [call];
  });
}

/** Moves calls made by handlers to the end, for a replay that answers chains and programs as a whole and so does not repeat the calls inside them. */
export function nestedCallsLast(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return [...calls.filter(({ isNested }) => !isNested), ...calls.filter(({ isNested }) => isNested)];
}

/** All recorded calls of one tool with one input. */
export interface AnswerGroup {
  readonly input: JsonObject;
  /** The answers to calls of the model, and those to calls that handlers made. */
  readonly lists: AnswerLists;
  readonly leaves: Leaves;
}

/** Answers that the calls of a session get one after the other. */
export interface AnswerList {
  /** In the order in which they were recorded. */
  readonly answers: readonly PlacedAnswer[];
  /** The first answer that the session has not used yet; undefined if none is left. */
  next(state: ReplayState): NextAnswer | undefined;
}

/** The methods of the session state that a replay uses. */
export type ReplayState = Pick<ToolContext["state"], "get" | "update">;

export interface NextAnswer extends PlacedAnswer {
  /** The key of the session state that counts the answers used of one list. */
  readonly stateKey: string;
  readonly usedCount: number;
}

export type AnswerLists = Readonly<Record<"outer" | "nested", AnswerList>>;

export interface Neighbour {
  readonly group: AnswerGroup;
  readonly similarity: number;
}

/** Maximum number of recorded inputs that are compared with one that was not recorded. */
const MAX_COMPARED = 10_000;

/** The recorded answers of one tool. */
export class ToolAnswers {
  readonly #name: string;
  readonly #groups = new Map<string, RecordedAnswerGroup>();
  /** Groups by the input that the model sent. Hooks may have turned one into several inputs, so this differs from the input that ran. */
  readonly #sent = new Map<string, SentInputGroups>();
  #added = 0;

  readonly #toEngineInput: (input: JsonObject) => JsonObject;

  /** @param given returns the input as an engine gets it, without the provider's safety checks. @default the whole input */
  constructor(name: string, given: (input: JsonObject) => JsonObject = (input) => input) {
    this.#name = name;
    this.#toEngineInput = given;
  }

  add({ call, input, result, isNested }: RecordedCall): void {
    const sent = this.#toEngineInput(isJsonObject(call.input) ? call.input : {});
    const ran = input === undefined ? sent : this.#toEngineInput(input);
    const group = getOrAdd(this.#groups, canonicalJson(ran), (key) => new RecordedAnswerGroup(stateKeyOf(`${this.#name}\n${key}`), ran));
    group.lists[isNested ? "nested" : "outer"].answers.push({ result, place: this.#added++ });
    const key = canonicalJson(sent);
    const groups = this.#sent.get(key);
    if (groups === undefined) this.#sent.set(key, new SentInputGroups(stateKeyOf(`sent\n${this.#name}\n${key}`), group));
    else groups.add(group);
  }

  /**
   * The answers to calls with this input, either as it ran or as the model sent it; [] if there are none. An input that a hook has just rewritten was
   * not sent by the model: if calls ran with it, only those count.
   */
  findExact(input: JsonObject, isRewritten: boolean): readonly AnswerLists[] {
    const key = canonicalJson(input);
    const ran = this.#groups.get(key);
    const sent = this.#sent.get(key);
    if (ran === undefined) return sent === undefined ? [] : [sent.lists];
    if (sent === undefined || isRewritten) return [ran.lists];
    return sent.has(ran) ? [sent.lists] : [ran.lists, sent.lists];
  }

  /** The group with the most similar input, the first recorded if several are equally similar; undefined if nothing was recorded. */
  findNearest(input: JsonObject): Neighbour | undefined {
    const leaves = leavesOf(input);
    let nearest: Neighbour | undefined;
    let compared = 0;
    for (const group of this.#groups.values()) {
      if (++compared > MAX_COMPARED) break;
      const measure = similarity(leaves, group.leaves);
      if (nearest === undefined || measure > nearest.similarity) nearest = { group, similarity: measure };
    }
    return nearest;
  }
}

/** The input of a computer-use call as an engine gets it: without the safety checks of the model's provider. */
export function toComputerInput(input: JsonObject): JsonObject {
  return withoutSafetyChecks(input, readSafetyChecks(input));
}

function stateKeyOf(name: string): string {
  return `haft:replay:${hash("sha256", name).slice(0, 32)}`;
}

class RecordedAnswerList implements AnswerList {
  readonly answers: PlacedAnswer[] = [];
  readonly stateKey: string;

  constructor(stateKey: string) {
    this.stateKey = stateKey;
  }

  countUsed(state: ReplayState): number {
    return Number(state.get(this.stateKey) ?? 0);
  }

  next(state: ReplayState): NextAnswer | undefined {
    const { stateKey } = this;
    const usedCount = this.countUsed(state);
    const answer = this.answers[usedCount];
    return answer === undefined ? undefined : { ...answer, stateKey, usedCount };
  }
}

/** After skipping this many used answers, a session records how many of the first are used. */
const SKIPS_BEFORE_UPDATE = 32;

/** The answers of several lists in recorded order; each list keeps its own count. */
class MergedList implements AnswerList {
  readonly answers: readonly PlacedAnswer[];
  readonly #places: readonly { readonly list: RecordedAnswerList; readonly index: number }[];
  /** The key of the session state with the number of leading answers that are all used. */
  readonly #stateKey: string;

  constructor(stateKey: string, lists: readonly RecordedAnswerList[]) {
    const entries = lists.flatMap((list) => list.answers.map((answer, index) => ({ list, index, answer })));
    entries.sort((one, other) => one.answer.place - other.answer.place);
    this.#places = entries;
    this.answers = entries.map(({ answer }) => answer);
    this.#stateKey = stateKey;
  }

  next(state: ReplayState): NextAnswer | undefined {
    const from = Number(state.get(this.#stateKey) ?? 0);
    for (let at = from; at < this.#places.length; at++) {
      const place = this.#places[at];
      const next = place === undefined || place.index < place.list.countUsed(state) ? undefined : place.list.next(state);
      if (next === undefined) continue;
      if (at - from >= SKIPS_BEFORE_UPDATE) state.update(this.#stateKey, () => at);
      return next;
    }
    return undefined;
  }
}

/** The groups of calls for which the model sent the same input. */
class SentInputGroups {
  readonly #stateKey: string;
  readonly #groups: Set<RecordedAnswerGroup>;
  #lists: AnswerLists | undefined;

  constructor(stateKey: string, group: RecordedAnswerGroup) {
    this.#stateKey = stateKey;
    this.#groups = new Set([group]);
  }

  has(group: RecordedAnswerGroup): boolean {
    return this.#groups.has(group);
  }

  add(group: RecordedAnswerGroup): void {
    this.#groups.add(group);
    this.#lists = undefined;
  }

  get lists(): AnswerLists {
    return (this.#lists ??= this.#mergeLists());
  }

  #mergeLists(): AnswerLists {
    const [only, ...more] = this.#groups;
    if (only !== undefined && more.length === 0) return only.lists;
    const groups = [...this.#groups];
    return {
      outer: new MergedList(
        `${this.#stateKey}:outer`,
        groups.map(({ lists }) => lists.outer),
      ),
      nested: new MergedList(
        `${this.#stateKey}:nested`,
        groups.map(({ lists }) => lists.nested),
      ),
    };
  }
}

class RecordedAnswerGroup implements AnswerGroup {
  readonly input: JsonObject;
  readonly lists: Readonly<Record<"outer" | "nested", RecordedAnswerList>>;
  #leaves: Leaves | undefined;

  constructor(stateKey: string, input: JsonObject) {
    this.lists = { outer: new RecordedAnswerList(stateKey), nested: new RecordedAnswerList(`${stateKey}:nested`) };
    this.input = input;
  }

  get leaves(): Leaves {
    return (this.#leaves ??= leavesOf(this.input));
  }
}
