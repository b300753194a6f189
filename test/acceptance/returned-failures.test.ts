/** Tools in the manner of the Evennia AI assistant: classes with overridden methods that return `{success, error, data}` (seed 003, steps 5 to 9). */
import { expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import { enrich } from "../../src/generate/enrich.ts";
import { outputSchemas } from "../../src/generate/output-schemas.ts";
import { withSuccessShape } from "../../src/registry/success-shape.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

const PHRASES = [
  "Request timeout after 5 s",
  "Lost CONNECTION to the grid",
  "network is down",
  "temporary glitch",
  "Rate limit reached",
  "please try again",
];

/** A tool of the room that answers with each of these in turn. */
function lever(answers: readonly unknown[], more: object = {}) {
  let pulls = 0;
  return {
    tool: withSuccessShape({
      name: "pull_lever",
      description: "Pulls a lever.",
      inputSchema: { type: "object", properties: { force: { type: "integer" } } },
      ...more,
      execute: () => answers[Math.min(pulls++, answers.length - 1)],
    }),
    pulls: () => pulls,
  };
}

async function pull(answers: readonly unknown[], more: object = { effects: readOnly("room") }) {
  const ports = fakePorts();
  const { tool, pulls } = lever(answers, more);
  const runtime = createRuntime({ tools: [tool], ports });
  const session = runtime.session("room");
  const result = await ports.clock.run(session.execute({ name: "pull_lever", input: { force: 2 } }));
  return { result, pulls: pulls(), session };
}

test.each(PHRASES)("F3.13 F3.20 a failure that a read returns as %j is tried again, up to four times", async (error) => {
  const { result, pulls } = await pull([{ success: false, error }]);

  expect([pulls, result.status, result.attempts, result.error?.message]).toEqual([4, "error", 4, error]);
});

test("F3.13 F3.20 a returned failure that passes leaves the answer of the attempt that went well", async () => {
  const { result, pulls } = await pull([
    { success: false, error: "network is down" },
    { success: true, data: { gate: "open" } },
  ]);

  expect([pulls, result.status, result.output]).toEqual([2, "ok", { success: true, data: { gate: "open" } }]);
});

test("F3.13 a returned failure without one of the words is final", async () => {
  const { result, pulls } = await pull([{ success: false, error: "The lever is rusty." }]);

  expect([pulls, result.status, result.error]).toMatchObject([1, "error", { code: "execution_failed", retryable: false }]);
});

test("F3.13 a tool that writes and returns a failure is not run again, whatever its words", async () => {
  const { result, pulls } = await pull([{ success: false, error: "connection timeout" }], {});

  expect([pulls, result.attempts, result.error?.code]).toEqual([1, 1, "timeout"]);
});

test("F3.14 F3.20 all of a returned failure is kept in the result, and the model is shown it as JSON", async () => {
  const failure = { success: false, error: "The gate is locked.", data: { key: "brass", tries: [1, 2] }, room: "hall" };
  const { result, session } = await pull([failure]);

  expect(result).toMatchObject({ status: "error", output: failure, error: { code: "execution_failed", message: "The gate is locked." } });
  const shown = session.messages().find(({ role }) => role === "result");
  expect(shown).toMatchObject({ role: "result", result: { output: failure } });
});

class Said {
  readonly name = "say";
  readonly description = "Says something.";
  readonly inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  readonly volume = 3;
  validate({ text }: { readonly text?: unknown }): readonly string[] {
    return String(text).length > this.volume * 4 ? ["$.text: too long"] : [];
  }
  execute({ text }: { readonly text: string }): unknown {
    return { success: true, loud: text.toUpperCase().repeat(this.volume - 2) };
  }
}

/** Its methods are its grandparent's but for one. */
class Whispered extends Said {
  override readonly volume = 3;
  override execute({ text }: { readonly text: string }): unknown {
    return { success: true, quiet: `${text} (${this.volume})` };
  }
}

test.each([
  [new Said(), { success: true, loud: "HI" }],
  [new Whispered(), { success: true, quiet: "hi (3)" }],
] as const)("F3.9 F3.20 the preset keeps what a class and its parents give a tool: %o", async (tool, output) => {
  const runtime = createRuntime({ tools: [withSuccessShape(tool)] });
  const results = await runtime.execute([
    { name: "say", input: { text: "hi", colour: "red" } },
    { name: "say", input: { text: "much too long for this" } },
  ]);

  expect(results).toMatchObject([
    { status: "ok", output, repairs: [{ kind: "dropped", path: "$.colour" }] },
    { status: "error", error: { code: "invalid_input", details: ["$.text: too long"] } },
  ]);
});

test("F0.22 F3.9 an enrichment that gives a class-based tool its output schema keeps its methods", async () => {
  const model = async () => ({ type: "object", properties: { success: { type: "boolean" } } });
  const enriched = await enrich([{ name: "room", tools: [new Whispered()] }], [outputSchemas({ model })]);
  const runtime = createRuntime({ toolsets: enriched.toolsets });

  expect(enriched.require("room::say").tool.outputSchema).toBeDefined();
  expect(await runtime.execute({ name: "room::say", input: { text: "hush" } })).toMatchObject({
    status: "ok",
    output: { success: true, quiet: "hush (3)" },
  });
});

test("F3.20 F3.21 what a provider is sent of a returned failure is that JSON, marked as an error where it can be", async () => {
  const failure = { success: false, error: "The well is dry.", data: { depth: 12 } };
  const { session } = await pull([failure]);
  const sent = (format: WireFormat): string => JSON.stringify(format.encodeMessages(session.messages()).messages);

  expect(sent(openAiChat())).toContain(JSON.stringify(JSON.stringify(failure)));
  expect(sent(anthropicMessages())).toContain(`"content":${JSON.stringify(JSON.stringify(failure))},"is_error":true`);
});

/** As the page of the seed writes the base class: its attributes, and `execute` overridden below. */
class SeedTool {
  readonly name: string = "weigh";
  readonly description = "Weighs a sack.";
  readonly parameters = { type: "object", properties: { sack: { type: "integer" } }, required: ["sack"] };
  readonly category = "SAFE_CHAIN";
  readonly effects = { reads: ["scale"], writes: [] };
  readonly cacheable: boolean = true;
  readonly cache_scope: "tick" | "session" = "session";
  readonly cache_ttl: number | null = 20;
  weighed = 0;
  execute(_input: { readonly sack: number }): unknown {
    throw new Error("not implemented");
  }
}

class Scale extends SeedTool {
  override execute({ sack }: { readonly sack: number }): unknown {
    return { success: true, kilos: sack * 10 + ++this.weighed };
  }
}

test("F3.9 F3.16 F3.29 a class in the words of the seed is checked by its parameters and cached in its scope, until its time is up", async () => {
  const ports = fakePorts();
  const session = createRuntime({ tools: [withSuccessShape(new Scale())], ports }).session("mill");
  const weigh = async (sack: unknown) => {
    const { output, origin, error } = await session.execute({ name: "weigh", input: { sack, colour: "grey" } });
    return [output ?? error?.details, origin];
  };
  expect(await weigh("heavy")).toEqual([["$.sack: expected type integer, got string"], "live"]);
  expect([await weigh("7"), await weigh(7)]).toEqual([
    [{ success: true, kilos: 71 }, "live"],
    [{ success: true, kilos: 71 }, "cache"],
  ]);
  await ports.clock.advance(20_001);
  expect(await weigh(7)).toEqual([{ success: true, kilos: 72 }, "live"]);
});

test("F3.16 F3.27 words of the seed that would do nothing, or contradict, are refused with what to write", () => {
  class Hoist extends Scale {
    override readonly name = "hoist";
    readonly inputSchema = { type: "object" };
  }
  class Handled {
    readonly name = "handled";
    readonly description = "";
    readonly inputSchema = {};
    readonly handler = () => 1;
  }
  const register =
    (tool: object, wrap = (given: never): unknown => given) =>
    () =>
      createRuntime({ tools: [wrap(tool as never) as never] });
  expect(register(new Scale())).toThrow(
    expect.objectContaining({
      message: 'The tool "weigh" has "parameters", which is inputSchema here.',
      hint: expect.stringContaining("withSuccessShape()"),
    }),
  );
  expect(register(new Hoist())).toThrow('"cacheable", which is cache here');
  expect(register(new Hoist(), withSuccessShape)).toThrow("both inputSchema and parameters");
  for (const wrap of [undefined, withSuccessShape]) expect(register(new Handled(), wrap)).toThrow('"handler", which is execute here');
  expect(register(Object.assign(new Scale(), { cache_scope: "hour" }), withSuccessShape)).toThrow("cache_scope");
});
