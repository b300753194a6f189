/** A `fetch` for libraries that make their own HTTP requests, over a client that restricts which servers may be called. */
import { causesOf } from "../core/base/causes.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { HttpClient, HttpResponse } from "./http-request.ts";
import { CONNECTION_HEADERS } from "./request-head.ts";

export interface GuardedFetchOptions {
  /** Names of headers that are dropped when a redirect leaves the origin, in addition to those that always are. */
  readonly secretHeaders?: readonly string[];
}

/** Statuses of responses without a body (https://fetch.spec.whatwg.org/#null-body-status). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Returns a `fetch` that sends through `client`.
 *
 * It behaves like that of the platform: rejects with the signal's reason if the signal aborts, also while the body is read, and with a
 * TypeError whose `cause` is the ToolError if the request fails. The response body streams; `maxBytes` of the client applies to each event of
 * an event stream, which may be endless, and to the whole of any other body. Headers that frame the message are set by the client and ignored
 * if given. A request body is read completely before it is sent.
 */
export function guardedFetch(client: HttpClient, options: GuardedFetchOptions = {}): typeof fetch {
  return async (input, init) => {
    const signal = signalOf(input, init);
    signal.throwIfAborted();
    refuseUserInfo(input);
    // the signal is not passed to the Request, which follows a signal only as long as the Request itself is referenced
    const request = new Request(input, { ...init, signal: null, duplex: "half" });
    try {
      const answer = await client.request({
        method: request.method,
        url: new URL(request.url),
        headers: [...request.headers].filter(([name]) => !CONNECTION_HEADERS.has(name)),
        body: request.body === null ? undefined : new Uint8Array(await request.arrayBuffer()),
        signal,
        secretHeaders: options.secretHeaders ?? [],
        keepRedirect: request.redirect !== "follow",
        capEachEvent: true,
      });
      return toResponse(answer, request, signal);
    } catch (error: unknown) {
      throw fetchFailure(error, "fetch failed", signal);
    }
  };
}

type FetchInput = Parameters<typeof fetch>[0];

function signalOf(input: FetchInput, init: RequestInit | undefined): AbortSignal {
  const given = init?.signal === undefined && input instanceof Request ? input.signal : init?.signal;
  return given ?? new AbortController().signal;
}

/** Checks the address before a Request is made of it, whose error would contain the password. */
function refuseUserInfo(input: FetchInput): void {
  const text = input instanceof Request ? input.url : String(input);
  if (!URL.canParse(text)) throw new TypeError("fetch failed: the input is not an absolute URL");
  const { username, password, host } = new URL(text);
  if (username === "" && password === "") return;
  const cause = new ToolError("permission_denied", `The URL of ${host} contains a user name or password.`);
  throw new TypeError("fetch failed", { cause });
}

function toResponse(answer: HttpResponse, request: Request, signal: AbortSignal): Response {
  const { status, url } = answer;
  try {
    if (request.redirect === "error" && status >= 300 && status < 400 && answer.headers.has("location")) {
      throw new ToolError("network_error", `${url.host} answered with a redirect, and redirects are not followed here.`, {
        retryable: false,
      });
    }
    if (status > 599) throw new ToolError("network_error", `${url.host} answers with the status ${status}, which is not an HTTP status.`);
    const hasBody = request.method !== "HEAD" && !WITHOUT_BODY.has(status);
    const response = new Response(hasBody ? streamBody(answer, signal) : null, { status, headers: pairs(answer.headers) });
    if (!hasBody) answer.discard();
    Object.defineProperty(response, "url", { value: url.href });
    Object.defineProperty(response, "redirected", { value: url.href !== request.url });
    return response;
  } catch (error: unknown) {
    answer.discard();
    throw error;
  }
}

function pairs(headers: HttpResponse["headers"]): [string, string][] {
  return [...headers].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
}

/** Streams a body without reading ahead. */
function streamBody(answer: HttpResponse, signal: AbortSignal): ReadableStream<Uint8Array> {
  const chunks = answer.body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await chunks.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error: unknown) {
          throw fetchFailure(error, "terminated", signal);
        }
      },
      cancel() {
        answer.discard();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the rejection of the platform's fetch: if the signal aborted, its reason, which may be any value. */
function fetchFailure(error: unknown, message: string, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : new TypeError(message, { cause: error });
}

/** Returns why a guarded `fetch` rejected, for the operator: the TypeError only says that it failed. */
export function describeFetchFailure(thrown: unknown): string {
  const reason = [...causesOf(thrown)].find((each) => each instanceof ToolError);
  if (reason === undefined) return describeThrown(thrown);
  return reason.operatorHint === undefined ? reason.message : `${reason.message} ${reason.operatorHint}`;
}
