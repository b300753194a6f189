/** Replaces an exact piece of a text, or explains why it cannot. */

export interface TextEdit {
  readonly old: string;
  readonly new: string;
  readonly replaceAll?: boolean;
}

export type EditOutcome =
  | { readonly text: string; readonly replacements: number; readonly line: number }
  | { readonly problem: string; readonly hint: string };

const MAX_REPLACEMENTS = 100_000;
const MAX_RESULT_CHARS = 16 * 1024 * 1024;
const MAX_NAMED_LINES = 5;

/**
 * Applies one edit; `old` must occur exactly once unless `replaceAll`.
 *
 * In a file with CRLF line ends, an `old` with LF is found too, and `new` gets the file's line ends.
 */
export function applyEdit(text: string, edit: TextEdit): EditOutcome {
  if (edit.old === edit.new) return { problem: "old and new are the same text", hint: "Leave this edit out." };
  const { old, replacement } = withLineEndsOf(text, edit);
  const places = findAll(text, old, MAX_REPLACEMENTS + 1);
  const [first] = places;
  if (first === undefined) return notFoundProblem(text, old);
  if (places.length > 1 && edit.replaceAll !== true) {
    const lines = places.slice(0, MAX_NAMED_LINES).map((at) => lineNumberAt(text, at));
    const more = places.length > MAX_NAMED_LINES ? " and more" : "";
    return {
      problem: `old occurs ${places.length > MAX_REPLACEMENTS ? `over ${MAX_REPLACEMENTS}` : places.length} times, at lines ${lines.join(", ")}${more}`,
      hint: "Add lines before or after it until it is unique, or set replaceAll.",
    };
  }
  const length = text.length + places.length * (replacement.length - old.length);
  if (places.length > MAX_REPLACEMENTS || length > MAX_RESULT_CHARS) {
    return {
      problem: `${places.length} replacements would make the file too large or take too long`,
      hint: "Replace a longer and rarer text.",
    };
  }
  return { text: replaceAt(text, places, { old, replacement }), replacements: places.length, line: lineNumberAt(text, first) };
}

function withLineEndsOf(text: string, edit: TextEdit): { readonly old: string; readonly replacement: string } {
  const plain = { old: edit.old, replacement: edit.new };
  if (!edit.old.includes("\n") && !edit.new.includes("\n")) return plain;
  if (!text.includes("\r\n") || edit.old.includes("\r\n")) return plain;
  if (edit.old.includes("\n") ? findAll(text, edit.old, 1).length > 0 : !hasWindowsLineEnds(text)) return plain;
  return { old: withWindowsLineEnds(edit.old), replacement: withWindowsLineEnds(edit.new) };
}

function notFoundProblem(text: string, old: string): EditOutcome {
  const problem = "old does not occur in the file";
  const hasOtherLineEnds = old.includes("\n") && withUnixLineEnds(text).includes(withUnixLineEnds(old));
  if (!hasOtherLineEnds)
    return { problem, hint: "Read the file and copy the text exactly, white space included and line numbers left out." };
  return {
    problem: `${problem} with these line ends: ${text.includes("\r\n") ? "some lines there end in CRLF, others in LF" : "lines there end in LF"}`,
    hint: "Use edit with a diff, for which line ends are all the same, or replace the lines one by one.",
  };
}

/** Whether at least half of the line ends are CRLF. */
export function hasWindowsLineEnds(text: string): boolean {
  return text.includes("\r\n") && 2 * countLines(text, "\r\n") >= countLines(text, "\n");
}

function countLines(text: string, lineEnd: string): number {
  return text.split(lineEnd).length - 1;
}

function withWindowsLineEnds(text: string): string {
  return withUnixLineEnds(text).replaceAll("\n", "\r\n");
}

function withUnixLineEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** Returns where `old` begins, without overlaps, and never between CR and LF. */
function findAll(text: string, old: string, most: number): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(old); at >= 0 && places.length < most;) {
    const cutsLineEnd = old.startsWith("\n") && text[at - 1] === "\r";
    if (!cutsLineEnd) places.push(at);
    at = text.indexOf(old, at + (cutsLineEnd ? 1 : old.length));
  }
  return places;
}

function replaceAt(text: string, places: readonly number[], change: { readonly old: string; readonly replacement: string }): string {
  const parts: string[] = [];
  let from = 0;
  for (const at of places) {
    parts.push(text.slice(from, at));
    from = at + change.old.length;
  }
  parts.push(text.slice(from));
  return parts.join(change.replacement);
}

function lineNumberAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
