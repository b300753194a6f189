import { expect, test } from "vitest";
import { toToolOutput } from "../../../src/engine/mcp/call-tool.ts";

test.each([
  ["in words", { content: [{ type: "text", text: "no such file" }], structuredContent: { code: 2 } }, "no such file"],
  ["in JSON alone", { structuredContent: { code: 2, path: "/a" } }, '{"code":2,"path":"/a"}'],
  ["in JSON beside empty text", { content: [{ type: "text", text: " " }], structuredContent: ["a"] }, '["a"]'],
  ["not at all", { content: [] }, "Tool reported isError=true"],
])("an error that a server tells of %s ends the call with what it says", (_, answer, message) => {
  expect(() => toToolOutput({ ...answer, isError: true }, "far")).toThrow(
    expect.objectContaining({ code: "execution_failed", outcome: "failed", message }),
  );
});
