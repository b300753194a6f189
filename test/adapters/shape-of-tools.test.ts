/** Tools of a framework that come as a record, where an array is meant, or the other way round. */
import { expect, test } from "vitest";
import { fromAiSdkTools, fromLangChainTools, fromMastraTools, fromOpenAiAgentsTools } from "../../src/adapters/adapters.ts";

/** Given by programs without types. */
const record = { greet: { name: "greet", id: "greet", description: "Greets." } } as never;

test.for([
  ["fromLangChainTools()", () => fromLangChainTools(record)],
  ["fromMastraTools()", () => fromMastraTools(record)],
  ["fromOpenAiAgentsTools()", () => fromOpenAiAgentsTools(record, () => undefined)],
] as const)("%s refuses a record, and says what it takes", ([name, convert]) => {
  expect(convert).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: `${name} takes an array of tools.`,
      hint: expect.stringContaining("Object.values(tools)"),
    }),
  );
});

test.for([
  ["fromLangChainTools()", (tools: never) => fromLangChainTools(tools)],
  ["fromMastraTools()", (tools: never) => fromMastraTools(tools)],
  ["fromOpenAiAgentsTools()", (tools: never) => fromOpenAiAgentsTools(tools, () => undefined)],
] as const)("%s names the item that is no tool, such as one that a failed import left undefined", ([name, convert]) => {
  for (const [item, kind] of [
    [undefined, "undefined"],
    ["search", "a string"],
    [Promise.resolve({ name: "search" }), "a promise"],
  ] as const)
    expect(() => convert([item] as never)).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: `${name} takes an array of tools, and item 0 must be an object, not ${kind}.`,
      }),
    );
});

test.for([[[]], [undefined], ["tools"], [new Map()], [new Set()]])(
  "fromAiSdkTools() refuses %o, whose tools would have no names",
  async ([tools]) => {
    await expect(fromAiSdkTools(tools as never)).rejects.toMatchObject({
      code: "invalid_argument",
      message: "fromAiSdkTools() takes a record of tools by name.",
    });
  },
);

test("fromAiSdkTools() refuses a promise of a tool by name", async () => {
  await expect(fromAiSdkTools({ search: Promise.resolve({}) as never })).rejects.toMatchObject({
    code: "invalid_argument",
    message: "fromAiSdkTools({ search }) takes a tool of AI SDK, not a promise.",
    hint: "A promise was given: put await before it.",
  });
});
