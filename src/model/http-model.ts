/** A model behind a provider's HTTP interface, whatever its wire format. */
import { checkMs } from "../core/call-settings.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument, checkString, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Model, ModelEvent, ModelOptions, ModelRequest } from "../core/model.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { RetryBudget } from "../policy/attempts/retry-budget.ts";
import { checkRetrySettings, retryDelay, type RetrySettings } from "../policy/attempts/retry.ts";
import type { WireFormat, WireNote } from "../wire/wire-format.ts";
import { stringifyRequest } from "../wire/step-cache.ts";
import { Exchange, cancelledError, type ExchangeSettings, type FetchFunction } from "./exchange.ts";
import { EventStream } from "./event-stream.ts";
import { modelPorts, type ModelPorts } from "./model-ports.ts";
import { RequestSecrets } from "./request-secrets.ts";
import { readAnswer, type AnswerEvents } from "./read-answer.ts";
import type { UsageMeter } from "./usage-meter.ts";

/** A provider's address, wire format and credentials, and the limits for requests to it. */
export interface HttpModelOptions {
  readonly format: WireFormat;
  /** The model's name at the provider. */
  readonly model: string;
  /** The address before the paths of the format: `https://api.openai.com/v1`. A query is kept. */
  readonly baseUrl: string;
  /** Name in messages, and the key under which a meter counts. @default the format's name and `model`: `openai-chat/gpt-5` */
  readonly name?: string;
  /** Sent in `keyHeader`; never reported. White space around it is removed. */
  readonly apiKey?: string;
  /** `authorization` gets `Bearer` and the key, any other header the key alone. @default "authorization" */
  readonly keyHeader?: string;
  /** A hint for users whose key is missing or refused. */
  readonly keyHint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Signs each attempt: the headers it returns are added, as AWS Signature Version 4 requires. */
  readonly sign?: (request: UnsignedRequest) => SignatureHeaders | Promise<SignatureHeaders>;
  /** @default globalThis.fetch */
  readonly fetch?: FetchFunction;
  /** @default the system clock and random numbers */
  readonly ports?: Partial<ModelPorts>;
  /** Whether a streamed answer is requested. @default true */
  readonly stream?: boolean;
  /** Whether the provider is asked to enforce the tools' schemas, if it can. @default false */
  readonly strict?: boolean;
  /** When an attempt that failed before its first event is made again, and after which wait. */
  readonly retry?: ModelRetrySettings;
  /** Longest wait from the request to the first byte of the answer's body; 0 = no limit. @default 300_000 */
  readonly firstByteTimeoutMs?: number;
  /** Longest wait between two pieces of the answer; 0 = no limit. @default 120_000 */
  readonly idleTimeoutMs?: number;
  /** Largest body of an answer, after decompression. @default 67_108_864 */
  readonly maxBytes?: number;
  /** Counts requests, retries, failures, tokens and cost. */
  readonly meter?: UsageMeter;
  /** Called before each wait for another attempt. */
  readonly onRetry?: (retry: ModelRetry) => void;
  /** Called with the parts of the tools and the conversation that the provider does not support, once per request that leaves some out. */
  readonly onNotes?: (notes: readonly WireNote[]) => void;
}

/** How often a request is sent, and the waits between attempts. */
export interface ModelRetrySettings extends RetrySettings {
  /**
   * How often a request may be sent in all, the first included. The one attempt without refused reasoning counts, but is always made.
   *
   * @default 4
   */
  readonly maxAttempts?: number;
}

/** An attempt that failed, and the wait before the next. */
export interface ModelRetry {
  /** The attempt that has just failed; the first is 1. */
  readonly attempt: number;
  readonly error: ToolError;
  readonly waitMs: number;
}

/** A request before it is signed. */
export interface UnsignedRequest {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The headers that sign a request, by name. */
export type SignatureHeaders = Readonly<Record<string, string>>;

interface Encoded {
  readonly json: JsonObject;
  readonly body: string;
  readonly toolNames: ReadonlyMap<string, string>;
}

interface NextAttempt {
  readonly encoded: Encoded;
  readonly waitMs: number;
}

interface FailedAttempt {
  readonly attempt: number;
  /** Whether events of its answer were already yielded. */
  readonly hasYielded: boolean;
}

export const HTTP_MODEL_OPTIONS: OptionNames<HttpModelOptions> = {
  format: true,
  model: true,
  baseUrl: "string",
  name: "string",
  apiKey: "string",
  keyHeader: true,
  keyHint: "string",
  headers: "object",
  sign: "function",
  fetch: "function",
  ports: "object",
  stream: "boolean",
  strict: "boolean",
  retry: true,
  firstByteTimeoutMs: true,
  idleTimeoutMs: true,
  maxBytes: true,
  meter: "object",
  onRetry: "function",
  onNotes: "function",
};
const RETRY: OptionNames<ModelRetrySettings> = { delayMs: true, factor: true, maxDelayMs: true, jitter: true, maxAttempts: true };

/** Longest wait that a provider may ask for. If it asks for more, its error is final. */
const MAX_WAIT_MS = 60_000;

/**
 * A model that asks a provider over `fetch`.
 *
 * An attempt is made again only if none of its events were yielded and its error may pass (rate limit, overload, broken connection, 5xx), and once
 * without the reasoning of earlier replies if the provider refuses it. Waits as long as the provider asks (`Retry-After`), at most a minute, else
 * with an exponential delay and jitter. `RetryBudget` limits the retries of parallel requests. A connection that breaks in the middle ends the reply
 * as `truncated`, without calls; one that stalls ends it with `timeout`. Redirects are refused. Leaving the loop over the events closes the
 * connection.
 *
 * @throws ToolError `invalid_argument` for options that cannot work
 */
export function httpModel(options: HttpModelOptions): Model {
  checkKnownKeys(options, HTTP_MODEL_OPTIONS, "httpModel()");
  if (options.retry !== undefined) checkKnownKeys(options.retry, RETRY, "httpModel({ retry })");
  const { format, model } = options;
  checkArgument(
    hasMethods(format, "encodeRequest"),
    "httpModel({ format })",
    "a wire format",
    format,
    "For example openAiChat() of haft/wire.",
  );
  checkString(model, "httpModel({ model })", "the name of a model");
  return new HttpModel(options);
}

class HttpModel implements Model {
  readonly name: string;
  readonly format: string;
  readonly serverUrl: string;
  readonly #options: HttpModelOptions;
  readonly #ports: ModelPorts;
  readonly #secrets: RequestSecrets;
  readonly #url: string;
  readonly #exchange: ExchangeSettings;
  readonly #budget: RetryBudget;

  constructor(options: HttpModelOptions) {
    const { format, model, name = `${format.name}/${model}`, baseUrl, stream = true, fetch = globalThis.fetch } = options;
    const { firstByteTimeoutMs = 300_000, idleTimeoutMs = 120_000, maxBytes = 64 * 1024 * 1024 } = options;
    this.name = name;
    this.format = format.name.split(":", 1)[0] ?? format.name; // a variant has the name of its format
    checkMs(firstByteTimeoutMs, "firstByteTimeoutMs", `the model ${name}`);
    checkMs(idleTimeoutMs, "idleTimeoutMs", `the model ${name}`);
    checkRetrySettings(options.retry ?? {});
    this.#options = options;
    this.#ports = modelPorts(options.ports);
    this.#secrets = new RequestSecrets(options);
    const url = requestUrl(baseUrl, format.path({ model, stream }), name);
    this.#url = url.href;
    this.serverUrl = url.origin;
    const { clock } = this.#ports;
    this.#exchange = { model: name, server: url.host, fetch, clock, firstByteTimeoutMs, idleTimeoutMs, maxBytes };
    this.#budget = new RetryBudget({ clock });
  }

  stream(request: ModelRequest, { signal }: ModelOptions = {}): AsyncIterableIterator<ModelEvent> {
    const stop = new AbortController();
    const cancelRequest = (): void => stop.abort();
    return new EventStream(this.#streamReply(request, signal, stop), undefined, cancelRequest);
  }

  /** Makes attempts until one yields events or no retry is left. */
  async *#streamReply(
    request: ModelRequest,
    caller: AbortSignal | undefined,
    stop: AbortController,
  ): AsyncGenerator<readonly ModelEvent[], void> {
    const { meter } = this.#options;
    const { signal } = stop;
    const forget = caller === undefined ? undefined : onAbort(caller, () => stop.abort());
    meter?.request(this.name);
    try {
      let next: NextAttempt = { encoded: this.#encode(request), waitMs: 0 };
      this.#budget.requests++;
      for (let attempt = 1; ; attempt++) {
        const exchange = new Exchange(this.#exchange, signal);
        let hasYielded = false;
        try {
          const answer = await this.#attempt(exchange, next.encoded);
          for (let events = await answer.next(); events !== undefined; events = await answer.next()) {
            hasYielded = true;
            const last = events.at(-1);
            if (last?.type === "reply-end") meter?.reply(this.name, last.reply.usage);
            yield events;
          }
          return;
        } catch (thrown: unknown) {
          next = this.#planNextAttempt(thrown, next.encoded, { attempt, hasYielded });
        } finally {
          exchange.close();
        }
        await this.#pause(next.waitMs, signal);
      }
    } catch (thrown: unknown) {
      meter?.failure(this.name);
      throw thrown;
    } finally {
      forget?.();
    }
  }

  /** The next attempt, and the wait before it. @throws ToolError the error of the attempt, if it is not retried */
  #planNextAttempt(thrown: unknown, encoded: Encoded, { attempt, hasYielded }: FailedAttempt): NextAttempt {
    const error = this.#secrets.withoutSecrets(ToolError.fromUnknown(thrown, "model_failed"));
    const { retry = {}, meter, onRetry } = this.#options;
    const shorter = hasYielded ? undefined : this.#withoutRefusedReasoning(encoded, error);
    if (shorter === undefined && (hasYielded || !this.#mayRetry(error, attempt))) throw error;
    const waitMs = shorter === undefined ? retryDelay(error, attempt, retry, this.#ports.random) : 0;
    meter?.retry(this.name);
    onRetry?.({ attempt, error, waitMs });
    return { encoded: shorter ?? encoded, waitMs };
  }

  /** The request without the reasoning that the provider refused, to be sent at once; undefined if the refusal was about something else. */
  #withoutRefusedReasoning({ json, toolNames }: Encoded, { message }: ToolError): Encoded | undefined {
    const { format, onNotes } = this.#options;
    const shorter = format.withoutRefused?.(json, message);
    if (shorter === undefined) return undefined;
    onNotes?.([{ kind: "unsupported", note: `${this.name} refused the reasoning of earlier replies, so it is left out.` }]);
    return { json: shorter, body: stringifyRequest(shorter), toolNames };
  }

  async #attempt(exchange: Exchange, { body, toolNames }: Encoded): Promise<AnswerEvents> {
    const { format, stream = true, keyHint = "Pass apiKey." } = this.#options;
    const response = await exchange.open(this.#url, async () => ({ method: "POST", headers: await this.#headers(body), body }));
    return readAnswer(response, { exchange, format, stream, toolNames, model: this.name, keyHint, clock: this.#ports.clock });
  }

  async #headers(body: string): Promise<Readonly<Record<string, string>>> {
    const { sign } = this.#options;
    const { headers } = this.#secrets;
    return sign === undefined ? headers : { ...headers, ...(await sign({ method: "POST", url: this.#url, headers, body })) };
  }

  #encode(request: ModelRequest): Encoded {
    const { format, model, stream = true, strict = false, onNotes } = this.#options;
    const { body, toolNames, notes } = format.encodeRequest(request, { model, stream, strict });
    if (notes.length > 0) onNotes?.(notes);
    return { json: body, body: stringifyRequest(body), toolNames };
  }

  #mayRetry(error: ToolError, attempt: number): boolean {
    const { maxAttempts = 4 } = this.#options.retry ?? {};
    return error.retryable && attempt < maxAttempts && (error.retryAfterMs ?? 0) <= MAX_WAIT_MS && this.#budget.tryRetry();
  }

  #pause(waitMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancelTimer = this.#ports.clock.timer(resolve, waitMs);
    const forget = onAbort(signal, () => reject(cancelledError(this.name)));
    return promise.finally(() => {
      cancelTimer();
      forget();
    });
  }
}

/** @throws ToolError `invalid_argument`; the message omits the address, which may hold a password */
function requestUrl(baseUrl: string, path: string, model: string): URL {
  const base = URL.parse(baseUrl);
  if (base === null || !/^https?:$/u.test(base.protocol) || base.username !== "" || base.password !== "")
    throw new ToolError("invalid_argument", `The baseUrl of ${model} must be an http: or https: address without a user name and password.`);
  const [place = "", query = ""] = path.split("?", 2);
  const queries = [base.search.slice(1), query].filter((part) => part !== "").join("&");
  return new URL(`${base.origin}${base.pathname.replace(/\/$/u, "")}${place}${queries === "" ? "" : `?${queries}`}`);
}
