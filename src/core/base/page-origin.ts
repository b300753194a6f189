/** Origins of web pages, as a browser sends them: only scheme, host and port. */

/** Returns why a text is not the origin of web pages, as the end of a sentence; undefined if it is one. */
export function findOriginProblem(text: string): string | undefined {
  const isOrigin = URL.canParse(text) && !text.includes("*") && /^https?:/u.test(text) && new URL(text).origin === text;
  return isOrigin ? undefined : "is not an origin such as https://app.example.";
}

/** Returns why pages of an origin or a host cannot be allowed, as the end of a sentence; undefined if they can. */
export function findAllowedOriginProblem(text: string): string | undefined {
  const lower = text.toLowerCase();
  const isNamed = /^https?:/u.test(lower) ? findOriginProblem(lower) === undefined : HOST_OR_APP.test(lower);
  return isNamed ? undefined : "is neither an origin such as https://app.example nor a host name such as app.example.";
}

/** A host name, or the origin of pages in an application, such as `app://notes`. The origin `null` is not allowed: any page can send it. */
const HOST_OR_APP = /^(?!null$)(?:[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(?::\d{1,5})?|[a-z\d._-]+|\[[\da-f:.]+\])$/u;
