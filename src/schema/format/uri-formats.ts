/** URIs and IRIs, absolute and relative, and URI templates: RFC 3986, 3987 and 6570. */
import { isIpv6 } from "./address-formats.ts";

const SPLIT = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/su;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/u;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/u;
const IP_FUTURE = /^v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+$/iu;
const PORT = /^\d*$/u;

/** Patterns of the characters that each part must not contain. */
interface Alphabet {
  readonly user: RegExp;
  readonly host: RegExp;
  readonly path: RegExp;
  readonly query: RegExp;
  readonly fragment: RegExp;
}

function alphabet(letters: string, privateLetters: string): Alphabet {
  const base = `A-Za-z0-9._~!$&'()*+,;=%${letters}`;
  const without = (more: string): RegExp => new RegExp(`[^${base}${more}-]`, "u");
  return {
    user: without(":"),
    host: without(""),
    path: without(":@/"),
    query: without(`:@/?${privateLetters}`),
    fragment: without(":@/?"),
  };
}

const ASCII = alphabet("", "");
const WIDE = alphabet("\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{efffd}", "\\ue000-\\uf8ff\\u{f0000}-\\u{10fffd}");

export function isUri(text: string): boolean {
  return isReference(text, ASCII, true);
}

export function isUriReference(text: string): boolean {
  return isReference(text, ASCII, false);
}

export function isIri(text: string): boolean {
  return isReference(text, WIDE, true);
}

export function isIriReference(text: string): boolean {
  return isReference(text, WIDE, false);
}

function isReference(text: string, allowed: Alphabet, isAbsolute: boolean): boolean {
  const [, scheme, authority, path = "", query = "", fragment = ""] = SPLIT.exec(text) ?? [];
  if (scheme === undefined ? isAbsolute : !SCHEME.test(scheme)) return false;
  if (BAD_ESCAPE.test(text)) return false;
  if (authority !== undefined && !isAuthority(authority, allowed)) return false;
  return !allowed.path.test(path) && !allowed.query.test(query) && !allowed.fragment.test(fragment);
}

function isAuthority(text: string, { user, host }: Alphabet): boolean {
  const at = text.indexOf("@");
  if (at >= 0 && user.test(text.slice(0, at))) return false;
  const place = text.slice(at + 1);
  if (place.startsWith("[")) {
    const end = place.indexOf("]");
    const literal = place.slice(1, end);
    const port = place.slice(end + 1);
    return end > 0 && (isIpv6(literal) || IP_FUTURE.test(literal)) && (port === "" || (port.startsWith(":") && PORT.test(port.slice(1))));
  }
  const colon = place.indexOf(":");
  return colon < 0 ? !host.test(place) : !host.test(place.slice(0, colon)) && PORT.test(place.slice(colon + 1));
}

const NOT_LITERAL = /[\x00-\x20"<>\\^`|\x7f]/u;
const VARIABLE = /^(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})){0,200}(?:\*|:[1-9]\d{0,3})?$/u;

/** Whether a text consists of literals and expressions such as `{id}` or `{?page,size*}`. */
export function isUriTemplate(text: string): boolean {
  let at = 0;
  for (;;) {
    const open = text.indexOf("{", at);
    const literal = text.slice(at, open < 0 ? undefined : open);
    if (literal.includes("}") || NOT_LITERAL.test(literal) || BAD_ESCAPE.test(literal)) return false;
    if (open < 0) return true;
    const close = text.indexOf("}", open);
    if (close < 0) return false;
    const names = text.slice(open + 1, close).replace(/^[+#./;?&=,!@|]/u, "");
    if (!names.split(",").every((name) => VARIABLE.test(name))) return false;
    at = close + 1;
  }
}
