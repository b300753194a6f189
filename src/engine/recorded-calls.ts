/** The calls of a recording, to be found by tool and input. */
import { hash } from "node:crypto";
import type { ToolCall } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import { safetyChecks, withoutChecks } from "../core/safety-checks.ts";
import { wasKeptFromStarting } from "../core/kept-from-starting.ts";
import type { ToolResult } from "../core/result.ts";
import { leavesOf, similarity, type Leaves } from "./compare-input.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** A call that was recorded with its result. */
export interface RecordedCall {
  /** As the model made it. */
  readonly call: ToolCall;
  /** The input that ran, after repair; undefined when the call never got that far. */
  readonly input: JsonObject | undefined;
  readonly result: ToolResult;
  /** A handler made it, as part of its own call. */
  readonly isNested: boolean;
}

/** A result with its place among the calls of the recording. */
export interface PlacedAnswer {
  readonly result: ToolResult;
  readonly place: number;
}

/**
 * The calls that have a result, in the order they were made; those of batches that were rolled back included. Of a call that the store kept from
 * starting, and that ran when its batch was submitted again, the one that ran.
 *
 * @throws ToolError `invalid_argument` for what is not a list of events
 */
export function recordedCalls(events: Iterable<SessionEvent>): readonly RecordedCall[] {
  if (typeof events !== "object" || typeof events?.[Symbol.iterator] !== "function")
    throw new ToolError("invalid_argument", "A replay needs the events of a recording, as an array.", {
      hint: "Read a file with readRecording(), and collect what is asynchronous: await Array.fromAsync(events).",
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
    return call === undefined || (repeated.has(callId) && wasKeptFromStarting(call.result)) ? [] : [call];
  });
}

/** For a replay that answers chains and programs as a whole: calls that these made are not made again, and come after those that are. */
export function outerFirst(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return [...calls.filter(({ isNested }) => !isNested), ...calls.filter(({ isNested }) => isNested)];
}

/** All calls of one tool with one input that ran. */
export interface AnswerGroup {
  readonly input: JsonObject;
  /** Those to calls that were made by themselves, and those to calls of handlers. */
  readonly lists: AnswerLists;
  readonly leaves: Leaves;
}

/** Answers from which calls of a session are given one after the other. */
export interface AnswerList {
  /** In the order they were recorded. */
  readonly answers: readonly PlacedAnswer[];
  /** The first that the session was not given yet. */
  next(state: ReplayState): NextAnswer | undefined;
}

/** The values of a session that a replay uses. */
export type ReplayState = Pick<ToolContext["state"], "get" | "update">;

export interface NextAnswer extends PlacedAnswer {
  /** Where the session counts how many it was given of those that are counted together. */
  readonly stateKey: string;
  readonly given: number;
}

export type AnswerLists = Readonly<Record<"outer" | "nested", AnswerList>>;

export interface Neighbour {
  readonly group: AnswerGroup;
  readonly similarity: number;
}

/** So many different inputs are compared with one that was not recorded. */
const MAX_COMPARED = 10_000;

/** The recorded answers of one tool. */
export class ToolAnswers {
  readonly #name: string;
  readonly #groups = new Map<string, OpenGroup>();
  /** By what the model sent, where that is not what ran: hooks may have made several inputs of one. */
  readonly #sent = new Map<string, SentGroups>();
  #added = 0;

  readonly #given: (input: JsonObject) => JsonObject;

  /** @param given the input as an engine is given it, of one with what the provider wants confirmed. @default all of it */
  constructor(name: string, given: (input: JsonObject) => JsonObject = (input) => input) {
    this.#name = name;
    this.#given = given;
  }

  add({ call, input, result, isNested }: RecordedCall): void {
    const sent = this.#given(isJsonObject(call.input) ? call.input : {});
    const ran = input === undefined ? sent : this.#given(input);
    const group = getOrAdd(this.#groups, canonicalJson(ran), (key) => new OpenGroup(stateKeyOf(`${this.#name}\n${key}`), ran));
    group.lists[isNested ? "nested" : "outer"].answers.push({ result, place: this.#added++ });
    const key = canonicalJson(sent);
    const groups = this.#sent.get(key);
    if (groups === undefined) this.#sent.set(key, new SentGroups(stateKeyOf(`sent\n${this.#name}\n${key}`), group));
    else groups.add(group);
  }

  /**
   * The calls with this input, be it what ran or what the model sent; [] when there are none. One that a hook has just made was not sent:
   * where calls ran with it, it is one of those.
   */
  exact(input: JsonObject, isRewritten: boolean): readonly AnswerLists[] {
    const key = canonicalJson(input);
    const ran = this.#groups.get(key);
    const sent = this.#sent.get(key);
    if (ran === undefined) return sent === undefined ? [] : [sent.lists];
    if (sent === undefined || isRewritten) return [ran.lists];
    return sent.has(ran) ? [sent.lists] : [ran.lists, sent.lists];
  }

  /** The most similar input, the first recorded of equal ones; undefined when there is none at all. */
  nearest(input: JsonObject): Neighbour | undefined {
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

/** The input of a computer as an engine is given it: without what the model's provider wants confirmed. */
export function withoutItsChecks(input: JsonObject): JsonObject {
  return withoutChecks(input, safetyChecks(input));
}

function stateKeyOf(name: string): string {
  return `haft:replay:${hash("sha256", name).slice(0, 32)}`;
}

class OpenList implements AnswerList {
  readonly answers: PlacedAnswer[] = [];
  readonly stateKey: string;

  constructor(stateKey: string) {
    this.stateKey = stateKey;
  }

  givenIn(state: ReplayState): number {
    return Number(state.get(this.stateKey) ?? 0);
  }

  next(state: ReplayState): NextAnswer | undefined {
    const { stateKey } = this;
    const given = this.givenIn(state);
    const answer = this.answers[given];
    return answer === undefined ? undefined : { ...answer, stateKey, given };
  }
}

/** The number of given answers that are skipped before a session notes where they end. */
const NOTED_AFTER = 32;

/** The answers of several lists, which are counted list by list. */
class MergedList implements AnswerList {
  readonly answers: readonly PlacedAnswer[];
  readonly #places: readonly { readonly list: OpenList; readonly index: number }[];
  /** Where a session notes how many of the first ones were all given. */
  readonly #stateKey: string;

  constructor(stateKey: string, lists: readonly OpenList[]) {
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
      const next = place === undefined || place.index < place.list.givenIn(state) ? undefined : place.list.next(state);
      if (next === undefined) continue;
      if (at - from >= NOTED_AFTER) state.update(this.#stateKey, () => at);
      return next;
    }
    return undefined;
  }
}

/** The groups of calls that were sent alike. */
class SentGroups {
  readonly #stateKey: string;
  readonly #groups: Set<OpenGroup>;
  #lists: AnswerLists | undefined;

  constructor(stateKey: string, group: OpenGroup) {
    this.#stateKey = stateKey;
    this.#groups = new Set([group]);
  }

  has(group: OpenGroup): boolean {
    return this.#groups.has(group);
  }

  add(group: OpenGroup): void {
    this.#groups.add(group);
    this.#lists = undefined;
  }

  get lists(): AnswerLists {
    return (this.#lists ??= this.#merged());
  }

  #merged(): AnswerLists {
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

class OpenGroup implements AnswerGroup {
  readonly input: JsonObject;
  readonly lists: Readonly<Record<"outer" | "nested", OpenList>>;
  #leaves: Leaves | undefined;

  constructor(stateKey: string, input: JsonObject) {
    this.lists = { outer: new OpenList(stateKey), nested: new OpenList(`${stateKey}:nested`) };
    this.input = input;
  }

  get leaves(): Leaves {
    return (this.#leaves ??= leavesOf(this.input));
  }
}
