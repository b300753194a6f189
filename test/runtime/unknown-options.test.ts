import { describe, expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { ToolError } from "../../src/core/error.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const CALL = { name: "t", input: {} };

async function refusal(work: () => unknown): Promise<readonly unknown[]> {
  try {
    await work();
    return ["accepted"];
  } catch (thrown: unknown) {
    return thrown instanceof ToolError ? [thrown.code, thrown.message, thrown.hint] : [thrown];
  }
}

describe("an unknown option is rejected by name before anything runs", () => {
  let runs = 0;
  const { runtime } = testRuntime({ tools: [tool("t", () => ++runs)] });
  const parts = { model: scriptedModel([{ text: "Hello." }]), session: runtime.session() };
  const options = (name: string): object => ({ [name]: 1 });
  const cases: readonly (readonly [string, (name: string) => unknown, string, string])[] = [
    ["execute()", (name) => runtime.execute(CALL, options(name)), "onProgres", "onProgress"],
    ["execute()", (name) => runtime.session().execute([CALL], options(name)), "idempotency_key", "idempotencyKey"],
    ["execute()", (name) => runtime.session().execute([CALL], { idempotencyKey: "k", ...options(name) }), "valiate", "validate"],
    ["simulate()", (name) => runtime.simulate([CALL], options(name)), "answersFrom", "answerFrom"],
    ["round()", (name) => runtime.session().turn(async (turn) => turn.round(options(name))), "approve", "approved"],
    ["createLoop()", (name) => createLoop({ ...parts, ...options(name) }), "temprature", "temperature"],
    ["createLoop({ limits })", (name) => createLoop({ ...parts, limits: options(name) }), "maxRound", "maxRounds"],
    ["createLoop({ calls })", (name) => createLoop({ ...parts, calls: options(name) }), "validat", "validate"],
  ];
  test.each(cases)("%s", async (owner, give, name, near) => {
    expect(await refusal(() => give(name))).toEqual([
      "invalid_argument",
      `${owner} has no option ${JSON.stringify(name)}.`,
      `Did you mean ${JSON.stringify(near)}?`,
    ]);
    const [code, message, hint] = await refusal(() => give("quux"));
    expect([code, message]).toEqual(["invalid_argument", `${owner} has no option "quux".`]);
    expect(hint).toContain(near);
    expect(await refusal(() => give("__proto__"))).toContain("invalid_argument");
    expect(runs).toBe(0);
  });

  test("an option that is a limit of a loop gets a hint with its right place", async () => {
    expect(await refusal(() => createLoop({ ...parts, ...options("budget") }))).toEqual([
      "invalid_argument",
      'createLoop() has no option "budget".',
      "It is a limit: createLoop({ limits: { budget } }).",
    ]);
  });

  test("inherited properties of an object are not options", async () => {
    const inherited = Object.create({ trace: true }) as object;
    expect(await runtime.execute(CALL, inherited)).toMatchObject({ status: "ok" });
  });
});
