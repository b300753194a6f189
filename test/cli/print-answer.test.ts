import { expect, test } from "vitest";
import { printAnswer } from "../../src/cli/print/print-answer.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";

test.each([
  ["done", "done\n"],
  ["done\n", "done\n"],
  ["done\n\n", "done\n\n"],
  ["", ""],
])("a text ends with its own line break, or else one is added: %j", (output, printed) => {
  let shown = "";
  const out = screenFor({ write: (text) => void (shown += text) }, {});
  const result = {
    callId: "c1",
    name: "say",
    status: "ok",
    origin: "live",
    attempts: 1,
    durationMs: 1,
    repairs: [],
    warnings: [],
    output,
  } as const;
  printAnswer({ out, err: out, options: { json: false } } as unknown as Parameters<typeof printAnswer>[0], result);
  expect(shown).toBe(printed);
});
