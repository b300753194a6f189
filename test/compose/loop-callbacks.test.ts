/** Functions among the options of a loop that return something else than they should, as untyped programs write them. */
import { beforeEach, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { LoopOptions } from "../../src/compose/loop-options.ts";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { testLoop } from "./bench-loop.ts";
import { collectUnhandledRejections } from "../unhandled-rejections.ts";

let unhandled: readonly unknown[] = [];

beforeEach(() => void (unhandled = collectUnhandledRejections()));

const NAMES = ["system", "tools", "allow", "toolChoice", "cost"] as const satisfies readonly (keyof LoopOptions)[];
const failing = () => Promise.reject(new Error("the service is down"));
const WRONG: readonly (readonly [string, () => unknown, string])[] = [
  ["a promise", () => Promise.resolve("x"), "a promise"],
  ["a promise that rejects", failing, "a promise"],
  ["null", () => null, "null"],
];

test.each(NAMES.flatMap((name) => WRONG.map(([what, callback, kind]) => ({ name, what, callback, kind }))))(
  "a loop whose function $name returns $what rejects its run and leaves no unhandled rejection",
  async ({ name, callback, kind }) => {
    const session = createRuntime().session();
    const loop = createLoop({ model: scriptedModel([{ text: "Done." }]), session, [name]: callback });
    await expect(loop.run("go")).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(new RegExp(`^${name}\\(\\) of createLoop\\(\\) returns .*, not ${kind}\\.$`, "u")),
    });
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  },
);

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, "1"])(
  "a cost of %s is rejected, because a budget would not count it",
  async (cost) => {
    const { loop } = testLoop({ script: [{ text: "Done." }], cost: () => cost as number, limits: { budget: { cost: { hard: 1 } } } });
    const message = `cost() of createLoop() returns a number of at least 0, not ${typeof cost === "string" ? JSON.stringify(cost) : cost}.`;
    await expect(loop.run("go")).rejects.toMatchObject({ code: "invalid_argument", message });
  },
);

test("a loop whose options are an instance of a class keeps the functions of the class, with the instance as this", async () => {
  class Refusing implements LoopOptions {
    readonly model = scriptedModel([{ calls: [{ name: "wipe", input: {} }] }, { text: "Done." }]);
    readonly session: LoopOptions["session"];
    readonly #reason = "Not now.";
    constructor(session: LoopOptions["session"]) {
      this.session = session;
    }
    system(): string {
      return this.#reason;
    }
    refuse(): ToolError {
      return new ToolError("permission_denied", this.#reason);
    }
  }
  let runs = 0;
  const wipe = defineTool({ name: "wipe", description: "Wipes.", inputSchema: { type: "object" }, execute: () => ++runs });
  const session = createRuntime({ tools: [wipe] }).session();
  await createLoop(new Refusing(session)).run("go");
  expect([runs, session.messages().at(-2)]).toMatchObject([0, { result: { error: { message: "Not now." } } }]);
});

test("a delegate whose function prompt returns a promise fails with an error that says so", async () => {
  const prompt = failing as unknown as () => string;
  const helper = delegateTool({ name: "helper", description: "Helps.", model: scriptedModel([{ text: "Done." }]), prompt });
  const runtime = createRuntime({ tools: [helper] });
  const { error } = await runtime.execute({ name: "helper", input: { task: "go" } });
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect([error?.message, unhandled]).toEqual(["prompt() of a delegate returns a string, not a promise.", []]);
});
