import { expect, test } from "vitest";
import { EventPrinter } from "../../src/cli/print-event.ts";
import { resultLines } from "../../src/cli/print-result.ts";
import { screenFor } from "../../src/cli/terminal-text.ts";

test("D02 a changed list of tools is told, with the first names, without control characters", () => {
  let shown = "";
  const printer = new EventPrinter(screenFor({ write: (text) => void (shown += text) }, {}));
  const names = Array.from({ length: 7 }, (_, index) => `tool${index}`);
  printer.print({ type: "toolset-change", at: 0, toolset: "far\u001b[8m", added: names, removed: ["old"], changed: [] });
  expect(shown).toBe("  · the tools of far have changed: added tool0, tool1, tool2, tool3, tool4 and 2 more; removed old\n");
});

test("F0.47 a person who reads along is told that a failure was put in on purpose", () => {
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
