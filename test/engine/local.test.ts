import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { localEngine } from "../../src/engine/local.ts";
import { requestOf, toolContext } from "./engine-contexts.ts";

const engine = localEngine();

test("a tool without a handler is not executable, and the message says what to do", () => {
  expect(() => engine.call(requestOf({ name: "ghost", description: "", inputSchema: true }), toolContext())).toThrow(
    new ToolError("not_executable", 'The tool "ghost" has no handler: it is described here and run elsewhere.', {
      operatorHint: "Give it an execute function, or put it in a toolset whose engine answers its calls.",
    }),
  );
});

test("an error thrown by a handler is passed on unchanged", () => {
  const thrown = new RangeError("out of range");
  const tool = {
    name: "thrower",
    description: "",
    inputSchema: true,
    execute: () => {
      throw thrown;
    },
  };

  let caught: unknown;
  try {
    engine.call(requestOf(tool), toolContext());
  } catch (error: unknown) {
    caught = error;
  }

  expect(caught).toBe(thrown);
});

test("the handler gets the parsed input and the context, and its answer is not awaited", () => {
  const context = toolContext();
  const answer = new Promise(() => undefined);
  const seen: unknown[] = [];
  const tool = {
    name: "seer",
    description: "",
    inputSchema: true,
    execute: (...given: unknown[]) => {
      seen.push(...given);
      return answer;
    },
  };
  const parsed = new Date(0);

  const returned = engine.call({ tool, input: { at: "1970" }, parsed }, context);

  expect(returned).toBe(answer);
  expect(seen).toEqual([parsed, context]);
});
