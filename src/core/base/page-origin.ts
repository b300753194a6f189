/** Origins of pages, as a browser sends them: scheme, host and port alone. */

/** Why a text is none of pages on the web, as the end of a sentence; undefined for one that is. */
export function originFault(text: string): string | undefined {
  const isOrigin = URL.canParse(text) && !text.includes("*") && /^https?:/u.test(text) && new URL(text).origin === text;
  return isOrigin ? undefined : "is no origin of pages such as https://app.example.";
}

/** Why the pages of an origin or a host cannot be let in, as the end of a sentence; undefined where they can. */
export function allowedOriginFault(text: string): string | undefined {
  const lower = text.toLowerCase();
  const isNamed = /^https?:/u.test(lower) ? originFault(lower) === undefined : HOST_OR_APP.test(lower);
  return isNamed ? undefined : "is no origin of pages such as https://app.example, and no host name such as app.example.";
}

/** A host name, or the origin of pages in a program, such as `app://notes`. The origin `null` is none: any page can send it. */
const HOST_OR_APP = /^(?!null$)(?:[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(?::\d{1,5})?|[a-z\d._-]+|\[[\da-f:.]+\])$/u;
