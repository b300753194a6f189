/** Escapes invisible characters, and those that control a terminal, in third-party text. */

/** Characters that JSON does not escape: control, format, and other invisible characters. */
const INVISIBLE = /[\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Matches an emoji, whose parts are joined by invisible characters; otherwise an invisible character except line ends and tabs. Created on first use,
 * because the list of all emoji takes V8 ten milliseconds.
 */
let emojiOrInvisible: RegExp | undefined;

function makeEmojiOrInvisible(): RegExp {
  const emoji = String.raw`(\p{RGI_Emoji}|\p{Emoji}\ufe0f)`;
  const control = String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029`;
  return new RegExp(String.raw`${emoji}|[${control}\p{Cf}\p{Default_Ignorable_Code_Point}]`, "gv");
}

/** Writes the invisible characters of a text as `\u…`: control characters except line ends and tabs, direction marks, joiners outside of emoji. */
export function escapeInvisible(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  emojiOrInvisible ??= makeEmojiOrInvisible();
  return text.replaceAll(emojiOrInvisible, (found: string, emoji: string | undefined) => emoji ?? found.replaceAll(/[^]/g, escapeUnit));
}

const PRINTABLE_ASCII = /^[\t\n\r\u0020-\u007e]*$/u;

/** Writes the invisible characters of a JSON text as `\u…`, which does not change its value. */
export function escapeInvisibleJson(json: string): string {
  return json.replaceAll(INVISIBLE, (character) => character.replaceAll(/[^]/g, escapeUnit));
}

/** Quotes a text as JSON does, with every invisible character as `\u…`. Longer texts are truncated at both ends around `at`. */
export function quoteExcerpt(text: string, width: number, at: number = 0): string {
  const start = text.length <= width ? 0 : Math.max(0, Math.min(at - Math.floor(width / 4), text.length - width));
  const piece = text.slice(start, start + width).toWellFormed();
  return `${start > 0 ? "…" : ""}${escapeInvisibleJson(JSON.stringify(piece))}${start + width < text.length ? "…" : ""}`;
}

/** Escapes control characters and line breaks, so that third-party text cannot span or forge lines of a log. */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/gu, (character) =>
    escapeInvisibleJson(JSON.stringify(character)).slice(1, -1),
  );
}

/** Returns `\\u…` for one UTF-16 unit. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
