import { firstCharacters } from "./text-pieces.ts";

/** Maximum length of a name without its ending, in UTF-16 code units. */
const MAX_NAME = 80;

/** Makes a file name of third-party text: letters and digits of any script, `_`, `.` and `-`. */
export function fileName(text: string, ending: string): string {
  return `${firstCharacters(text.replaceAll(/[^\p{L}\p{M}\p{N}_.-]+/gu, "-"), MAX_NAME)}.${ending}`;
}
