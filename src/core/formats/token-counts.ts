/** Tells counts of tokens from tokens that are credentials. */

/** Words that mean a count and not a secret: `max_tokens`. */
export const COUNTING: readonly string[] =
  "max,maximum,min,minimum,number,count,limit,many,much,budget,total,per,usage,used,length,size".split(",");

const COUNT_WORDS: ReadonlySet<string> = new Set(COUNTING);
/** Words that mean a credential whatever else the name says: `MAX_TOKENS_PIN`. */
const CREDENTIAL_WORD = /^(?:secret|password|passwd|passphrase|passcode|pwd|pass|pin|otp|totp|key|apikey|credential)s?$/u;
const NUMBER = /^\d+(?:[.,_]\d+)*$/u;

/** Whether a setting is a count of tokens and no credential, such as `MAX_TOKENS` with `16000000`: its name says so, and its value is a number. */
export function isTokenCount(name: string, value: string): boolean {
  if (!NUMBER.test(value)) return false;
  const words = name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/gu, "_")
    .toLowerCase()
    .split(/[^a-z]+/u);
  const at = words.findIndex((word) => word === "token" || word === "tokens");
  if (at < 0 || words.some((word) => CREDENTIAL_WORD.test(word))) return false;
  if (words[at] === "tokens") return words.some((word) => COUNT_WORDS.has(word));
  // "MAX_BOT_TOKEN" may be the token of a bot that is named so, and "TOKEN_NUMBER" a token that consists of digits
  return [words[at - 1] ?? "", words[at + 1] ?? ""].some((word) => word !== "number" && COUNT_WORDS.has(word));
}
