/** JSON values whose text was damaged, judged against the value they came from. */
import { expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { fixJsonText } from "../../src/schema/repair/fix-json-text.ts";
import { mendJsonText } from "../../src/schema/json-text/mend-json-text.ts";
import { DAMAGES, isSame, randomArguments, type Damage } from "./json-damage.ts";
import { writeTokens, type Layout } from "./json-tokens.ts";

const COUNT = process.env["CI"] === undefined ? 12_000 : 180_000;
const LAYOUTS: readonly Layout[] = ["compact", "spaced", "indented"];

interface Tally {
  damaged: number;
  mended: number;
  /** Would run for a tool that writes. */
  runs: number;
}

interface Judged {
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Another value than was meant would run for a tool that writes. */
  readonly wrong: readonly string[];
  /** What is shown is not what runs. */
  readonly unlike: readonly string[];
}

const judged = judge(COUNT, 20_261_123);

function judge(count: number, seed: number): Judged {
  const source = seededRandom(seed);
  const random = (): number => source.next();
  const tallies = new Map<string, Tally>();
  const wrong: string[] = [];
  const unlike: string[] = [];
  for (let at = 0; at < count; at++) {
    const damage = DAMAGES[at % DAMAGES.length];
    const value = randomArguments(random);
    const text = damage?.apply(writeTokens(value, LAYOUTS[at % LAYOUTS.length] ?? "compact"), random);
    if (damage === undefined || text === undefined || isJson(text)) continue;
    const shown = mendJsonText(text);
    const tally = tallyOf(tallies, damage);
    tally.damaged++;
    const read = fixJsonText(text);
    const isEncoded = typeof shown === "string"; // strict JSON of a string, which mendJsonText reads as it is
    if (isSame(isEncoded && "value" in read ? read.value : shown, value)) tally.mended++;
    if (!("value" in read)) continue;
    if (!isEncoded && !isSame(shown, read.value)) unlike.push(text);
    if (read.ambiguity !== undefined) continue;
    tally.runs++;
    if (!isSame(read.value, value)) wrong.push(`${damage.kind}: ${text} → ${JSON.stringify(read.value)}`);
  }
  return { tallies, wrong, unlike };
}

function tallyOf(tallies: Map<string, Tally>, { kind }: Damage): Tally {
  const tally = tallies.get(kind) ?? { damaged: 0, mended: 0, runs: 0 };
  tallies.set(kind, tally);
  return tally;
}

/** Some damage leaves valid JSON of another value: nobody can tell. */
function isJson(text: string): boolean {
  try {
    const value = JSON.parse(text) as JsonValue;
    return typeof value !== "string"; // an object encoded twice
  } catch {
    return false;
  }
}

test("F1.9 no damage makes a tool that writes run with another value than was meant", () => {
  expect(judged.wrong).toEqual([]);
});

test("F1.9 if a call runs, mendJsonText returns the value that it runs with", () => {
  expect(judged.unlike).toEqual([]);
});

test("F1.9 at least 90 % of recognisable damage is repaired to exactly the original value, and half of each kind", () => {
  const counts = DAMAGES.map(({ kind, recoverable }) => ({
    kind,
    recoverable,
    ...(judged.tallies.get(kind) ?? { damaged: 0, mended: 0, runs: 0 }),
  }));
  console.table(counts);
  const recoverable = counts.filter((count) => count.recoverable && count.damaged > 0);
  const sum = (of: (count: Tally) => number): number => recoverable.reduce((total, count) => total + of(count), 0);
  expect(sum(({ mended }) => mended) / sum(({ damaged }) => damaged)).toBeGreaterThanOrEqual(0.9);
  expect(recoverable.filter(({ damaged, mended }) => mended / damaged < 0.5)).toEqual([]);
});

test.each([
  ["cut off anywhere"],
  ["brackets missing at the end"],
  ["value missing"],
  ["value a lone sign"],
  ["bracket missing inside"],
  ["comma doubled in an array"],
])("F1.9 %s: information may be lost, so no tool that writes runs", (kind) => {
  expect(judged.tallies.get(kind)?.runs).toBe(0);
});
