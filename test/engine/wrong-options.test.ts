import { describe, expect, test } from "vitest";
import { exampleEngine } from "../../src/engine/example.ts";
import { lmEngine } from "../../src/engine/lm.ts";
import { stubEngine } from "../../src/engine/stub.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";

describe("untyped options that are invalid throw at once, with a clear message", () => {
  test.each<[string, () => unknown, string]>([
    ["no options of lm", () => lmEngine(null as never), "The engine lm needs a model."],
    ["no options of example", () => exampleEngine(null as never), "The options of an example engine must be an object"],
    ["no options of stub", () => stubEngine([], null as never), "The options of a stub engine must be an object"],
    ["several wrong stubs", () => stubEngine([{}, {}] as never), "stubs[0].tool must be the name of a tool, or a pattern. ("],
    ["no source of chance", () => exampleValue({}, {} as never), "exampleValue() needs a source of chance"],
  ])("%s", (_what, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }));
  });
});
