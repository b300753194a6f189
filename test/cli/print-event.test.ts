import { expect, test } from "vitest";
import { EventPrinter } from "../../src/cli/print/print-event.ts";
import { resultLines } from "../../src/cli/print/print-result.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";

test("D02 a change of a toolset's tools is printed with the first names, without control characters", () => {
  let shown = "";
  const printer = new EventPrinter(screenFor({ write: (text) => void (shown += text) }, {}));
  const names = Array.from({ length: 7 }, (_, index) => `tool${index}`);
  printer.print({ type: "toolset-change", at: 0, toolset: "far\u001b[8m", added: names, removed: ["old"], changed: [] });
  expect(shown).toBe("  · the tools of far have changed: added tool0, tool1, tool2, tool3, tool4 and 2 more; removed old\n");
});

test("E13 a call whose name has line breaks is one line at its start and one at its end", () => {
  const name = "t::x\n  ✓ #9 bank::pay\t 1 ms\r\n\u001b[2J";
  let shown = "";
  const printer = new EventPrinter(screenFor({ write: (text) => void (shown += text) }, {}));
  const base = { callId: "c1", sessionId: "s", turnId: "t", at: 0, position: 0, toolName: name } as const;
  printer.setExpectedNames([name]);
  printer.print({ ...base, type: "call-start", call: { name, input: {} } });
  const result = {
    callId: "c1",
    name,
    status: "ok",
    origin: "live",
    attempts: 1,
    durationMs: 2,
    repairs: [],
    warnings: [],
    output: 1,
  } as const;
  printer.print({ ...base, type: "call-end", result });
  const oneLine = String.raw`t::x\u{a}  ✓ #9 bank::pay\u{9} 1 ms\u{a}`;
  expect(shown).toBe(`  → #1  ${oneLine}  {}\n  ✓ #1  ${oneLine}   2.0 ms  1\n`);
});

test("F0.47 an injected fault is marked as put in on purpose", () => {
  const fault = {
    callId: "c1",
    name: "shop::stock",
    status: "error",
    origin: "live",
    attempts: 1,
    durationMs: 2,
    repairs: [],
    warnings: [],
    error: { code: "network_error", message: "Connection timed out", retryable: false, outcome: "not_started" },
    fault: "network_error",
  } as const;
  const style = { screen: screenFor({ write: () => undefined }, {}), width: 80, label: "#1", nameWidth: 12, waits: [] };
  expect(resultLines(fault, style)).toEqual([
    "  ✗ #1 shop::stock    2.0 ms  network_error",
    "        Connection timed out",
    "        the fault network_error was put in on purpose",
  ]);
});

test("output of a call is printed line by line, at most the last ten lines of a chunk, without control characters", () => {
  let shown = "";
  const printer = new EventPrinter(screenFor({ write: (text) => void (shown += text) }, {}));
  const base = { callId: "c1", sessionId: "s", turnId: "t", at: 0, toolName: "build" } as const;
  const write = (text: string, asks?: true): void =>
    printer.print({ ...base, type: "job-output", position: 0, text, ...(asks === undefined ? {} : { asks }) });
  printer.print({ ...base, type: "call-start", call: { name: "build", input: {} } });
  shown = "";
  write("compiling a.ts\r\ncompiling b.ts\n\n");
  write(Array.from({ length: 14 }, (_, n) => `line ${n}\u001b[8m\n`).join(""));
  write("Which?\n1 tea\n2 soup", true);
  const last = Array.from({ length: 10 }, (_, n) => `  · #1  line ${n + 4}\n`);
  expect(shown).toBe(
    [
      "  · #1  compiling a.ts\n  · #1  compiling b.ts\n",
      "  · #1  … 4 lines before\n",
      ...last,
      "  · #1  asks: Which?\n  · #1  1 tea\n  · #1  2 soup\n",
    ].join(""),
  );
});
