/** Remembers the text of complete responses, so that a port writes it at once instead of reading a stream. */

const texts = new WeakMap<Response, string>();

/** Like `new Response`, and remembers the text. Another response made from its body has no text, and is read as a stream. */
export function createTextResponse(text: string, init: ResponseInit): Response {
  const response = new Response(text, init);
  texts.set(response, text);
  return response;
}

/** The text of a response whose body is unread; undefined if it is not known. */
export function readTextOfResponse(response: Response): string | undefined {
  return response.bodyUsed ? undefined : texts.get(response);
}
