/** Commands that a model writes in its text: those of jobs, and those that hooks add. */
import { expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { jobsToolset } from "../../src/toolsets/jobs.ts";

const CALLS = ["natively", "as text commands"] as const;

/** Has a model say a command, as a call or as text, and returns what it was answered. */
async function say(
  session: RuntimeSession,
  how: (typeof CALLS)[number],
  name: string,
  input: Readonly<Record<string, string | number>>,
): Promise<unknown> {
  const written = Object.entries(input).map(([key, value]) => ` ${key}="${value}"`);
  const inner = scriptedModel([
    how === "natively" ? { calls: [{ name, input }] } : { text: `So.\n[/${name}${written.join("")}][${name}/]` },
    { text: "Well." },
  ]);
  const model = how === "natively" ? inner : textToolsModel(inner, { format: "bracket" });
  const { results } = await createLoop({ session, model }).run("Go.");
  return results.map(({ name: called, status, output, error }) => [called, status, output ?? error?.code]);
}

async function withJob(work: (runtime: Runtime, session: RuntimeSession, id: string, end: () => void) => Promise<void>): Promise<void> {
  const done = Promise.withResolvers<string>();
  const slow: Tool = {
    name: "slow",
    description: "Takes long.",
    inputSchema: { type: "object" },
    mode: "background",
    execute: (_input, { output }) => {
      output("one\ntwo\nthree\n");
      return done.promise;
    },
  };
  await using runtime = createRuntime({ tools: [slow], toolsets: [jobsToolset()] });
  const session = runtime.session();
  const { callId } = await session.execute({ name: "slow" });
  await work(runtime, session, callId, () => done.resolve("built"));
}

test("F1.46 wait in its documented form, with the timeout in the opening and the id as its body, is parsed as a call", () =>
  withJob(async (_runtime, session, id, end) => {
    const inner = scriptedModel([{ text: `[/wait timeout="0"]${id}[wait/]` }, { text: "Well." }]);
    const loop = createLoop({ session, model: textToolsModel(inner, { format: "bracket" }) });
    const { results } = await loop.run("Go.");
    expect(results.map(({ output }) => output)).toEqual(["TIMEOUT\nThe job is still running after 0 s."]);
    end();
  }));

test("F1.46 send_to_job to a job that takes no input tells the model which jobs do", () =>
  withJob(async (_runtime, session, id, end) => {
    const { error } = await session.execute({ name: "send_to_job", input: { id, input: "x" } });
    expect(error).toMatchObject({ code: "invalid_input", hint: "Only jobs of stateful tools do." });
    end();
  }));

for (const how of CALLS) {
  test(`F1.46 jobs and read_job report a job when called ${how}, by lines from an offset`, () =>
    withJob(async (_runtime, session, id, end) => {
      expect(await say(session, how, "jobs", {})).toEqual([["jobs::jobs", "ok", `${id} default::slow running, 3 lines written`]]);
      expect(await say(session, how, "read_job", { id, lines: 1, offset: 1 })).toEqual([
        ["jobs::read_job", "ok", "[lines 1 to 1 of 3]\ntwo"],
      ]);
      end();
    }));

  test(`F1.46 wait accepts a timeout when called ${how}, and reports the end`, () =>
    withJob(async (_runtime, session, id, end) => {
      expect(await say(session, how, "wait", { id, timeout: 0 })).toEqual([
        ["jobs::wait", "ok", "TIMEOUT\nThe job is still running after 0 s."],
      ]);
      end();
      expect(await say(session, how, "wait", { id, timeout: 5 })).toEqual([["jobs::wait", "ok", "DONE\nbuilt"]]);
    }));

  test(`F1.48 a command that a hook adds can be called ${how}, with the model's input`, async () => {
    const heard: unknown[] = [];
    const execute = (input: unknown, { sessionId }: { readonly sessionId: string }): string => {
      heard.push([input, sessionId]);
      return "noted";
    };
    await using runtime = createRuntime({ hooks: [{ name: "notes", commands: [{ name: "note", execute }] }] });
    const session = runtime.session("s");
    expect(await say(session, how, "note", { text: "tea" })).toEqual([["commands::note", "ok", "noted"]]);
    expect(heard).toEqual([[{ text: "tea" }, "s"]]);
  });
}

test("F1.48 a command's description is in the prompt, and its input is validated against its schema", async () => {
  const inputSchema = { type: "object", properties: { at: { type: "integer" } }, required: ["at"] } as const;
  const command = { name: "mark", description: "Marks a line.", inputSchema, execute: () => "marked" };
  await using runtime = createRuntime({ hooks: [{ name: "marks", commands: [command] }] });
  let system = "";
  const inner = scriptedModel((request, index) => {
    system = String(request.system);
    return index === 0 ? { text: '[/mark at="there"][mark/]' } : { text: "Well." };
  });
  const loop = createLoop({ session: runtime.session(), model: textToolsModel(inner, { format: "bracket" }) });
  const { results } = await loop.run("Go.");
  expect(system).toContain("Marks a line.");
  expect(results[0]?.error?.code).toBe("invalid_input");
});

test("F1.48 an unknown command remains text", async () => {
  const execute = (): string => "noted";
  await using runtime = createRuntime({ hooks: [{ name: "notes", commands: [{ name: "note", execute }] }] });
  const text = 'I would say [/frobnicate at="x"][frobnicate/] here.';
  const model = textToolsModel(scriptedModel([{ text }]), { format: "bracket", unknownTools: "text" });
  const result = await createLoop({ session: runtime.session(), model }).run("Go.");
  expect([result.text, result.results]).toEqual([text, []]);
});

test("F1.48 a command with the name of a tool, or of another command, throws when the runtime is created", () => {
  const execute = (): string => "x";
  const tool: Tool = { name: "note", description: "", inputSchema: { type: "object" }, execute };
  const notes = { name: "notes", commands: [{ name: "note", execute }] };
  expect(() => createRuntime({ tools: [tool], hooks: [notes] })).toThrow(
    'The command "note" of the hook "notes" has the same name as the tool default::note.',
  );
  expect(() => createRuntime({ hooks: [notes, { ...notes, name: "more" }] })).toThrow(
    'has the same name as a command of the hook "notes".',
  );
  const wait = { name: "waits", commands: [{ name: "wait", execute }] };
  expect(() => createRuntime({ toolsets: [jobsToolset()], hooks: [wait] })).toThrow("has the same name as the tool jobs::wait.");
});
