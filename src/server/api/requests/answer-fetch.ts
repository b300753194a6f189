/** Answers platform `Request`s by the table of routes. */
import { addressOf } from "../../http/client-address.ts";
import { readBody } from "../../http/body.ts";
import { TextResponse } from "../../http/text-response.ts";
import type { SentRequest } from "./api-request.ts";
import { countRequestBody, type Count } from "./count-bytes.ts";
import type { ApiRouter } from "./router.ts";

export async function answerFetch(router: ApiRouter, request: Request): Promise<Response> {
  const found = router.find(request);
  const answer = found === undefined ? router.notFound(request) : await router.answer(found, new FetchRequest(request));
  const response = answer instanceof TextResponse ? answer.toResponse() : answer;
  if (request.method !== "HEAD") return response;
  await response.body?.cancel(); // such as an event stream, which nothing reads
  return new Response(null, response);
}

class FetchRequest implements SentRequest {
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.url;
  }

  get headers(): Headers {
    return this.#request.headers;
  }

  get from(): string | undefined {
    return addressOf(this.#request);
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  text(maxBytes: number): Promise<string | undefined> {
    return readBody(this.#request, maxBytes);
  }

  toRequest(): Request {
    return this.#request;
  }

  toRequestWithBody(): Request {
    return this.#request;
  }

  countBody(count: Count): SentRequest {
    return new FetchRequest(countRequestBody(this.#request, count));
  }
}
