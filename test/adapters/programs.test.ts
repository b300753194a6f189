/** Programs in place of the other tools, for frameworks. */
import { tool as langChainTool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { bridgedTools } from "../../src/adapters/bridge.ts";
import { toLangChainTools } from "../../src/adapters/langchain.ts";
import { programToolset, type ProgramToolsetOptions } from "../../src/compose/program/program-toolset.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";

function shop(options: ProgramToolsetOptions): Runtime {
  const inputSchema = { type: "object", properties: { page: { type: "integer" } }, required: ["page"] };
  const list = { name: "list", description: "Lists items.", inputSchema, effects: { reads: ["shop"] }, execute: () => ["pen", "cup"] };
  return createRuntime({ toolsets: [{ name: "shop", tools: [list] }, programToolset(options)] });
}

describe("issue 18.3 programs in adapters", () => {
  test('with the mode "only", a framework gets run_program alone, whose description declares the other tools', async () => {
    const runtime = shop({ mode: "only" });
    const session = runtime.session();
    const tools = toAiSdkTools(runtime, { session });
    expect(Object.keys(tools).sort()).toEqual(["haft__read_result", "program__run_program"]);
    const program = bridgedTools(runtime, { session }, "the test").find(({ name }) => name === "program__run_program");
    expect(program?.description).toContain("list(input: { page: number }): Promise<unknown>;");
    const result = await program?.call({ code: "return (await tools.shop.list({ page: 1 })).length;" });
    expect(result?.output).toEqual({ returned: 2 });
    await session.close();
  });

  test("LangChain's own tools include the declarations too", () => {
    const tools = toLangChainTools(shop({ mode: "only" }), (handler, fields) => langChainTool(handler, fields));
    expect(tools.map(({ name, description }) => [name, description.includes("declare const tools: {")])).toEqual([
      ["program__run_program", true],
    ]);
  });

  test("`only` without the program leaves the other tools unchanged", () => {
    const tools = bridgedTools(shop({ mode: "only" }), { only: ["shop::*"] }, "the test");
    expect(tools.map(({ name, description }) => [name, description])).toEqual([["shop__list", "Lists items."]]);
  });

  test('with the mode "alongside", all tools are passed and none is declared', () => {
    const tools = bridgedTools(shop({}), {}, "the test");
    expect(tools.map(({ name, description }) => [name, description.includes("declare const")])).toEqual([
      ["program__run_program", false],
      ["shop__list", false],
    ]);
  });
});
