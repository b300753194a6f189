/** Issue 20.2, 20.5: differences of values, and calls beside each other. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { alignCalls, compareCalls, type ComparedCall } from "../../src/dashboard/diff/align-calls.ts";
import { isSameJson, diffJsonLines, type DiffRow } from "../../src/dashboard/diff/json-diff.ts";

function written(rows: readonly DiffRow[]): readonly string[] {
  return rows.flatMap((row) => {
    if (row.kind === "skip") return [`… ${row.lines}`];
    if (row.kind === "same") return [`  ${row.cell.text}`];
    return [...(row.before === undefined ? [] : [`- ${row.before.text}`]), ...(row.after === undefined ? [] : [`+ ${row.after.text}`])];
  });
}

test("issue 20.5 a changed value is shown next to its old value, with the surrounding lines once", () => {
  const { rows } = diffJsonLines({ item: "lamp", count: 2, sizes: [1, 2, 3] }, { count: 3, item: "lamp", sizes: [1, 3, 4] }, 100);
  expect(written(rows)).toEqual([
    "  {",
    '  "item": "lamp",',
    '- "count": 2,',
    '+ "count": 3,',
    '  "sizes": [',
    "  1,",
    "- 2,",
    "  3,",
    "+ 4",
    "  ]",
    "  }",
  ]);
});

test("issue 20.5 a value on one side only is fully added or fully removed, and a short one is shown whole", () => {
  expect(written(diffJsonLines(undefined, { a: 1 }, 100).rows)).toEqual(["+ {", '+ "a": 1', "+ }"]);
  expect(written(diffJsonLines(null, "x", 100).rows)).toEqual(["- null", '+ "x"']);
});

test("issue 20.5 long stretches without a difference are left out, and the number of lines is limited", () => {
  const long = Array.from({ length: 50 }, (_, index) => index);
  const { rows } = diffJsonLines(long, [...long, "more"], 200);
  expect(written(rows)).toEqual(["  [", "… 48", "  48,", "  49,", '+ "more"', "  ]"].toSpliced(0, 2, "… 49"));
  const cut = diffJsonLines(Array.from({ length: 5_000 }, String), [], 100);
  expect([cut.isCut, cut.rows.length <= 201]).toEqual([true, true]);
});

test("issue 20.5 for any two values there is a change exactly if their JSON differs", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const before: unknown = JSON.parse(JSON.stringify(one));
      const after: unknown = JSON.parse(JSON.stringify(other));
      const isChanged = diffJsonLines(before, after, 100_000).rows.some(({ kind }) => kind === "change");
      expect(isChanged).toBe(!isSameJson(before, after));
      expect(diffJsonLines(before, before, 100_000).rows.every(({ kind }) => kind !== "change")).toBe(true);
    }),
    { numRuns: 100 },
  );
});

test.each([62, 64, 128, 200])("a difference nested %i levels deep is found", (depth) => {
  const nested = (command: string): unknown => {
    let value: unknown = { command };
    for (let level = 1; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
    return value;
  };
  expect(isSameJson(nested("ls"), nested("ls"))).toBe(true);
  expect(isSameJson(nested("ls"), nested("rm"))).toBe(false);
  const { rows } = diffJsonLines(nested("ls"), nested("rm"), 10_000);
  expect(written(rows).filter((line) => /^[-+] .*command/u.test(line))).toEqual(['- "command": "ls"', '+ "command": "rm"']);
});

function call(name: string, input: unknown, output: unknown = null): ComparedCall {
  return {
    callId: `${name}-${JSON.stringify(input)}`,
    sessionId: "s",
    name,
    input,
    result: { status: "ok", origin: "live", durationMs: 1, output },
  };
}

test("issue 20.5 calls are aligned by tool and input, then by tool, and compared by their results", () => {
  const before = [call("price", "lamp", 1), call("reserve", 2), call("pack", "A")];
  const after = [call("price", "lamp", 2), call("weather", {}), call("reserve", 3), call("pack", "A")];
  expect(alignCalls(before, after).map((pair) => [pair.before?.name, pair.after?.name, compareCalls(pair)])).toEqual([
    ["price", "price", "changed"],
    [undefined, "weather", "new"],
    ["reserve", "reserve", "same"],
    ["pack", "pack", "same"],
  ]);
  expect(alignCalls(before, []).map(compareCalls)).toEqual(["not made", "not made", "not made"]);
});
