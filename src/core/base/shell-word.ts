/** Text in commands that messages name. */

/**
 * As one word of a command line: of a POSIX shell, or on Windows of PowerShell, and as far as that is possible of `cmd.exe` too, which knows
 * double quotes only.
 */
export function shellWord(text: string, platform: string = process.platform): string {
  if (platform === "win32") return windowsWord(text);
  return /^[\w.:@%+/-]+$/u.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * In double quotes, as `cmd.exe` would end the command at `&` in others; a quotation mark is doubled, so that both take it for text. PowerShell takes
 * the quotation marks of word processors for its own.
 *
 * @see https://learn.microsoft.com/powershell/scripting/lang-spec/chapter-02 section 2.3.5.2
 */
function windowsWord(text: string): string {
  if (/^[\w.:+/\\-]+$/u.test(text) && !text.startsWith("-")) return text;
  if (text.endsWith("\\")) return `'${text.replaceAll(/['\u2018-\u201b]/gu, "$&$&")}'`; // in double quotes it would be part of the mark
  return `"${text.replaceAll(/["\u201c-\u201e]/gu, "$&$&").replaceAll(/[`$]/gu, "`$&")}"`;
}
