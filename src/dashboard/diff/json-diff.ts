/** Two JSON values as lines side by side: common lines, and lines of only one side. Values are compared as JSON, with keys in any order. */
import { pushAll } from "../../core/collections/push-all.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { truncateText } from "../show/text-pieces.ts";

export interface DiffCell {
  readonly depth: number;
  readonly text: string;
}

/** A line of both sides. `same`: both have it; `skip`: this many common lines were left out. */
export type DiffRow =
  | { readonly kind: "same"; readonly cell: DiffCell }
  | { readonly kind: "skip"; readonly lines: number }
  | { readonly kind: "change"; readonly before: DiffCell | undefined; readonly after: DiffCell | undefined };

export interface JsonDiff {
  readonly rows: readonly DiffRow[];
  /** Whether lines were left out at the end. */
  readonly isCut: boolean;
}

interface Line extends DiffCell {
  readonly sign: "both" | "before" | "after";
}

/** Maximum depth; deeper values are written and compared as a whole. */
const MAX_DEPTH = 128;
/** Maximum length of arrays that are aligned; longer arrays are compared index by index. */
const MAX_ALIGNED = 300;
const CONTEXT = 2;
const MAX_TEXT = 4_000;

/** Compares two values. @param maxLines maximum number of lines of each side */
export function diffJsonLines(before: unknown, after: unknown, maxLines: number): JsonDiff {
  const writer = new LineWriter(maxLines);
  writer.compare(before, after, { depth: 0, key: "", comma: "" });
  return { rows: foldCommonRows(pairLines(writer.lines)), isCut: writer.isFull };
}

/** Whether two values are the same JSON. Keys with the value undefined count as missing. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return canonicalJson(one, 0) === canonicalJson(other, 0);
}

/** Returns JSON with sorted keys. Below the maximum depth keys keep their order, so that no difference is missed. */
export function canonicalJson(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key], depth + 1)}`)
    .join(",")}}`;
}

interface Place {
  readonly depth: number;
  /** The key with its colon. */
  readonly key: string;
  readonly comma: string;
}

class LineWriter {
  readonly lines: Line[] = [];
  readonly #maxLines: number;

  constructor(maxLines: number) {
    this.#maxLines = maxLines * 2;
  }

  get isFull(): boolean {
    return this.lines.length >= this.#maxLines;
  }

  compare(before: unknown, after: unknown, place: Place): void {
    if (this.isFull) return;
    if (before === undefined) return after === undefined ? undefined : this.#writeValue("after", after, place);
    if (after === undefined) return this.#writeValue("before", before, place);
    if (isSameJson(before, after)) return this.#writeValue("both", after, place);
    if (place.depth < MAX_DEPTH && Array.isArray(before) && Array.isArray(after)) return this.#compareArrays(before, after, place);
    if (place.depth < MAX_DEPTH && isJsonObject(before) && isJsonObject(after)) return this.#compareObjects(before, after, place);
    this.#writeValue("before", before, place);
    this.#writeValue("after", after, place);
  }

  #compareObjects(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>, { depth, key, comma }: Place): void {
    this.#line("both", depth, `${key}{`);
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    for (const [index, name] of keys.entries()) {
      const own = (object: Readonly<Record<string, unknown>>): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);
      this.compare(own(before), own(after), {
        depth: depth + 1,
        key: `${JSON.stringify(name)}: `,
        comma: index < keys.length - 1 ? "," : "",
      });
    }
    this.#line("both", depth, `}${comma}`);
  }

  #compareArrays(before: readonly unknown[], after: readonly unknown[], { depth, key, comma }: Place): void {
    this.#line("both", depth, `${key}[`);
    const pairs = pairItems(before, after);
    for (const [index, [one, other]] of pairs.entries())
      this.compare(one, other, { depth: depth + 1, key: "", comma: index < pairs.length - 1 ? "," : "" });
    this.#line("both", depth, `]${comma}`);
  }

  /** Writes a whole value as indented lines. */
  #writeValue(sign: Line["sign"], value: unknown, { depth, key, comma }: Place): void {
    const text = JSON.stringify(value, undefined, 1) ?? "null";
    for (const [index, line] of text.split("\n").entries()) {
      if (this.isFull) return;
      const indent = line.length - line.trimStart().length;
      this.#line(sign, depth + indent, `${index === 0 ? key : ""}${line.trimStart()}`);
    }
    const last = this.lines.pop();
    if (last !== undefined) this.lines.push({ ...last, text: last.text + comma });
  }

  #line(sign: Line["sign"], depth: number, text: string): void {
    if (!this.isFull) this.lines.push({ sign, depth, text: truncateText(text, MAX_TEXT) });
  }
}

/** Pairs equal items in order, and the items between them by index. */
function pairItems(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [unknown, unknown])[] {
  const one = before.map((item) => canonicalJson(item, 0));
  const other = after.map((item) => canonicalJson(item, 0));
  const common = before.length > MAX_ALIGNED || after.length > MAX_ALIGNED ? [] : findCommonPairs(one, other);
  const pairs: (readonly [unknown, unknown])[] = [];
  let [left, right] = [0, 0];
  for (const [toLeft, toRight] of [...common, [before.length, after.length] as const]) {
    while (left < toLeft || right < toRight)
      pairs.push([left < toLeft ? before[left++] : undefined, right < toRight ? after[right++] : undefined]);
    if (left < before.length && right < after.length) pairs.push([before[left++], after[right++]]);
  }
  return pairs;
}

/** Returns the longest common subsequence as pairs of indexes. */
export function findCommonPairs(one: readonly string[], other: readonly string[]): readonly (readonly [number, number])[] {
  const width = other.length + 1;
  const lengths = new Uint32Array((one.length + 1) * width);
  const at = (left: number, right: number): number => lengths[left * width + right] ?? 0;
  for (let left = one.length - 1; left >= 0; left--)
    for (let right = other.length - 1; right >= 0; right--)
      lengths[left * width + right] =
        one[left] === other[right] ? at(left + 1, right + 1) + 1 : Math.max(at(left + 1, right), at(left, right + 1));
  const pairs: (readonly [number, number])[] = [];
  let [left, right] = [0, 0];
  while (left < one.length && right < other.length) {
    if (one[left] === other[right]) pairs.push([left++, right++]);
    else if (at(left + 1, right) >= at(left, right + 1)) left++;
    else right++;
  }
  return pairs;
}

/** Pairs the lines of one side with those of the other. */
function pairLines(lines: readonly Line[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let before: DiffCell[] = [];
  let after: DiffCell[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(before.length, after.length); index++)
      rows.push({ kind: "change", before: before[index], after: after[index] });
    [before, after] = [[], []];
  };
  for (const { sign, depth, text } of lines) {
    if (sign === "both") flush();
    if (sign === "both") rows.push({ kind: "same", cell: { depth, text } });
    else (sign === "before" ? before : after).push({ depth, text });
  }
  flush();
  return rows;
}

/** Leaves out long runs of common lines, except for those around changes. */
function foldCommonRows(rows: readonly DiffRow[]): readonly DiffRow[] {
  const kept = new Set<number>();
  for (const [index, { kind }] of rows.entries())
    if (kind === "change") for (let near = index - CONTEXT; near <= index + CONTEXT; near++) kept.add(near);
  if (kept.size === 0) return rows;
  const folded: DiffRow[] = [];
  let skipped: DiffRow[] = [];
  const flush = (): void => {
    if (skipped.length > 2) folded.push({ kind: "skip", lines: skipped.length });
    else pushAll(folded, skipped);
    skipped = [];
  };
  for (const [index, row] of rows.entries()) {
    if (!kept.has(index)) {
      skipped.push(row);
      continue;
    }
    flush();
    folded.push(row);
  }
  flush();
  return folded;
}
