/** Text in commands that messages name. */

/** As one word of a command line. */
export function shellWord(text: string): string {
  return /^[\w.:@%+/-]+$/u.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
