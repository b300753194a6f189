/** Third-party text with nothing invisible in it, and nothing that steers a terminal. */

/** Beyond those that JSON escapes by itself: control, format, and other characters without a shape. */
const INVISIBLE = /[\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * An emoji, whose parts are held together by characters that have no shape; else what is not seen, line ends and tabs aside. Made when it is
 * first needed: the list of all emoji takes V8 ten milliseconds.
 */
let emojiOrInvisible: RegExp | undefined;

function makeEmojiOrInvisible(): RegExp {
  const emoji = String.raw`(\p{RGI_Emoji}|\p{Emoji}\ufe0f)`;
  const control = String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029`;
  return new RegExp(String.raw`${emoji}|[${control}\p{Cf}\p{Default_Ignorable_Code_Point}]`, "gv");
}

/** Writes the invisible characters of a text as `\u…`: control characters but line ends and tabs, marks of direction, joiners outside of emoji. */
export function visibleText(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  emojiOrInvisible ??= makeEmojiOrInvisible();
  return text.replaceAll(emojiOrInvisible, (found: string, emoji: string | undefined) => emoji ?? found.replaceAll(/[^]/g, escapeUnit));
}

const PRINTABLE_ASCII = /^[\t\n\r\u0020-\u007e]*$/u;

/** Writes the invisible characters of a JSON text as `\u…`, which means the same. */
export function visibleJson(json: string): string {
  return json.replaceAll(INVISIBLE, (character) => character.replaceAll(/[^]/g, escapeUnit));
}

/** A text in quotes, as JSON spells it, with every invisible character as `\u…`. Longer texts are cut at both ends around `at`. */
export function quoted(text: string, width: number, at: number = 0): string {
  const start = text.length <= width ? 0 : Math.max(0, Math.min(at - Math.floor(width / 4), text.length - width));
  const piece = text.slice(start, start + width).toWellFormed();
  return `${start > 0 ? "…" : ""}${visibleJson(JSON.stringify(piece))}${start + width < text.length ? "…" : ""}`;
}

/** `\\u…` for one unit of a text. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
