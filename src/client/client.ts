/** A client of a Haft server for browsers and Node, typed by the server's table of routes, without dependencies. @packageDocumentation */
import { readRetryAfter } from "../core/formats/retry-after.ts";
import { failedToConnect } from "../net/connect-failure.ts";
import { API, type AnswerOf, type BodyOf, type OperationId, type ParamsOf, type QueryInput } from "../server/api.ts";
import type { Route } from "../server/api/requests/route.ts";
import { ApiError, toApiError, parseAnswer, encodePathPart } from "./api-error.ts";
import { checkClientOptions, checkInput, checkSignal, toAuthorization, toJsonBody } from "./check-options.ts";
import { EventFollower, type FollowOptions, type ReceivedEvent } from "./event-follower.ts";
import { wait } from "./wait.ts";

export { ApiError } from "./api-error.ts";
export type { FollowOptions, ReceivedEvent } from "./event-follower.ts";
export type { AnswerOf, BodyOf, OperationId, ParamsOf, QueryInput } from "../server/api.ts";
export type { ApiJob, ApiProcess, ApiResult, ApiSchedule, ApiSession, ApiTool } from "../server/api/openapi/component-types.ts";
export type { Problem } from "../server/http/problem.ts";

/** Options of `createClient`. */
export interface ClientOptions {
  /** The address of the server, without credentials and query: `http://127.0.0.1:3000`. */
  readonly url: string;
  /** A key or token of the server, or a function that returns it and is called for each request. */
  readonly token?: string | (() => string | Promise<string>);
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch;
  /** How often a request that may be repeated is sent in all, the first time included. Integer ≥ 1. @default 5 */
  readonly maxAttempts?: number;
  /** The delay before the second attempt, in milliseconds; doubled for each further attempt. At least 0. @default 200 */
  readonly retryDelayMs?: number;
}

type InputPart<Name extends string, Value> = [Value] extends [undefined]
  ? object
  : keyof Value extends never
    ? object
    : object extends Value
      ? { readonly [Key in Name]?: Value }
      : { readonly [Key in Name]: Value };

/** The input of an operation: parameters, body, key and signal. */
export type RequestInput<Id extends OperationId> = InputPart<"params", ParamsOf<Id>> &
  InputPart<"query", QueryInput<Id>> &
  InputPart<"body", BodyOf<Id>> & {
    /** Sent as `Idempotency-Key`: 1 to 255 printable ASCII characters. The client then repeats the request after failures, which is safe with a key. */
    readonly idempotencyKey?: string;
    /** Stops waiting for the response. Calls that the request started continue on the server. */
    readonly signal?: AbortSignal;
    /** A body that is not JSON, such as a recording. */
    readonly text?: string;
  };

/** The arguments of `call` after the id. The input may be left out if the operation needs none. */
type Input<Id extends OperationId> = object extends RequestInput<Id> ? [input?: RequestInput<Id>] : [input: RequestInput<Id>];

/** The answer of an operation: JSON by its schema, or text if the operation does not answer with JSON. */
export type ClientAnswer<Id extends OperationId> = AnswerOf<Id> extends undefined ? string : AnswerOf<Id>;

/** A client, made by `createClient`. */
export interface HaftClient {
  /**
   * Calls an operation by its id. Waits for the results of calls that take longer than `waitMs`.
   *
   * A request that changes something is sent once, unless it has an `idempotencyKey`; others are repeated after network failures. Every
   * request is repeated if nothing was started: there was no connection, or the response says so. Redirects are followed for read-only
   * requests alone.
   *
   * @throws ApiError, as a rejection, with the server's problem, or with the reason why the server could not be reached. Before anything
   * is sent: for an unknown operation, one that answers with a stream, an unknown part of the input, one that cannot be sent, a missing parameter, and a
   * token that a header cannot have
   */
  call<Id extends OperationId>(id: Id, ...input: Input<Id>): Promise<ClientAnswer<Id>>;
  /**
   * Follows a session's events after a position, and reconnects when the connection is lost. Yields each event once, in order, until the signal
   * aborts or the loop is left.
   *
   * @throws ApiError for a response that a new attempt would not change, and at the place where the log is damaged
   */
  follow(sessionId: string, options?: FollowOptions): AsyncGenerator<ReceivedEvent, void, undefined>;
}

/**
 * Makes a client.
 *
 * @throws TypeError if `url` is not an address with http or https, or has credentials, a query or a fragment; for a value out of its bounds or of the
 * wrong type, and for an unknown option
 */
export function createClient(options: ClientOptions): HaftClient {
  return new HttpClient(options);
}

const MAX_DELAY_MS = 10_000;

class HttpClient implements HaftClient {
  readonly #options: ClientOptions;
  readonly #origin: string;
  readonly #maxAttempts: number;

  constructor(options: ClientOptions) {
    this.#options = options;
    const unknown = findUnknown(options ?? {}, OPTIONS);
    if (unknown !== undefined) throw new TypeError(`createClient() has no option ${JSON.stringify(unknown)}. It has ${listOf(OPTIONS)}.`);
    this.#origin = checkClientOptions(options).href.replace(/(?<!\/)\/+$/u, "");
    this.#maxAttempts = options.maxAttempts ?? 5;
  }

  async call<Id extends OperationId>(id: Id, ...[input = {} as RequestInput<Id>]: Input<Id>): Promise<ClientAnswer<Id>> {
    const route = findRoute(id, input);
    if (route.answerType === "text/event-stream")
      throw new ApiError(
        `The operation ${JSON.stringify(id)} answers with a stream, which call() does not read. follow() reads that of a session.`,
        { status: 0 },
      );
    const given = input as PlainInput; // it has the parts that the table lists, but the compiler cannot follow this for all operations at once
    const answer = await this.#sendAndPoll(route, given);
    const { response, text } = answer;
    if (!response.ok) throw toApiError(response, text);
    // The server answers by the schema of the operation.
    return (route.answer === undefined ? text : parseJsonResponse(response, text)) as ClientAnswer<Id>;
  }

  async *follow(sessionId: string, options: FollowOptions = {}): AsyncGenerator<ReceivedEvent, void, undefined> {
    if (typeof options !== "object" || options === null)
      throw new ApiError("The options of follow() must be an object: { after, signal }, with an AbortSignal.", { status: 0 });
    checkSignal(options.signal, "follow()");
    const unknown = findUnknown(options, FOLLOW_OPTIONS);
    if (unknown !== undefined)
      throw new ApiError(`follow() has no option ${JSON.stringify(unknown)}. It has ${listOf(FOLLOW_OPTIONS)}.`, { status: 0 });
    const url = `${this.#origin}/v1/sessions/${encodePathPart(sessionId)}/events`;
    const follower = new EventFollower(
      async (headers, signal) => this.#fetch(url, { headers: await this.#headers(headers), signal }),
      options,
    );
    yield* follower.events();
  }

  /** Sends a request, and polls for results that took longer than `waitMs`. Sends it again with its key if a restarted server lost it. */
  async #sendAndPoll(route: Route, given: PlainInput): Promise<WholeAnswer> {
    let answer = await this.#send(route, given);
    for (let attempt = 1; answer.response.status === 202;) {
      const later = await this.#fetchSubmission(answer.response, given.signal);
      const isLost = later.response.status === 404 && given.idempotencyKey !== undefined && attempt < this.#maxAttempts;
      if (isLost) await wait(this.#delayMs(attempt++), given.signal);
      answer = isLost ? await this.#send(route, given) : later;
    }
    return answer;
  }

  #delayMs(attempt: number): number {
    return Math.min(MAX_DELAY_MS, (this.#options.retryDelayMs ?? 200) * 2 ** (attempt - 1));
  }

  /** Fetches the results of a request that the server answered with 202. */
  async #fetchSubmission(accepted: Response, signal: AbortSignal | undefined): Promise<WholeAnswer> {
    const { pathname, searchParams } = new URL(accepted.headers.get("location") ?? "", this.#origin);
    const id = decodeURIComponent(pathname.slice(pathname.lastIndexOf("/") + 1));
    return this.#send(API.getSubmission, {
      params: { submissionId: id },
      query: { ...Object.fromEntries(searchParams), waitMs: 30_000 },
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** Sends a request until a whole response was read: a server may also crash while it writes one. */
  async #send(route: Route, input: PlainInput): Promise<WholeAnswer> {
    const url = this.#origin + buildPath(route, input);
    const mayRepeat = route.method === "GET" || input.idempotencyKey !== undefined;
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= this.#maxAttempts;
      const delayMs = this.#delayMs(attempt);
      try {
        const response = await this.#fetch(url, await this.#buildRequest(route, input));
        if (route.method !== "GET" && isRedirect(response)) throw ApiError.redirected(url, response);
        if (isLast || !shouldRetry(response, mayRepeat)) return { response, text: await response.text() };
        await response.body?.cancel();
        await wait(Math.max(delayMs, retryAfterMs(response)), input.signal);
      } catch (thrown: unknown) {
        if (thrown instanceof ApiError) throw thrown;
        if (input.signal?.aborted === true)
          throw new ApiError("The wait for the answer was ended by its signal.", { status: 0, cause: thrown });
        if (isLast || !(mayRepeat || wasNotSent(thrown))) throw ApiError.unreachable(url, thrown);
        await wait(delayMs, input.signal);
      }
    }
  }

  async #buildRequest({ method, bodyType }: Route, { body, text, idempotencyKey, signal }: PlainInput): Promise<RequestInit> {
    const sent = text ?? toJsonBody(body);
    const headers = await this.#headers({
      ...(sent === undefined ? {} : { "content-type": bodyType ?? "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    });
    // Following a redirect would hide from the error whether anything was sent, and turns most requests into a GET.
    const redirect = method === "GET" ? "follow" : "manual";
    return { method, headers, redirect, ...(sent === undefined ? {} : { body: sent }), ...(signal === undefined ? {} : { signal }) };
  }

  async #headers(more: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const { token } = this.#options;
    const authorization = toAuthorization(typeof token === "function" ? await resolveToken(token) : token);
    return authorization === undefined ? more : { authorization, ...more };
  }

  #fetch(url: string, init: RequestInit): Promise<Response> {
    return (this.#options.fetch ?? fetch)(url, init);
  }
}

/** Calls the token function. @throws ApiError, as a rejection, with the reason as its cause */
async function resolveToken(token: () => string | Promise<string>): Promise<unknown> {
  try {
    return await token();
  } catch (cause: unknown) {
    throw new ApiError("The token of the client could not be obtained.", { status: 0, cause });
  }
}

/** A response with its whole body. */
interface WholeAnswer {
  readonly response: Response;
  readonly text: string;
}

/** The input of any operation, without its types. */
interface PlainInput {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly text?: string;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** Parses a JSON response. @throws ApiError if it is not JSON, such as the error page of a proxy */
function parseJsonResponse({ status, headers }: Response, text: string): unknown {
  const type = headers.get("content-type") ?? "no type";
  if (/^application\/json *(?:;|$)/u.test(type)) return parseAnswer(text, status);
  throw new ApiError(`The server answered with status ${status}, and with ${type} in place of JSON.`, { status });
}

/** Returns the route of an operation. Refuses mistakes of untyped programs, which would be sent as something else. @throws ApiError */
function findRoute(id: string, input: object): Route {
  if (typeof id !== "string" || !Object.hasOwn(API, id)) throw new ApiError(`There is no operation ${JSON.stringify(id)}.`, { status: 0 });
  if (typeof input !== "object" || input === null)
    throw new ApiError(`The input of ${id} is an object: { params, query, body }.`, { status: 0 });
  const unknown = findUnknown(input, PARTS);
  if (unknown !== undefined)
    throw new ApiError(`The input of ${id} has no ${JSON.stringify(unknown)}. It has ${listOf(PARTS)}.`, { status: 0 });
  const route = API[id as OperationId]; // checked above
  checkInput(id, route, input);
  return route;
}

function findUnknown(given: object, known: object): string | undefined {
  return Object.keys(given).find((name) => !Object.hasOwn(known, name));
}

function listOf(known: object): string {
  return Object.keys(known).join(", ");
}

const OPTIONS = { url: 0, token: 0, fetch: 0, maxAttempts: 0, retryDelayMs: 0 } satisfies Record<keyof ClientOptions, unknown>;
const FOLLOW_OPTIONS = { after: 0, signal: 0, live: 0 } satisfies Record<keyof FollowOptions, unknown>;
const PARTS = { params: 0, query: 0, body: 0, text: 0, idempotencyKey: 0, signal: 0 } satisfies Record<keyof PlainInput, unknown>;

/** Returns the path and query of a request. @throws ApiError if a parameter of the path is missing */
function buildPath({ path }: Route, { params = {}, query = {} }: PlainInput): string {
  const filled = path.replaceAll(/\{([A-Za-z]+)\}/gu, (_, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined;
    if (value !== undefined) return encodePathPart(String(value));
    throw new ApiError(`The path ${path} needs the parameter "${name}": params: { ${name}: … }.`, { status: 0 });
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** Whether the response is a redirect. Browsers hide its status and target. */
function isRedirect({ type, status, headers }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400 && headers.has("location"));
}

/** Whether to send a request again. The header means that nothing was started; other server failures may come after the request took effect. */
function shouldRetry(response: Response, mayRepeat: boolean): boolean {
  if (response.headers.get("x-should-retry") === "true") return true;
  return mayRepeat && [502, 503, 504].includes(response.status);
}

/** Whether the request never left this machine. Node's `fetch` gives the reason in `cause`; browsers do not give it. */
function wasNotSent(thrown: unknown): boolean {
  return failedToConnect(thrown instanceof Error ? thrown.cause : thrown);
}

function retryAfterMs({ headers }: Response): number {
  return Math.min(readRetryAfter((name) => headers.get(name)) ?? 0, MAX_DELAY_MS);
}
