/** The texts of answers that are whole, so that a port writes them at once and reads no stream. */

const texts = new WeakMap<Response, string>();

/** As `new Response`. Another response that is made of its body has no text here, and is read as a stream. */
export function wholeResponse(text: string, init: ResponseInit): Response {
  const response = new Response(text, init);
  texts.set(response, text);
  return response;
}

/** The text of a response that nothing has read; undefined where it is not known. */
export function wholeText(response: Response): string | undefined {
  return response.bodyUsed ? undefined : texts.get(response);
}
