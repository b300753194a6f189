/** Finds secrets, e-mail addresses and telephone numbers in text, by their form. */
import { nameWords, toSingular } from "../schema/example/name-words.ts";

/** A range in a text. */
export interface SensitiveRange {
  readonly start: number;
  readonly end: number;
  /** The kind of value, such as `API key`; never the value itself. */
  readonly what: string;
}

/** If the pattern has a group `secret`, only the group is secret, and nothing if it did not match; otherwise the whole match is. */
interface SecretForm {
  readonly what: string;
  readonly pattern: RegExp;
}

const NAMED_SECRET = String.raw`(?:pass(?:word|wd|phrase|code)|secret|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|(?:access|auth|refresh|bearer|id|session)[_-]?token)`;

/**
 * Unbounded runs are matched lazily, up to their end: a greedy match of millions of characters makes the engine remember each of them, and throws.
 *
 * @see https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
 */
const SECRET_FORMS: readonly SecretForm[] = [
  {
    what: "private key",
    pattern: /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|(?=-----END)|$)/dgsu,
  },
  {
    what: "signed token", // also consumes words that are no token, so that they are not searched again from each position
    pattern: /(?<secret>\beyJ[\w-]{8}[\w-]*?\.[\w-]{4}[\w-]*?\.[\w-]*?(?![\w-]))|\beyJ[\w-]*?(?![\w-])/dgu,
  },
  {
    what: "API key",
    pattern:
      /\b(?:sk|rk|pk)[-_](?:[a-z\d]+?[-_]){0,3}[A-Za-z\d]{16}[\w-]*?(?![\w-])|\bgh[opsur]_[A-Za-z\d]{16}[A-Za-z\d]*?(?![A-Za-z\d])|\bgithub_pat_\w{20}\w*?(?!\w)|\bglpat-[\w-]{16}[\w-]*?(?![\w-])|\bxox[a-z]-[\w-]{10}[\w-]*?(?![\w-])|\b(?:AKIA|ASIA)[A-Z\d]{16}\b|\bAIza[\w-]{30}[\w-]*?(?![\w-])|\bya29\.[\w-]{20}[\w-]*?(?![\w-])|\bnpm_[A-Za-z\d]{30}[A-Za-z\d]*?(?![A-Za-z\d])|\bhf_[A-Za-z\d]{20}[A-Za-z\d]*?(?![A-Za-z\d])|\bSG\.[\w-]{16}[\w-]*?\.[\w-]{16}[\w-]*?(?![\w-])|\bdop_v1_[a-f\d]{32}[a-f\d]*?(?![a-f\d])|\bwhsec_[\w+/=]{16}[\w+/=]*?(?![\w+/=])/dgu,
  },
  { what: "credentials of a header", pattern: /\b(?:bearer|basic)\s+(?<secret>[\w.~+/-]{8}[\w.~+/-]*?(?![\w.~+/-])={0,2})/dgiu },
  {
    what: "token of an address",
    pattern:
      /(?:[?&#]|&amp;|\\u0026)(?:(?:api|security|csrf|jwt|oauth|personal|login|reset|user|bot|device|push|deploy|x-amz-security)?[-_]?token|sig|auth|(?:x-amz-|x-goog-)?signature)=(?<secret>[^\s"'&#<>\\]{7}[^\s"'&#<>\\]*?[^\s"'&#<>\\(),;])(?=[(),;]*?(?:[\s"'&#<>\\]|$))/dgiu,
  },
  { what: "key of an address", pattern: /(?:[?&#]|&amp;|\\u0026)key=(?<secret>(?=[a-z_-]*?\d)[\w-]{16}[\w-]*?(?![\w-]))/dgiu },
  { what: "password of an address", pattern: /:\/\/[^\s/:@]{0,100}:(?<secret>[^\s/@]{1,200})@/dgu },
  {
    what: "named secret",
    pattern: new RegExp(
      String.raw`(?<![\p{L}\d])${NAMED_SECRET}\\?["']?\s{0,3}(?:=|:|\bis\b)\s{0,3}\\?["']?(?<secret>[^\s"',;&<>\\]{4}[^\s"',;&<>\\]*?(?![^\s"',;&<>\\]))`,
      "gdiu",
    ),
  },
];

const CARD = /(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-]|\.\d)/dgu;
const EMAIL = /[\p{L}\d._%+-]{1,64}(?:@|%40)(?:[\p{L}\d-]{1,63}\.){1,8}\p{L}{2,24}/dgu;
/** With an international prefix, or with an area code in brackets or separated by punctuation. */
const PHONE =
  /(?<![\p{L}\d+./:#-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}-\d{3}-\d{4})(?![\p{L}\d-]|\.\d)/dgu;
/** Addresses and numbers that are reserved for documentation. @see https://www.rfc-editor.org/rfc/rfc2606 */
const RESERVED_EMAIL = /(?:@|%40|\.)(?:example(?:\.(?:com|org|net))?|test|invalid|localhost)$/iu;
const RESERVED_PHONE = /555\D?01\d\d$/u;

export function findSecrets(text: string): readonly SensitiveRange[] {
  const found = text.length < MIN_SECRET ? [] : [...findPlainSecrets(text), ...findEncodedSecrets(text)];
  const cards = /\d/u.test(text) ? findMatches(text, CARD, "card number").filter(({ start, end }) => isCard(text.slice(start, end))) : [];
  return [...found.filter(({ start, end }) => !MASKED_VALUE.test(text.slice(start, end))), ...cards];
}

function findPlainSecrets(text: string): readonly SensitiveRange[] {
  return SECRET_FORMS.flatMap(({ what, pattern }) => findMatches(text, pattern, what));
}

const BASE64 = /(?<![\w+/=-])[A-Za-z\d+/_-]{16}[A-Za-z\d+/_-]*?(?![A-Za-z\d+/_-])={0,2}(?![\w+/=-])/dgu;

/** Finds base64 that decodes to text with a secret, an address or a number; all of it counts. */
function findEncodedSecrets(text: string): readonly SensitiveRange[] {
  return findMatches(text, BASE64, "encoded secret").filter(({ start, end }) => {
    const plain = Buffer.from(text.slice(start, end), "base64").toString("utf8");
    return (
      !/[^\P{C}\s]|\uFFFD/u.test(plain) &&
      (findPlainSecrets(plain).length > 0 || findEmails(plain).length > 0 || findPhones(plain).length > 0)
    );
  });
}

/** Invisible characters, and full-width forms. */
const DISGUISE = /[\p{Cf}\uFF01-\uFF5E]/u;

/** The text without characters that disguise a value in it; the same text if that reveals nothing more. */
export function removeDisguise(text: string): string {
  if (!DISGUISE.test(text)) return text;
  const plain = text
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/[\uFF01-\uFF5E]/gu, (sign) => String.fromCodePoint((sign.codePointAt(0) ?? 0) - 0xfe_e0));
  return countSensitive(plain) > countSensitive(text) ? plain : text;
}

/** Joins the pieces of a text if a value spans their edges; otherwise returns them unchanged. */
export function joinIfSplit(texts: readonly string[]): readonly string[] {
  if (texts.length < 2) return texts;
  const whole = texts.join("");
  return countSensitive(whole) > texts.reduce((sum, text) => sum + countSensitive(text), 0) ? [whole] : texts;
}

function countSensitive(text: string): number {
  return findSecrets(text).length + findEmails(text).length + findPhones(text).length;
}

/** Values that look like replacements; no replacement may be equal to one of them. */
export function findReplacementLike(text: string): readonly string[] {
  const found = [/\[secret \d+\]/gu, EMAIL, PHONE].flatMap((pattern) => Array.from(text.matchAll(pattern), ([value]) => value));
  return found.map((value) => value.toLowerCase());
}

export function findEmails(text: string): readonly SensitiveRange[] {
  if (!text.includes("@") && !text.includes("%40")) return [];
  return findMatches(text, EMAIL, "e-mail address").filter(({ start, end }) => !RESERVED_EMAIL.test(text.slice(start, end)));
}

export function findPhones(text: string): readonly SensitiveRange[] {
  if (!/\d{3}/u.test(text)) return [];
  return findMatches(text, PHONE, "telephone number").filter(({ start, end }) => !RESERVED_PHONE.test(text.slice(start, end)));
}

const MIN_SECRET = 4;
/** Masked values and placeholders. */
const MASKED_VALUE = /^(?:[*•x.…]+?|\[.*?|<.*?|\$\{.*?|\{\{.*?|null|none|true|false|undefined|required|string|redacted.*?)$/iu;

function findMatches(text: string, pattern: RegExp, what: string): readonly SensitiveRange[] {
  const found: SensitiveRange[] = [];
  for (const { indices } of text.matchAll(pattern)) {
    const place = indices?.groups === undefined ? indices?.[0] : indices.groups["secret"];
    if (place !== undefined) found.push({ start: place[0], end: place[1], what });
  }
  return found;
}

/** Whether the last digit is the check digit of a card number. @see https://www.iso.org/standard/70484.html — the Luhn algorithm */
function isCard(text: string): boolean {
  const digits = text.replaceAll(/\D/gu, "");
  if (!/^[3-6]/u.test(digits) || /^(\d)\1*$/u.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    const counted = at % 2 === 0 ? digit : digit * 2;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

const SECRET_WORDS = new Set(
  "password,passwd,passphrase,passcode,secret,credential,credentials,authorization,cookie,apikey,pin,cvv,cvc,otp,ssn".split(","),
);
const TOKEN_OWNERS = new Set(
  "access,auth,refresh,bearer,api,session,secret,security,csrf,jwt,oauth,personal,login,reset,user,bot,device,push,deploy".split(","),
);
const KEY_OWNERS = new Set("api,access,private,secret,encryption,signing,license,ssh".split(","));

/** Whether the value of a property with this name is a secret: `password`, `api_key`, `accessToken`, `api_keys`; not `page_token` or `max_tokens`. */
export function isSecretName(name: string): boolean {
  const words = nameWords(name);
  const last = toSingular(words.at(-1) ?? "");
  const before = words.at(-2) ?? "";
  if (SECRET_WORDS.has(last) || SECRET_WORDS.has(words.at(-1) ?? "")) return true;
  if (last === "token" && words.length === 1) return words[0] === "token";
  if (last === "token") return TOKEN_OWNERS.has(before);
  return last === "key" && KEY_OWNERS.has(before);
}
