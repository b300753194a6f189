/** Answers API requests with Node's own objects, by the table of routes: the platform's `Request` and `Response` cost more than most calls. */
import { API } from "../../api.ts";
import type { DirectHandler, DirectRequest } from "../../http/direct.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { clientGoneError } from "../../http/body.ts";
import { findDistrust, type Trusted } from "../../http/guard.ts";
import { plainHeaders, type securityHeaders } from "../../http/security-headers.ts";
import { TextResponse } from "../../http/text-response.ts";
import { acceptsStream } from "./accepts-stream.ts";
import type { SentRequest } from "./api-request.ts";
import { declaredLength, type Count } from "./count-bytes.ts";
import type { ApiRouter } from "./router.ts";
import type { Route } from "./route.ts";

/** Matches paths that a platform URL would not change: no segment begins with a dot, and no character needs escaping. */
const PLAIN = /^http:\/\/server\.invalid(?:\/[\w~:@-][\w.~:@%-]*)+(?:\?[\w.~:@%=&+,*-]*)?$/u;

/** Handles requests with a JSON body or none that get JSON. Requests of pages and requests with an untrusted host take the regular path. */
export function directApi(
  router: ApiRouter,
  { trusted, secured }: { readonly trusted: Trusted; readonly secured: ReturnType<typeof securityHeaders> },
): DirectHandler {
  return {
    headers: plainHeaders(trusted),
    match(head) {
      if (!PLAIN.test(head.url) || head.method === "HEAD" || head.headers.get("origin") !== null) return undefined;
      const found = router.find(head);
      if (found === undefined || !isJsonExchange(API[found.id], head) || findDistrust(head, trusted) !== undefined) return undefined;
      return async (request, read, reply) => {
        const answer = await router.answer(found, new DirectSentRequest(request, read));
        if (answer instanceof TextResponse) reply.sendText(answer);
        else await reply.sendResponse(await secured(request.toRequest(), () => Promise.resolve(answer)), request.signal);
        return true;
      };
    },
  };
}

function isJsonExchange({ answerType, bodyType, streams }: Route, head: RequestHead): boolean {
  return answerType === undefined && bodyType === undefined && !(streams === true && acceptsStream(head));
}

/** A request whose body has a declared length, or that has no body. */
class DirectSentRequest implements SentRequest {
  readonly #request: DirectRequest;
  readonly #read: () => Promise<string | undefined>;

  constructor(request: DirectRequest, read: () => Promise<string | undefined>) {
    this.#request = request;
    this.#read = read;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.url;
  }

  get headers(): DirectRequest["headers"] {
    return this.#request.headers;
  }

  get from(): string | undefined {
    return this.#request.from;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  async text(maxBytes: number): Promise<string | undefined> {
    if ((declaredLength(this.headers) ?? 0) > maxBytes) return undefined;
    const text = await this.#read();
    if (text === undefined) throw clientGoneError();
    return text;
  }

  toRequest(): Request {
    return this.#request.toRequest();
  }

  toRequestWithBody(): Request {
    return this.#request.toRequestWithBody();
  }

  countBody(count: Count): SentRequest {
    const length = declaredLength(this.headers);
    if (length !== undefined) count(length);
    return this;
  }
}
