import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import { findRoundedIntegers, restoreDigits } from "../../../src/compose/program/rounded-integers.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";

function shop() {
  const paid: JsonObject[] = [];
  const inputSchema = { type: "object", properties: { id: { type: ["integer", "string"] }, amount: { type: "number" } } };
  const pay = tool("pay", (input) => (paid.push(input as JsonObject), "paid"), { inputSchema });
  const { runtime } = testRuntime({ toolsets: [{ name: "shop", tools: [pay] }, programToolset()] });
  const run = async (code: string) => await runtime.session().execute({ name: "program::run_program", input: { code } });
  return { paid, run };
}

describe("F4.40 an integer that the language of a program rounds", () => {
  test.each([
    "await tools.shop.pay({ id: 1915883588174806058 })",
    "await tools.shop.pay({ id: -9007199254740993 })",
    "const ids = [9_007_199_254_740_993]; await tools.shop.pay({ amount: 1, id: ids[0] })",
    "await tools.shop.pay({ id: 9007199254740993.0 })",
    'await tools.shop.pay({ id: Number("1915883588174806058") })',
  ])("does not reach a tool, and the error says why: %s", async (code) => {
    const { paid, run } = shop();
    const { status, error } = await run(code);
    expect(paid).toEqual([]);
    expect({ status, text: JSON.stringify(error) }).toEqual({
      status: "error",
      text: expect.stringContaining("would lose digits. Send it as a string"),
    });
  });

  test("does not keep other numbers, or the digits as text, from a tool", async () => {
    const { paid, run } = shop();
    const inputs = [
      { id: "1915883588174806058" },
      { id: 9007199254740992, amount: 1e21 },
      { id: 1000000000000000000, amount: 0.12345678901234568 },
      { amount: 1500000000000000000000 },
      { id: 'x"9007199254740992' },
    ];
    const calls = inputs.map((input) => `await tools.shop.pay(${JSON.stringify(input).replace("1.5e+21", "1500000000000000000000")});`);
    const code = `const unused = "9007199254740995"; ${calls.join(" ")}`;
    expect(await run(code)).toMatchObject({ status: "ok" });
    expect(paid).toEqual(inputs);
  });

  test("is found behind megabytes of text, in linear time", () => {
    const text = '\\"'.repeat(4_000_000);
    const rounded = findRoundedIntegers(`f("${text}", 9007199254740993)`);
    expect([...rounded]).toEqual([["9007199254740992", "9007199254740993"]]);
    expect(restoreDigits(`{"a":"${text}9007199254740992","b":[-9007199254740992]}`, rounded)).toBe(
      `{"a":"${text}9007199254740992","b":[-9007199254740993]}`,
    );
  });
});
