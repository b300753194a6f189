import { expect, test } from "vitest";
import type { PastCall, Tool } from "../../src/core/tool.ts";
import { supersedesAt, supersedesSameInput } from "../../src/history/supersede.ts";
import { trimResults } from "../../src/history/trim-results.ts";
import { outline, round } from "./model-messages.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

const call = (input: PastCall["input"], name = "get"): PastCall => ({ name, input, output: 1 });

test("F4.37 supersedesSameInput compares tool and input, ignoring the order of keys", () => {
  const newer = call({ city: "Oslo", days: 2 });
  expect(supersedesSameInput(newer, call({ days: 2, city: "Oslo" }))).toBe(true);
  expect(supersedesSameInput(newer, call({ city: "Oslo" }))).toBe(false);
  expect(supersedesSameInput(newer, call({ days: 2, city: "Oslo" }, "set"))).toBe(false);
});

test("F4.37 supersedesAt compares only calls at one location, and no calls without a location", () => {
  const rule = supersedesAt(
    ({ input }) => (typeof input["user"] === "string" ? input["user"] : undefined),
    (newer, older) => newer.name === "set" || older.name === "get",
  );
  expect(rule(call({ user: "ann" }), call({ user: "ann" }))).toBe(true);
  expect(rule(call({ user: "ann" }), call({ user: "ann" }, "set"))).toBe(false);
  expect(rule(call({ user: "ann" }, "set"), call({ user: "bob" }))).toBe(false);
  expect(rule(call({}), call({}))).toBe(false);
});

test("F4.37 supersedesAt refuses what is no function, instead of failing once a history is trimmed", () => {
  const wrong = "/reports/1.json" as never; // as an untyped program may give it
  expect(() => supersedesAt(wrong)).toThrow("a function that gives the place of a call");
  expect(() => supersedesAt(() => "place", wrong)).toThrow("a function that compares two calls");
});

test("F4.37 a tool with supersedesSameInput keeps its newest answer to each input", () => {
  const ask = (id: string, city: string) => round(id, { city }, { name: "weather::now" });
  const messages = [...ask("c1", "Oslo"), ...ask("c2", "Rome"), ...ask("c3", "Oslo")];
  const trimmed = trimResults(messages, { budgetBytes: 0, toolOf: () => ({ supersedes: supersedesSameInput }) });
  expect(outline(trimmed)).toEqual(["call c2", "result c2", "call c3", "result c3"]);
});

test("F0.8 F4.37 the answers of an overload are kept if only another overload declares supersedes", async () => {
  const takes = (key: string): Tool["inputSchema"] => ({ type: "object", properties: { [key]: {} }, required: [key] });
  const tools = [
    tool("get", () => "now", { inputSchema: takes("city"), supersedes: supersedesSameInput }),
    tool("get", () => "drawn", { inputSchema: takes("lottery") }),
  ];
  const { runtime } = testRuntime({ toolsets: [{ name: "data", overloads: true, tools }] });
  const session = runtime.session("s");
  for (const key of ["city", "lottery", "city", "lottery"]) await session.execute({ name: "data::get", input: { [key]: "a" } });
  const shown = session.messages({ trim: { budgetBytes: 0 } });
  expect(shown.flatMap((message) => (message.role === "result" ? [message.result.output] : []))).toEqual(["drawn", "now", "drawn"]);
});
