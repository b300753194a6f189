/** Applies the hunks of a unified diff to a text. Places are found by the lines shown; line numbers only decide between equal places. */
import { type EditOutcome, hasWindowsLineEnds } from "./text-edit.ts";

/** One line of a hunk: unchanged, removed or added. */
interface DiffLine {
  readonly mark: " " | "-" | "+";
  readonly text: string;
  /** Whether the file ends with this line, without a line end: `\ No newline at end of file`. */
  isUnended?: true;
}

interface Hunk {
  /** The line where the hunk says it begins, from 1; undefined if it does not say. */
  readonly line: number | undefined;
  readonly lines: readonly DiffLine[];
}

interface HunkHead {
  readonly line: number | undefined;
  /** How many lines of the old and of the new text the head announces; undefined if it does not say. */
  readonly counts: { readonly old: number; readonly new: number } | undefined;
}

interface Problem {
  readonly problem: string;
  readonly hint: string;
}

const MAX_HUNKS = 500;
const MAX_NAMED_LINES = 5;
const COPY_EXACTLY = "Read the file and copy the lines around the change exactly, white space included.";

/**
 * Applies all hunks or none. If at least half of the line ends are CRLF, added lines get CRLF too. The counts in a hunk's head only serve to
 * distinguish the head of a second file from lines that look like one.
 */
export function applyDiff(text: string, diff: string): EditOutcome {
  const mark = text.startsWith("\ufeff") ? "\ufeff" : ""; // kept, but not part of the first line, as it is invisible
  const hunks = readHunks(mark === "" ? diff : diff.replaceAll(/^([ +-])\ufeff/gmu, "$1"));
  if ("problem" in hunks) return hunks;
  const ending = hasWindowsLineEnds(text) ? "\r" : "";
  const lines = `${text.slice(mark.length)}${ending}`.split("\n"); // the last line gets the same end as the others, which is removed again
  const written: string[] = [];
  let from = 0;
  let shift = 0;
  let firstLine: number | undefined;
  for (const [index, hunk] of hunks.entries()) {
    const at = findHunk(hunk, lines, { from, shift });
    if (typeof at !== "number") return { problem: `hunk ${index + 1} ${at.problem}`, hint: at.hint };
    if (hunk.line !== undefined) shift = at - hunkStart(hunk, hunk.line);
    firstLine ??= at + 1 + hunk.lines.findIndex(({ mark }) => mark !== " ");
    while (from < at) written.push(lines[from++] ?? "");
    for (const line of hunk.lines) {
      if (line.mark === "+") written.push(line.text + ending);
      else if (line.mark === " ") written.push(lines[from++] ?? "");
      else from++;
    }
  }
  const rest = lines.slice(from);
  const joined = [...written, ...rest].join("\n");
  const whole = ending !== "" && joined.endsWith("\r") ? joined.slice(0, -1) : joined;
  const isAtEnd = rest.length === 0 || (rest.length === 1 && withoutCarriageReturn(rest[0]) === ""); // if not, the last hunk is wrong about the end
  return {
    text: mark + (isAtEnd ? withFinalLineEnd(whole, hunks, `${ending}\n`) : whole),
    replacements: hunks.length,
    line: firstLine ?? 1,
  };
}

/** Adds or removes the line end of the file's last line, as the hunks say. */
function withFinalLineEnd(text: string, hunks: readonly Hunk[], lineEnd: string): string {
  const unended = new Set(hunks.flatMap(({ lines }) => lines.flatMap(({ mark, isUnended }) => (isUnended === true ? [mark] : []))));
  if (unended.has("+") && !unended.has("-")) return text.replace(/\r?\n$/u, "");
  return unended.has("-") && !unended.has("+") && text !== "" && !text.endsWith("\n") ? text + lineEnd : text;
}

/** Reads the hunks. Lines before the first hunk name the file, which the call already does, and are ignored. */
function readHunks(diff: string): readonly Hunk[] | Problem {
  const hunks: (HunkHead & { lines: DiffLine[] })[] = [];
  const given = diff
    .replaceAll("\r\n", "\n")
    .replace(/(?<!\n)\n+$/u, "")
    .split("\n");
  for (const [index, line] of given.entries()) {
    const head = parseHunkHead(line);
    const hunk = hunks.at(-1);
    if (head !== undefined) hunks.push({ ...head, lines: [] });
    else if (hunk !== undefined && (/^(?:diff |Index: )/u.test(line) || startsNextFile(given.slice(index, index + 3), hunk)))
      return unusableDiff("it changes more than one file, or names this one again between its hunks");
    else if (hunk === undefined) {
      if (/^(?:rename to |deleted file mode |\+\+\+ \/dev\/null\s*$)/u.test(line)) return unusableDiff("it renames or deletes the file");
    } else if (line.startsWith("\\")) {
      const last = hunk.lines.at(-1);
      if (last !== undefined) last.isUnended = true;
    } else if (line === "") hunk.lines.push({ mark: " ", text: "" }); // the space of an empty line is easily lost
    else if (line.startsWith(" ") || line.startsWith("-") || line.startsWith("+"))
      hunk.lines.push({ mark: line.startsWith(" ") ? " " : line.startsWith("-") ? "-" : "+", text: line.slice(1) });
    else return unusableDiff(`${JSON.stringify(line.slice(0, 80))} begins with neither a space, "-" nor "+"`);
  }
  if (hunks.length === 0) return unusableDiff("it has no hunk");
  if (hunks.length > MAX_HUNKS) return unusableDiff(`it has ${hunks.length} hunks, and at most ${MAX_HUNKS} are read`);
  if (hunks.some(({ lines }) => lines.every(({ mark }) => mark === " "))) return unusableDiff("a hunk changes nothing");
  return hunks;
}

function parseHunkHead(line: string | undefined): HunkHead | undefined {
  const head = /^@@(?: -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))?)?(?: @@.*)?\s*$/u.exec(line ?? "");
  if (head === null) return undefined;
  const [, begin, old = "1", added = "1"] = head;
  return begin === undefined
    ? { line: undefined, counts: undefined }
    : { line: Number(begin), counts: { old: Number(old), new: Number(added) } };
}

/** Whether these lines are `--- a/file`, `+++ b/file` and the head of a hunk, unless the hunk before announces exactly two more lines. */
function startsNextFile([old = "", added = "", head]: readonly string[], { counts, lines }: HunkHead & Pick<Hunk, "lines">): boolean {
  if (!old.startsWith("--- ") || !added.startsWith("+++ ") || parseHunkHead(head) === undefined) return false;
  const inOld = lines.filter(({ mark }) => mark !== "+").length;
  const inNew = lines.filter(({ mark }) => mark !== "-").length;
  return counts?.old !== inOld + 1 || counts.new !== inNew + 1;
}

function unusableDiff(why: string): Problem {
  return {
    problem: `diff cannot be read: ${why}`,
    hint: 'Send a unified diff of this file: "@@ -1,2 +1,2 @@", then lines that begin with a space, "-" or "+".',
  };
}

interface HunkSearch {
  /** Index of the first line that earlier hunks have not used. */
  readonly from: number;
  /** Distance between where the previous hunk was found and where it said. */
  readonly shift: number;
}

/** Returns the index of the line where the hunk begins. */
function findHunk(hunk: Hunk, lines: readonly string[], { from, shift }: HunkSearch): number | Problem {
  const old = hunk.lines.filter(({ mark }) => mark !== "+").map(({ text }) => text);
  const announced = hunk.line === undefined ? undefined : hunkStart(hunk, hunk.line) + shift;
  if (old.length === 0) return findInsertion(announced, lines, from);
  const fits = (at: number): boolean => old.every((text, index) => withoutCarriageReturn(lines[at + index]) === text);
  const places: number[] = [];
  for (let at = from; at + old.length <= lines.length; at++) if (fits(at)) places.push(at);
  const [only] = places;
  if (only === undefined) return notFoundProblem(fits, from);
  if (places.length === 1) return only;
  if (announced !== undefined && places.includes(announced)) return announced;
  const named = places.slice(0, MAX_NAMED_LINES).map((at) => at + 1);
  const more = places.length > MAX_NAMED_LINES ? " and more" : "";
  return {
    problem: `fits ${places.length} places, at lines ${named.join(", ")}${more}`,
    hint: "Show more lines before or after the change, or give the line that the hunk begins at.",
  };
}

/** The lines may be in the part of the file that earlier hunks have used: the hunks are in the wrong order, or two of them overlap. */
function notFoundProblem(fits: (at: number) => boolean, from: number): Problem {
  for (let at = 0; at < from; at++)
    if (fits(at))
      return {
        problem: `shows lines that are only found at line ${at + 1}, and the hunk before it ends at line ${from}`,
        hint: "Give the hunks in the order of their lines, and each line in one hunk only.",
      };
  return { problem: "shows lines that are not in the file", hint: COPY_EXACTLY };
}

/** Returns the index of the line where a hunk says it begins. A hunk that only adds gives the line before it. */
function hunkStart({ lines }: Hunk, line: number): number {
  return lines.every(({ mark }) => mark === "+") ? line : line - 1;
}

function findInsertion(at: number | undefined, lines: readonly string[], from: number): number | Problem {
  const end = withoutCarriageReturn(lines.at(-1)) === "" ? lines.length - 1 : lines.length; // there is no line after the last line end
  if (at !== undefined && at >= from && at <= lines.length) return Math.min(at, end);
  return { problem: "only adds lines, and does not show the line of the file before them", hint: COPY_EXACTLY };
}

function withoutCarriageReturn(line: string | undefined): string | undefined {
  return line?.endsWith("\r") === true ? line.slice(0, -1) : line;
}
