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

test.each([
  ["one part", { type: "text", text: "hello" }, [{ type: "text", text: "hello" }]],
  ["text alone", "hello", [{ type: "text", text: "hello" }]],
  ["something else", { rows: [1] }, [{ type: "text", text: '{"rows":[1]}' }]],
  ["a number", 7, [{ type: "text", text: "7" }]],
  ["null", null, []],
])("content that is no array but %s is not lost", (_, content, parts) => {
  expect(toToolOutput({ content }, "far").content).toEqual(parts);
});

test.each([["no such file"], [{ type: "text", text: "no such file" }]])("an error is told in such content as well", (content) => {
  expect(() => toToolOutput({ content, isError: true }, "far")).toThrow(expect.objectContaining({ message: "no such file" }));
});
