/** `fetch` for libraries that bring their own HTTP words, over a client that guards where requests go. */
import { causesOf } from "../core/base/causes.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { HttpClient, HttpResponse } from "./http-request.ts";
import { CONNECTION_HEADERS } from "./request-head.ts";

export interface GuardedFetchOptions {
  /** Names of headers that stay behind, besides those that always do, when a redirect leaves the origin. */
  readonly secretHeaders?: readonly string[];
}

/** Statuses whose answers have no body (https://fetch.spec.whatwg.org/#null-body-status). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * A `fetch` that sends through `client`.
 *
 * It behaves as the one of the platform: it rejects with the signal's reason when that aborts, also while the body is read, and with
 * a TypeError whose `cause` is the ToolError when the request cannot be made. The body streams; `maxBytes` of the client counts for
 * each event of an event stream, which may be endless, and for the whole of any other body. Headers that frame the message are
 * the client's own and are left out when given. A body to send is read to its end first.
 */
export function guardedFetch(client: HttpClient, options: GuardedFetchOptions = {}): typeof fetch {
  return async (input, init) => {
    const signal = signalOf(input, init);
    signal.throwIfAborted();
    refuseUserInfo(input);
    // the signal stays out of the Request, which follows one only as long as the Request itself is held
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

/** Before a Request is made of it, whose error would repeat the password. */
function refuseUserInfo(input: FetchInput): void {
  const text = input instanceof Request ? input.url : String(input);
  if (!URL.canParse(text)) throw new TypeError("fetch failed: what is to be fetched is not an absolute address");
  const { username, password, host } = new URL(text);
  if (username === "" && password === "") return;
  const cause = new ToolError("permission_denied", `The address of ${host} has a user name or password in it.`);
  throw new TypeError("fetch failed", { cause });
}

function toResponse(answer: HttpResponse, request: Request, signal: AbortSignal): Response {
  const { status, url } = answer;
  try {
    if (request.redirect === "error" && status >= 300 && status < 400 && answer.headers.has("location")) {
      throw new ToolError("network_error", `${url.host} redirects, which was not wanted.`, { retryable: false });
    }
    if (status > 599) throw new ToolError("network_error", `${url.host} answers with the status ${status}, which HTTP does not have.`);
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

/** Reads no further ahead than it is asked to. */
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

/** The rejection of the platform's fetch: anything at all when that is the reason of the signal. */
function fetchFailure(error: unknown, message: string, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : new TypeError(message, { cause: error });
}

/** Why a guarded `fetch` rejected, for the operator: the TypeError only says that it failed. */
export function describeFetchFailure(thrown: unknown): string {
  const reason = [...causesOf(thrown)].find((each) => each instanceof ToolError);
  if (reason === undefined) return describeThrown(thrown);
  return reason.operatorHint === undefined ? reason.message : `${reason.message} ${reason.operatorHint}`;
}
