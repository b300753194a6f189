/** Programs that are kept as chains, and those that are none. */
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { ToolOutput } from "../../../src/core/content.ts";
import { chainOfProgram } from "../../../src/compose/program/chain-of-program.ts";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { FailingStore } from "../../runtime/session/failing-store.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";

function bench() {
  const seen: JsonObject[] = [];
  const { runtime } = testRuntime({
    toolsets: [
      {
        name: "trip",
        tools: [
          tool(
            "find",
            ({ to }) => (
              seen.push({ find: to as JsonValue }),
              {
                trains: [
                  { id: 7, to },
                  { id: 8, to },
                ],
                cheap: true,
                "odd.key": "x",
              }
            ),
          ),
          tool("book", (input) => (seen.push({ book: input as JsonObject }), { ticket: `T-${String(input["train"])}` })),
        ],
      },
      programToolset(),
    ],
  });
  const session = runtime.session("s");
  const ran = async (code: string, input?: JsonValue): Promise<string> => {
    const given = input === undefined ? { code } : { code, input };
    const { callId, error } = await session.execute({ name: "run_program", input: given });
    expect(error?.code ?? "execution_failed").toBe("execution_failed");
    return callId;
  };
  return { session, seen, ran };
}

/** Runs a program whose tool `say` answers with a text, and no output. */
async function runWithText(code: string) {
  let said = "first";
  const say = tool("say", () => new ToolOutput({ content: [{ type: "text", text: JSON.stringify({ said }) }] }));
  const { runtime } = testRuntime({ toolsets: [{ name: "t", tools: [say, tool("use", ({ it }) => ({ used: it }))] }, programToolset()] });
  const session = runtime.session("s");
  const { callId, status } = await session.execute({ name: "run_program", input: { code } });
  expect(status).toBe("ok");
  said = "second";
  return { session, callId };
}

test("F2.22 the text of an answer without an output is passed on by the chain of a program, not kept as it was once", async () => {
  const { session, callId } = await runWithText("return await tools.t.use({ it: await tools.t.say({ a: 1 }) });");
  const { chain } = await chainOfProgram(session, callId);
  expect(chain.steps[1]?.inputMapping).toEqual({ it: '["call1"]' });
  expect((await chain.run(session)).context["call2"]).toEqual({ used: '{"said":"second"}' });
});

test("F2.22 a program that computes an argument from the text of an answer is not converted", async () => {
  const { session, callId } = await runWithText("return await tools.t.use({ it: JSON.parse(await tools.t.say({ a: 1 })).said });");
  await expect(chainOfProgram(session, callId)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("cannot be kept as a chain"),
  });
});

test("F2.22 a program whose first events are only in the store is converted to a chain with all its calls", async () => {
  const tools = [tool("find", () => ({ id: 7 })), tool("book", ({ train }) => ({ ticket: `T-${String(train)}` }))];
  const options = { store: new FailingStore(), keepEvents: 1, toolsets: [{ name: "trip", tools }, programToolset()] };
  const session = testRuntime(options).runtime.session("s");
  const code = "const { id } = await tools.trip.find({ to: 'Oslo' }); return await tools.trip.book({ train: id });";
  const { callId } = await session.execute({ name: "run_program", input: { code } });
  const { chain } = await chainOfProgram(session, callId);
  expect(chain.steps.map(({ tool: name, inputMapping }) => [name, inputMapping])).toEqual([
    ["trip::find", { to: { value: "Oslo" } }],
    ["trip::book", { train: '["call1"]["id"]' }],
  ]);
});

describe("issue 18 a program is converted to a chain", () => {
  test("that takes each argument from where the program took it, and works with another input", async () => {
    const { session, seen, ran } = bench();
    const callId = await ran(
      `const { trains: [first], ["odd.key"]: odd } = await tools.trip.find({ to: input.town });
       return await tools.trip.book({ train: first.id, seats: 2, all: first, odd, name: input.name });`,
      { town: "Oslo", name: "Ann" },
    );
    const { chain, answerKey } = await chainOfProgram(session, callId);
    expect(chain.steps).toEqual([
      { tool: "trip::find", inputMapping: { to: '["town"]' }, outputKey: "call1" },
      {
        tool: "trip::book",
        inputMapping: {
          train: '["call1"]["trains"][0]["id"]',
          seats: { value: 2 },
          all: '["call1"]["trains"][0]',
          odd: '["call1"]["odd.key"]',
          name: '["name"]',
        },
        outputKey: "call2",
      },
    ]);
    expect(answerKey).toBe("call2");
    expect(seen).toHaveLength(2);
    const { success, context } = await chain.run(session, { town: "Rome", name: "Bo" });
    expect({ success, answer: context["call2"] }).toEqual({ success: true, answer: { ticket: "T-7" } });
    expect(seen.slice(2)).toEqual([{ find: "Rome" }, { book: { train: 7, seats: 2, all: { id: 7, to: "Rome" }, odd: "x", name: "Bo" } }]);
  });

  test.skipIf(!inCI).each([
    [
      "loops over an answer",
      "const { trains } = await tools.trip.find({ to: 'a' }); for (const { id } of trains) await tools.trip.book({ train: id });",
      "which calls it makes depends on earlier answers",
    ],
    [
      "decides by an answer",
      "const { cheap } = await tools.trip.find({ to: 'a' }); if (cheap) await tools.trip.book({ train: 1 });",
      "which calls it makes depends on earlier answers",
    ],
    [
      "computes a number",
      "const { trains } = await tools.trip.find({ to: 'a' }); await tools.trip.book({ train: trains[0].id + 1 });",
      'it computes the argument "train" of call 2',
    ],
    [
      "computes a text",
      "const { trains } = await tools.trip.find({ to: 'a' }); await tools.trip.book({ train: `no. ${trains[0].to}` });",
      'it computes the argument "train" of call 2',
    ],
    [
      "mixes answers",
      "const { trains } = await tools.trip.find({ to: 'a' }); await tools.trip.book({ train: { id: trains[0].id, more: 1 } });",
      'it computes the argument "train" of call 2',
    ],
    ["looks at the time", "await tools.trip.book({ train: Date.now() });", 'it computes the argument "train" of call 1'],
    ["throws dice", "await tools.trip.book({ train: Math.random() });", 'it computes the argument "train" of call 1'],
    [
      "calls without an argument",
      "await tools.trip.book();",
      "call 1 (trip::book) takes no argument, and a step without any is given the whole context",
    ],
    ["calls nothing", "return 1;", "it makes no calls"],
    ["fails", "await tools.trip.book({ train: 1 }); throw 1;", "it failed"],
    ["catches a call that failed", "try { await tools.trip.fnd({ to: 'a' }); } catch {}", "call 1 did not succeed"],
  ])(`but not if it %s ${IN_CI}`, async (_what, code, why) => {
    const { session, seen, ran } = bench();
    const callId = await ran(code);
    const count = seen.length;
    await expect(chainOfProgram(session, callId)).rejects.toMatchObject({
      code: "invalid_argument",
      message: `The program cannot be kept as a chain: ${why}.`,
    });
    expect(seen).toHaveLength(count);
  });

  test("but a call that is not a program, and an unknown call, are rejected", async () => {
    const { session } = bench();
    const { callId } = await session.execute({ name: "trip::book", input: { train: 1 } });
    await expect(chainOfProgram(session, callId)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(chainOfProgram(session, "nope")).rejects.toMatchObject({ code: "not_found" });
  });
});
