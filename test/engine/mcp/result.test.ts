import { expect, test } from "vitest";
import { toToolOutput } from "../../../src/engine/mcp/call-tool.ts";

test.each([
  ["in words", { content: [{ type: "text", text: "no such file" }], structuredContent: { code: 2 } }, "no such file"],
  ["in JSON alone", { structuredContent: { code: 2, path: "/a" } }, '{"code":2,"path":"/a"}'],
  ["in JSON beside empty text", { content: [{ type: "text", text: " " }], structuredContent: ["a"] }, '["a"]'],
  ["not at all", { content: [] }, "Tool reported isError=true"],
])("an error that a server describes %s ends the call with that text", (_, answer, message) => {
  expect(() => toToolOutput({ ...answer, isError: true }, "far")).toThrow(
    expect.objectContaining({ code: "execution_failed", outcome: "failed", message }),
  );
});

test.each([
  ["one part", { type: "text", text: "hello" }, [{ type: "text", text: "hello" }]],
  ["text alone", "hello", [{ type: "text", text: "hello" }]],
  ["something else", { rows: [1] }, [{ type: "text", text: '{"rows":[1]}' }]],
  ["a number", 7, [{ type: "text", text: "7" }]],
  ["null", null, []],
])("content that is %s instead of an array is kept", (_, content, parts) => {
  expect(toToolOutput({ content }, "far").content).toEqual(parts);
});

test.each([["no such file"], [{ type: "text", text: "no such file" }]])(
  "an error with content that is not an array ends the call with that text",
  (content) => {
    expect(() => toToolOutput({ content, isError: true }, "far")).toThrow(expect.objectContaining({ message: "no such file" }));
  },
);
