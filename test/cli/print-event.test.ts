import { expect, test } from "vitest";
import { EventPrinter } from "../../src/cli/print-event.ts";
import { screenFor } from "../../src/cli/terminal-text.ts";

test("D02 a changed list of tools is told, with the first names, without control characters", () => {
  let shown = "";
  const printer = new EventPrinter(screenFor({ write: (text) => void (shown += text) }, {}));
  const names = Array.from({ length: 7 }, (_, index) => `tool${index}`);
  printer.print({ type: "toolset-change", at: 0, toolset: "far\u001b[8m", added: names, removed: ["old"], changed: [] });
  expect(shown).toBe("  · the tools of far have changed: added tool0, tool1, tool2, tool3, tool4 and 2 more; removed old\n");
});
