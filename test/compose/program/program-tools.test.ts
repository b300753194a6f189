/** What a loop offers where programs take the place of tools. */
import { expect, test } from "vitest";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import { programTools } from "../../../src/compose/program/program-tools.ts";
import { createLoop } from "../../../src/compose/loop.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";

const shop = { name: "shop", tools: [tool("b", () => 2), tool("a", () => 1)] };

test("issue 18 run_program is one of the tools; with mode only, it declares them, in the same bytes for every order of registration", () => {
  const beside = testRuntime({ toolsets: [shop, programToolset()] }).runtime.registry;
  expect(programTools(beside).map(({ name }) => name)).toEqual(["haft::read_result", "program::run_program", "shop::a", "shop::b"]);
  const turned = { name: "shop", tools: shop.tools.toReversed() };
  const texts = [shop, turned].map((toolset) => {
    const { registry } = testRuntime({ toolsets: [toolset, programToolset({ mode: "only" })] }).runtime;
    const offered = programTools(registry);
    expect(programTools(registry)).toBe(offered);
    expect(offered.map(({ name }) => name).toSorted()).toEqual(["haft::read_result", "program::run_program"]);
    return offered.find(({ name }) => name === "program::run_program")?.description;
  });
  expect(texts[0]).toContain("    a(input?: { [key: string]: unknown }): Promise<unknown>;\n    /** Does b. */");
  expect(texts[0]).toBe(texts[1]);
});

test("issue 18 with mode only, run_program declares only the allowed tools, and the model sees only the program's answer", async () => {
  const { runtime } = testRuntime({ toolsets: [shop, programToolset({ mode: "only" })] });
  const requests: string[] = [];
  const replies = [
    {
      calls: [{ name: "program::run_program", input: { code: "await tools.shop.a(); return tools.shop.b().catch(({ code }) => code);" } }],
    },
    { text: "Done." },
  ];
  const model = scriptedModel((request, index) => (requests.push(JSON.stringify(request)), replies[index] ?? {}));
  const session = runtime.session();
  const { text } = await createLoop({ model, session, allow: { deny: ["shop::b"] } }).run("Go.");
  expect(text).toBe("Done.");
  expect(requests[0]).toContain("Does a.");
  expect(requests[0]).not.toContain("Does b.");
  expect(requests[1]).toContain('"returned":"permission_denied"');
  expect(requests[1]).not.toContain('shop::a"');
  expect(session.history.map(({ call }) => call.name)).toEqual(["program::run_program", "shop::a", "shop::b"]);
});
