/** Quotes text for commands in messages. */

/** Quotes text as one word for a POSIX shell, or on Windows for PowerShell and, as far as possible, `cmd.exe`, which only knows double quotes. */
export function quoteForShell(text: string, platform: string = process.platform): string {
  if (platform === "win32") return quoteForWindows(text);
  return /^[\w.:@%+/-]+$/u.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Uses double quotes, because `cmd.exe` would end the command at `&` within others; a quotation mark is doubled, which both shells read as text.
 * PowerShell also treats typographic quotation marks as quotes.
 *
 * @see https://learn.microsoft.com/powershell/scripting/lang-spec/chapter-02 section 2.3.5.2
 */
function quoteForWindows(text: string): string {
  if (/^[\w.:+/\\-]+$/u.test(text) && !text.startsWith("-")) return text;
  // in double quotes, a trailing backslash would escape the closing quote
  if (text.endsWith("\\")) return `'${text.replaceAll(/['\u2018-\u201b]/gu, "$&$&")}'`;
  return `"${text.replaceAll(/["\u201c-\u201e]/gu, "$&$&").replaceAll(/[`$]/gu, "`$&")}"`;
}
