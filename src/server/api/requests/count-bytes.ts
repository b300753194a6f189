/** Counts the bytes of requests and responses. */
import { retainWith } from "../../../core/base/retain-with.ts";
import type { HeaderReader } from "../../http/request-head.ts";
import { TextResponse } from "../../http/text-response.ts";

export type Count = (bytes: number) => void;

/** Counts the body of a request: at once if its length is declared, otherwise as it is read. */
export function countRequestBody(request: Request, count: Count): Request {
  const { body, headers } = request;
  if (body === null) return request;
  const declared = declaredLength(headers);
  if (declared === undefined) {
    const sent = { method: request.method, body: countStream(body, count), duplex: "half", keepalive: false } as const;
    const copy = new Request(request, sent);
    retainWith(request, copy);
    return copy;
  }
  count(declared);
  return request;
}

/** Counts the body of a response, in the same way. */
export function countResponseBody(response: Response, count: Count): Response {
  const { body, headers } = response;
  if (body === null) return response;
  const declared = declaredLength(headers);
  if (declared === undefined) return new Response(countStream(body, count), response);
  count(declared);
  return response;
}

/** Returns the same response; `ended` is called once its body was read to the end, failed or was cancelled. */
export function notifyWhenRead(response: Response, ended: () => void): Response {
  const { body } = response;
  if (body === null) {
    ended();
    return response;
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  void body.pipeTo(writable).then(ended, ended);
  return new Response(readable, response);
}

export function declaredLength(headers: HeaderReader): number | undefined {
  const text = headers.get("content-length") ?? "";
  return /^\d+$/u.test(text) ? Number(text) : undefined;
}

/** Counts the body of an API response. */
export function countAnswerBody(answer: TextResponse | Response, count: Count): TextResponse | Response {
  if (!(answer instanceof TextResponse)) return countResponseBody(answer, count);
  count(answer.bytes);
  return answer;
}

function countStream(body: ReadableStream<Uint8Array>, count: Count): ReadableStream<Uint8Array> {
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        count(chunk.byteLength);
        controller.enqueue(chunk);
      },
    }),
  );
}
