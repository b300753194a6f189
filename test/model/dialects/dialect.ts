/** What a fake provider is made of: its way to check a request and to write a reply. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";

/** One reply of a script, the same for every provider. */
export interface ServedReply {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ServedCall[];
  /** @default "calls" where there are any, else "stop" */
  readonly finish?: "stop" | "calls" | "length";
  /** @default 10 and 5 */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Served where several are asked for: one token each, so probable; the first is the reply itself. @default one alone */
  readonly candidates?: readonly ServedCandidate[];
}

export interface ServedCandidate {
  readonly text: string;
  readonly logProbability: number;
}

export interface ServedCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** A reply with everything it needs: what the provider makes up is made up. */
export interface WholeReply {
  readonly model: string;
  readonly id: string;
  readonly text: string;
  readonly reasoning: string;
  /** Proves the reasoning; to be given back with it. */
  readonly signature: string;
  readonly calls: readonly (ServedCall & { readonly id: string })[];
  readonly finish: "stop" | "calls" | "length";
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Empty where one alone was asked for. */
  readonly candidates: readonly ServedCandidate[];
}

export interface CheckedRequest {
  readonly body: JsonObject;
  /** Behind the base address, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** By the id of the first call of a reply with reasoning, the proof of that. */
  readonly signatures: ReadonlyMap<string, string>;
}

/** A stream's piece; `event` where the format names them. */
export interface ServedPiece {
  readonly event?: string;
  readonly data: JsonValue;
}

export interface Dialect {
  readonly framing: "sse" | "json-lines" | "event-stream";
  /** Of a model named `a/b c`, the path of a request. */
  isPath(path: string): boolean;
  isStream(request: CheckedRequest): boolean;
  modelOf(request: CheckedRequest): string;
  /** @throws Refused as the provider would */
  check(request: CheckedRequest): void;
  /** How many replies are asked for. @default 1 */
  candidates?(request: CheckedRequest): number;
  callId(count: number): string;
  whole(reply: WholeReply): JsonObject;
  pieces(reply: WholeReply): readonly ServedPiece[];
  failure(status: number, message: string, kind: string): JsonObject;
}

/** What a provider answers with 400. */
export class Refused extends Error {}

export function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Refused(message);
}

export function objectAt(value: JsonValue | undefined, place: string): JsonObject {
  demand(isJsonObject(value), `${place}: an object is required.`);
  return value;
}

export function objectsAt(value: JsonValue | undefined, place: string): readonly JsonObject[] {
  demand(isJsonArray(value), `${place}: a list is required.`);
  return value.map((item, index) => objectAt(item, `${place}[${index}]`));
}

export function textAt(value: JsonValue | undefined, place: string): string {
  demand(typeof value === "string" && value !== "", `${place}: a text is required.`);
  return value;
}

export function checkToolName(value: JsonValue | undefined, place: string): string {
  const name = textAt(value, place);
  demand(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/u.test(name), `${place}: ${name} does not match '^[a-zA-Z0-9_-]{1,64}$'.`);
  return name;
}

export function checkSchema(value: JsonValue | undefined, place: string): void {
  demand(objectAt(value, place)["type"] === "object", `${place}.type: must be "object".`);
}

/** Claude takes any names inside of an argument. */
export function checkArgumentNames(value: JsonValue | undefined, place: string): void {
  const names = Object.keys(objectAt(objectAt(value, place)["properties"] ?? {}, `${place}.properties`));
  for (const name of names)
    demand(/^[a-zA-Z0-9_.-]{1,64}$/u.test(name), `${place}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`);
}

/** A text in pieces of at most five characters. */
export function cut(text: string): readonly string[] {
  return text.match(/[^]{1,5}/gu) ?? [];
}

/** The messages of two sides, which take turns; the user's is the last, unless the provider is to continue its own. */
export function checkTurns(roles: readonly (JsonValue | undefined)[], isPaused: boolean): void {
  for (const [index, role] of roles.entries())
    demand(role !== roles[index - 1], `messages.${index}: roles must alternate, but found two of ${JSON.stringify(role)}.`);
  demand(
    roles.at(-1) === "user" || isPaused,
    "This model does not support assistant message prefill. The conversation must end with a user message.",
  );
}

/** Calls that wait for their results, which must come before anything else. */
export class OpenCalls {
  readonly #open = new Set<string>();
  readonly #seen = new Set<string>();

  make(id: string, place: string): void {
    demand(!this.#seen.has(id), `${place}: the id ${id} is not unique.`);
    this.#seen.add(id);
    this.#open.add(id);
  }

  answer(id: string, place: string): void {
    demand(this.#open.delete(id), `${place}: no call ${id} waits for a result.`);
  }

  /** @throws Refused where a call was left without a result */
  settle(place: string): void {
    demand(this.#open.size === 0, `${place}: the calls ${[...this.#open].join(", ")} have no results.`);
  }
}
