/** Leaves out results that newer ones supersede once the history fills its budget, and changes it rarely. */
import { DEFAULT_NAMESPACE, splitName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { CallMessage, ModelMessage, ResultMessage } from "../core/message.ts";
import type { PastCall, Supersedes, Tool } from "../core/tool.ts";
import { messageBytes } from "./message-bytes.ts";
import { firstResults, replaceResults } from "./replace-results.ts";

export interface TrimOptions {
  /** Maximum size of the history, in UTF-8 bytes of what the model reads; three or four of them are one token of English text. */
  readonly budgetBytes: number;
  /** The share of the budget above which results are left out; 0 = always. A number from 0 to 1. @default 0.75 */
  readonly threshold?: number;
  /**
   * Returns the tool of a qualified name, and of overloads the one that the input is meant for. Results of unknown tools, and of tools without
   * `supersedes`, are kept.
   */
  readonly toolOf: (name: string, input: JsonObject) => Pick<Tool, "supersedes"> | undefined;
  /** Returns the input that ran, after repair. @default the input that the model sent, if that is an object */
  readonly inputOf?: (callId: string) => JsonObject | undefined;
  /** True for a call whose result must stay. */
  readonly pinned?: (callId: string) => boolean;
}

const DEFAULT_THRESHOLD = 0.75;
/** Size that the line in place of a result counts as, so that a trimmed history has the same size when it is trimmed again. */
const LINE_BYTES = 64;

/**
 * Leaves out results that a newer call of the same toolset supersedes.
 *
 * If all calls of a message are superseded, the message is dropped with their results. If only some are, the calls stay, and the superseded results
 * become a line that names the newer call. The newer result lists in `supersedes` what it replaced. Only calls with status `ok` take part, pinned
 * results stay, and a call is always dropped together with its result.
 *
 * A change in the middle of a conversation invalidates a provider's prompt cache from there on. So nothing changes as long as the history takes no
 * more than `threshold * budgetBytes`; then everything superseded is left out at once. To find when that was, the growth of the history is replayed:
 * what was left out then stays out, and what was superseded since stays in until the shown part has outgrown the threshold again. A longer history
 * therefore begins like the shorter one did, until the next trim. Trimming a trimmed history changes nothing.
 *
 * @throws ToolError `invalid_argument`
 */
export function trimResults(messages: readonly ModelMessage[], options: TrimOptions): readonly ModelMessage[] {
  const limit = checkLimit(options);
  const earlier = findEarlierTrims(messages);
  const sizes = messages.map((message) => (message.role === "result" && earlier.has(message.callId) ? LINE_BYTES : messageBytes(message)));
  if (sizes.reduce((sum, bytes) => sum + bytes, 0) <= limit) return [...messages];
  const trim = new TrimReplay(options, limit, new Map(earlier));
  for (const [index, message] of messages.entries()) {
    trim.add(message, sizes[index] ?? 0);
    if (message.role !== "call" && messages[index + 1]?.role !== "result") trim.dropOutdated();
  }
  trim.dropOutdated();
  return replaceResults(messages, { earlier, replacedBy: trim.replacedBy, dropped: trim.dropped });
}

function checkLimit({ budgetBytes, threshold = DEFAULT_THRESHOLD }: TrimOptions): number {
  if (!(typeof budgetBytes === "number" && budgetBytes >= 0))
    throw new ToolError("invalid_argument", `budgetBytes is ${String(budgetBytes)}; it takes a number of bytes from 0.`);
  if (!(typeof threshold === "number" && threshold >= 0 && threshold <= 1))
    throw new ToolError("invalid_argument", `The threshold of trimming is ${String(threshold)}; it takes a number from 0 to 1.`);
  return threshold === 0 ? 0 : budgetBytes * threshold;
}

/** Which call superseded which in an earlier trim. Only later calls count, so that following them ends. */
function findEarlierTrims(messages: readonly ModelMessage[]): ReadonlyMap<string, string> {
  const results = [...firstResults(messages).values()];
  const places = new Map(results.map(({ callId }, place) => [callId, place]));
  const replacedBy = new Map<string, string>();
  for (const [place, { callId: newer, supersedes }] of results.entries()) {
    for (const callId of supersedes ?? []) if ((places.get(callId) ?? -1) < place && !replacedBy.has(callId)) replacedBy.set(callId, newer);
  }
  return replacedBy;
}

/** After this many older calls in a row that a newer one does not supersede, the search stops. */
const MAX_REFUSALS = 100;

/** The calls that one message of the model made. */
interface CallGroup {
  readonly turnId: string;
  readonly callIds: string[];
  bytes: number;
  replaced: number;
}

/** A call with status `ok`, of a tool with a rule. */
interface Candidate {
  readonly callId: string;
  readonly group: CallGroup;
  readonly past: PastCall;
  readonly bytes: number;
}

interface Rule {
  readonly toolset: string;
  readonly name: string;
  readonly supersedes: Supersedes;
}

/** Replays the growth of a history. */
class TrimReplay {
  /** The call that superseded each left-out call, by ids. */
  readonly replacedBy: Map<string, string>;
  /** Calls of messages that are dropped whole. */
  readonly dropped = new Set<string>();
  readonly #options: TrimOptions;
  readonly #limit: number;
  /** Calls whose results have not come yet. */
  readonly #open = new Map<string, { readonly message: CallMessage; readonly group: CallGroup }>();
  readonly #seen = new Set<string>();
  /** Candidates that are not superseded yet, by toolset and location, the oldest first. */
  readonly #current = new Map<string, Candidate[]>();
  readonly #outdated: { readonly older: Candidate; readonly newer: string }[] = [];
  #group: CallGroup | undefined;
  #bytes = 0;

  constructor(options: TrimOptions, limit: number, replacedBy: Map<string, string>) {
    this.#options = options;
    this.#limit = limit;
    this.replacedBy = replacedBy;
  }

  add(message: ModelMessage, bytes: number): void {
    if (message.role === "call") return this.#addCall(message, bytes);
    this.#group = undefined;
    if (message.role === "result") this.#addResult(message, bytes);
    else this.#bytes += bytes;
  }

  /** Leaves out everything superseded, if the shown part has outgrown the limit. */
  dropOutdated(): void {
    if (this.#bytes <= this.#limit) return;
    for (const { older, newer } of this.#outdated) {
      this.replacedBy.set(older.callId, newer);
      this.#bytes += LINE_BYTES - older.bytes;
      this.#countReplaced(older.group);
    }
    this.#outdated.length = 0;
  }

  #addCall(message: CallMessage, bytes: number): void {
    this.#bytes += bytes;
    if (this.#seen.has(message.callId)) return;
    this.#seen.add(message.callId);
    if (this.#group?.turnId !== message.turnId) this.#group = { turnId: message.turnId, callIds: [], bytes: 0, replaced: 0 };
    this.#group.callIds.push(message.callId);
    this.#group.bytes += bytes;
    this.#open.set(message.callId, { message, group: this.#group });
  }

  #addResult(message: ResultMessage, bytes: number): void {
    const opened = this.#open.get(message.callId);
    this.#open.delete(message.callId);
    this.#bytes += bytes;
    if (opened !== undefined && this.replacedBy.has(message.callId)) return this.#countReplaced(opened.group);
    if (opened === undefined || message.result.status !== "ok") return;
    const input = this.#options.inputOf?.(message.callId) ?? opened.message.call.input ?? {};
    const rule = isJsonObject(input) ? this.#findRule(message.result.name, input) : undefined;
    if (rule === undefined || !isJsonObject(input)) return;
    const past: PastCall = { name: rule.name, input, output: message.result.output };
    this.#compare({ callId: message.callId, group: opened.group, past, bytes }, rule);
  }

  #countReplaced(group: CallGroup): void {
    if (++group.replaced < group.callIds.length) return;
    this.#bytes -= group.bytes + group.callIds.length * LINE_BYTES;
    for (const callId of group.callIds) this.dropped.add(callId);
  }

  /** Finds the calls that a new candidate supersedes, the newest first, and adds the candidate itself. */
  #compare(newer: Candidate, rule: Rule): void {
    const location = locationOf(rule, newer.past);
    if (location === undefined) return;
    let candidates = this.#current.get(location);
    if (candidates === undefined) this.#current.set(location, (candidates = []));
    const kept: Candidate[] = [];
    while (kept.length < MAX_REFUSALS) {
      const older = candidates.pop();
      if (older === undefined) break;
      if (replaces(rule, newer.past, older.past)) this.#outdated.push({ older, newer: newer.callId });
      else kept.push(older);
    }
    for (const older of kept.reverse()) candidates.push(older);
    if (this.#options.pinned?.(newer.callId) !== true) candidates.push(newer);
  }

  #findRule(qualifiedName: string, input: JsonObject): Rule | undefined {
    const supersedes = this.#options.toolOf(qualifiedName, input)?.supersedes;
    if (supersedes === undefined) return undefined;
    const { namespace = DEFAULT_NAMESPACE, name } = splitName(qualifiedName);
    return { toolset: namespace, name, supersedes };
  }
}

/** The key under which calls that may supersede each other are grouped; undefined if the rule does not apply to the call. */
function locationOf({ toolset, supersedes }: Rule, call: PastCall): string | undefined {
  if (supersedes.locationOf === undefined) return toolset;
  try {
    const location = supersedes.locationOf(call);
    return typeof location === "string" ? `${toolset}\u0000${location}` : undefined;
  } catch {
    return undefined;
  }
}

function replaces({ supersedes }: Rule, newer: PastCall, older: PastCall): boolean {
  try {
    const answer: unknown = supersedes(newer, older);
    return answer === true; // a promise is not an answer
  } catch {
    return false;
  }
}
