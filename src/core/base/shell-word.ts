/** Text in commands that messages name. */

/**
 * As one word of a command line: of a POSIX shell, or on Windows of PowerShell, and as far as that is possible of `cmd.exe` too, which knows
 * double quotes only.
 */
export function shellWord(text: string, platform: string = process.platform): string {
  if (platform === "win32") return windowsWord(text);
  return /^[\w.:@%+/-]+$/u.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function windowsWord(text: string): string {
  if (/^[\w.:+/\\-]+$/u.test(text) && !text.startsWith("-")) return text;
  return /["`$%]|\\$/u.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}
