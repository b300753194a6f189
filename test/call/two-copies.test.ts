/** Tools that one copy of the package made, run by another: a project's own copy, and the one that `haft` was started from. */
import { beforeAll, expect, test } from "vitest";
import { NoAnswer } from "../../src/core/answers/no-answer.ts";
import { RemoteJob, ToolError, ToolExecutionError, ToolOutput, createLoop, createRuntime, type Engine } from "../../src/index.ts";
import { createChain } from "../../src/compose/chain/chain.ts";
import { runSequence } from "../../src/compose/sequence/run-sequence.ts";
import { programToolset } from "../../src/compose/program/program-toolset.ts";
import { createServer } from "../../src/server/create-server.ts";
import { staticToken } from "../../src/server/auth/static-token.ts";
import { createWorker } from "../../src/server/worker/create-worker.ts";
import { infoToolset } from "../../src/toolsets/info.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { BUNDLE } from "../bundled-program.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

type Package = typeof import("../../src/index.ts") &
  Pick<typeof import("../../src/public/simulation.ts"), "NoAnswer"> &
  Pick<typeof import("../../src/public/tools.ts"), "withSuccessShape">;

let other: Package;
beforeAll(async () => {
  const entries = ["index", "public/simulation", "public/tools"].map((entry) => import(`${BUNDLE}/dist/${entry}.js`));
  other = Object.assign({}, ...(await Promise.all(entries))) as Package; // made of src/
  expect(other.ToolError).not.toBe(ToolError);
});

test("an error of the other copy keeps its code, hint and outcome, and the call is retried", async () => {
  const pay = tool(
    "pay",
    () => {
      throw new other.ToolError("rate_limited", "slow", { outcome: "not_started", hint: "Wait a bit." });
    },
    { effects: { writes: "bank", external: true }, maxAttempts: 2 },
  );
  const { runtime, ports } = testRuntime({ tools: [pay] });
  const running = runtime.execute({ name: "pay" });
  await ports.clock.advance(60_000);
  expect(await running).toMatchObject({
    status: "error",
    attempts: 2,
    error: { code: "rate_limited", message: "slow", outcome: "not_started", hint: "Wait a bit." },
  });
});

test("an error with fields of an unknown version is execution_failed with its message", async () => {
  const odd = tool("odd", () => {
    throw Object.assign(new other.ToolError("not_found", "gone"), { code: "of_tomorrow" });
  });
  expect((await testRuntime({ tools: [odd] }).runtime.execute({ name: "odd" })).error).toMatchObject({
    code: "execution_failed",
    message: "gone",
  });
});

test("an output of the other copy keeps its content and JSON, even if the tool is wrapped", async () => {
  const show = tool("show", () => new other.ToolOutput({ content: [{ type: "text", text: "hello" }], output: { success: true } }));
  for (const one of [show, other.withSuccessShape(show)]) {
    const { content, output } = await testRuntime({ tools: [one] }).runtime.execute({ name: "show" });
    expect({ content, output }).toEqual({ content: [{ type: "text", text: "hello" }], output: { success: true } });
  }
});

test("a failure returned by a wrapped tool of the other copy keeps its output", async () => {
  const answer = { success: false, error: "The door is locked." };
  const open = other.withSuccessShape(tool("open", () => answer));
  const { output, error } = await testRuntime({ tools: [open] }).runtime.execute({ name: "open" });
  expect([output, error?.message]).toEqual([answer, "The door is locked."]);
});

test("a remote job of the other copy is awaited", async () => {
  const engine: Engine = { kind: "remote", call: () => new other.RemoteJob({ id: "r1", result: Promise.resolve("done") }) };
  const run = { name: "run", description: "Runs.", inputSchema: { type: "object" } } as const;
  const { runtime } = testRuntime({ toolsets: [{ name: "far", engine, tools: [run] }] });
  expect(await runtime.execute({ name: "run" })).toMatchObject({ status: "ok", output: "done" });
});

test("instanceof recognizes instances of the other copy both ways, and a subclass recognizes only its own", () => {
  const all = [ToolError, NoAnswer, ToolOutput, RemoteJob, ToolExecutionError].map(({ name }) => name as keyof Package);
  const values = (from: Package): readonly object[] => [
    new from.ToolError("not_found", "gone"),
    new from.NoAnswer("not_found", "none"),
    new from.ToolOutput({}),
    new from.RemoteJob({ id: "1", result: Promise.resolve() }),
    new from.ToolExecutionError({ name: "a", error: { message: "no" } } as never, []),
  ];
  const own = { ToolError, NoAnswer, ToolOutput, RemoteJob, ToolExecutionError } as unknown as Package;
  const expected = [["ToolError"], ["ToolError", "NoAnswer"], ["ToolOutput"], ["RemoteJob"], ["ToolExecutionError"]];
  const kinds = (value: object, from: Package): readonly string[] =>
    all.filter((name) => value instanceof (from[name] as typeof ToolError));
  for (const from of [own, other]) for (const by of [own, other]) expect(values(from).map((value) => kinds(value, by))).toEqual(expected);

  class Mine extends ToolError {}
  expect([new Mine("not_found", "gone"), new ToolError("not_found", "gone")].map((error) => error instanceof Mine)).toEqual([true, false]);
});

test("features that need the same copy are rejected with the reason and a hint", async () => {
  const runtime = other.createRuntime({ tools: [], toolsets: [programToolset(), infoToolset()] });
  await runtime.open();
  const session = runtime.session();
  const results = await session.execute([
    { name: "program::run_program", input: { code: "return 1" } },
    { name: "manual::info", input: { name: "info" } },
  ]);
  const model = scriptedModel([{ calls: [{ name: "manual::info", input: { name: "info" } }] }, { text: "done" }]);
  const run = createLoop({ model, session })
    .run("go")
    .catch((error: unknown) => error);
  const problems = [...results.map(({ error }) => error), await run];
  expect(problems).toEqual(
    problems.map(() =>
      expect.objectContaining({
        code: "unavailable",
        message: expect.stringContaining("copy of haft"),
        operatorHint: expect.stringContaining("npm ls haft"),
      }),
    ),
  );
  await runtime.close();
});

test("a runtime or a registry of the other copy is rejected with a hint", async () => {
  const runtime = other.createRuntime({ tools: [] });
  const auth = staticToken({ token: "a-token-for-the-tests" });
  const refused = { code: "invalid_argument", operatorHint: expect.stringContaining("npm ls haft") };
  expect(() => createServer(runtime, { auth })).toThrow(expect.objectContaining(refused));
  expect(() => createWorker(runtime)).toThrow(expect.objectContaining(refused));
  expect(() => createRuntime({ registry: runtime.registry })).toThrow(expect.objectContaining(refused));
  await expect(runSequence(runtime, [])).rejects.toMatchObject(refused);
  await expect(createChain([{ tool: "any" }]).run(runtime)).rejects.toMatchObject(refused);
  await runtime.close();
});
