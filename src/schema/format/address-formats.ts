/** Formats of network and email addresses. Each check takes linear time. */

const IPV4_PART = /^(?:0|[1-9]\d{0,2})$/u;
const IPV6_GROUP = /^[0-9A-Fa-f]{1,4}$/u;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/u;
const WIDE_LABEL = /^[A-Za-z0-9\u0080-\u{10ffff}](?:[A-Za-z0-9\u0080-\u{10ffff}-]{0,61}[A-Za-z0-9\u0080-\u{10ffff}])?$/u;
const ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/u;
const WIDE_ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+$/u;
const QUOTED = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/u;
const WIDE_QUOTED = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e\u0080-\u{10ffff}]|\\[\x20-\x7e])*"$/u;
const MAX_HOST = 253;
const MAX_LOCAL = 64;
const MAX_EMAIL = 1_000;

export function isIpv4(text: string): boolean {
  if (text.length > 15) return false;
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => IPV4_PART.test(part) && Number(part) <= 255);
}

/** RFC 4291: eight groups, of which `::` may replace some; the last two may be an IPv4 address. No zone. */
export function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  let count = 0;
  for (const [index, half] of halves.entries()) {
    const groups = half === "" ? [] : half.split(":");
    for (const [place, group] of groups.entries()) {
      const isLast = index === halves.length - 1 && place === groups.length - 1;
      if (isLast && isIpv4(group)) count += 2;
      else if (IPV6_GROUP.test(group)) count++;
      else return false;
    }
  }
  return halves.length === 2 ? count <= 7 : count === 8;
}

/** RFC 1123. A label with the prefix `xn--` must be valid Punycode. */
export function isHostname(text: string): boolean {
  return text.length <= MAX_HOST && text.split(".").every((label) => LABEL.test(label) && (!/^xn--/iu.test(label) || isEncoded(label)));
}

/** Whether a label is Punycode with content: letters, digits and hyphens after `xn--`, not ending in a hyphen. */
function isEncoded(label: string): boolean {
  return /^xn--[a-z0-9-]*[a-z0-9]$/iu.test(label) && label.length > 5;
}

/** RFC 5321: `local@domain`; the local part may be quoted, and the domain may be an IP address in brackets. */
export function isEmail(text: string): boolean {
  return isMailbox(text, { atom: ATOM, quoted: QUOTED, label: LABEL });
}

/** RFC 6531: also allows letters outside of ASCII. */
export function isInternationalEmail(text: string): boolean {
  return isMailbox(text, { atom: WIDE_ATOM, quoted: WIDE_QUOTED, label: WIDE_LABEL });
}

interface Letters {
  readonly atom: RegExp;
  readonly quoted: RegExp;
  readonly label: RegExp;
}

function isMailbox(text: string, { atom, quoted, label }: Letters): boolean {
  const at = text.lastIndexOf("@");
  if (at < 1 || text.length > MAX_EMAIL) return false;
  const local = text.slice(0, at);
  if (local.length > MAX_LOCAL || !(local.split(".").every((part) => atom.test(part)) || quoted.test(local))) return false;
  const domain = text.slice(at + 1);
  if (domain.startsWith("[") && domain.endsWith("]")) {
    const literal = domain.slice(1, -1);
    return /^ipv6:/iu.test(literal) ? isIpv6(literal.slice(5)) : isIpv4(literal);
  }
  return domain.length <= MAX_HOST && domain.split(".").every((part) => label.test(part));
}
