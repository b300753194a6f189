/** A model that is shown a few tools, and finds the others. */
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createLoop, createRuntime, type RuntimeOptions, type Tool } from "haft";
import { findToolsToolset } from "haft/find-tools";
import { scriptedModel, type ReplyScript, type ScriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { collectReply, type ModelRequest, type ModelTool } from "../../../src/core/model.ts";
import { DeferredTools } from "../../../src/compose/prompt/deferred-tools.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import { anthropicMessages } from "../../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../../src/wire/bedrock.ts";
import { cohere } from "../../../src/wire/cohere.ts";
import { geminiInteractions } from "../../../src/wire/gemini-interactions.ts";
import { gemini } from "../../../src/wire/gemini.ts";
import { mistral } from "../../../src/wire/mistral.ts";
import { ollama } from "../../../src/wire/ollama.ts";
import { openAiChat } from "../../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../../src/wire/wire-format.ts";
import { textToolsModel } from "../../../src/model/text-model.ts";
import { TEXT_FORMATS } from "../../../src/wire/text/formats.ts";
import { tool } from "../../runtime/bench-runtime.ts";

const FORMATS: readonly (readonly [format: WireFormat, model: string])[] = [
  [openAiChat(), "gpt-5"],
  [openAiChat("deepseek"), "m"],
  [openAiResponses(), "gpt-5"],
  [anthropicMessages(), "claude-sonnet-4-5"],
  [gemini(), "gemini-3-pro"],
  [geminiInteractions(), "gemini-3-pro"],
  [bedrockConverse(), "anthropic.claude-sonnet-4-5"],
  [mistral(), "m"],
  [cohere(), "m"],
  [ollama(), "m"],
];

const finds = (query: string) => ({ name: "catalog::find_tools", input: { query } });
const WORDS = ["mail", "bank", "train", "photo", "weather", "stock"];
const world = (ran: string[] = []): readonly Tool[] =>
  WORDS.map((word) => tool(word, () => (ran.push(word), word), { description: `Everything about ${word}.` }));

function play(script: ReplyScript, options: Partial<RuntimeOptions> = {}, pinned: readonly string[] = []) {
  const runtime = createRuntime({ toolsets: [{ name: "world", tools: world() }, findToolsToolset()], ...options });
  onTestFinished(async () => void (await runtime.close()));
  const session = runtime.session("s");
  const model = scriptedModel(script);
  return { runtime, session, model, loop: createLoop({ session, model, deferTools: { pinned } }) };
}

const offered = ({ requests }: ScriptedModel): readonly (readonly string[])[] =>
  requests.map(({ tools = [] }) => tools.map(({ name }) => name));

describe("a loop with deferTools", () => {
  const FIXED = ["catalog::find_tools", "haft::read_result"];

  test("shows find_tools and the pinned tools, and appends each tool that the model finds once", async () => {
    const ran: string[] = [];
    const { model, loop, session } = play(
      [
        { calls: [finds("weather")] },
        { calls: [finds("the train"), finds("weather")] },
        { calls: [{ name: "world::train", input: {} }] },
        { text: "Done." },
      ],
      { toolsets: [{ name: "world", tools: world(ran) }, findToolsToolset({ limit: 1 })] },
      ["world::mail"],
    );
    const { text, results } = await loop.run("Go.");
    expect(text).toBe("Done.");
    expect(offered(model)).toEqual([
      [...FIXED, "world::mail"],
      [...FIXED, "world::mail", "world::weather"],
      [...FIXED, "world::mail", "world::weather", "world::train"],
      [...FIXED, "world::mail", "world::weather", "world::train"],
    ]);
    expect(model.requests[3]?.tools).toBe(model.requests[2]?.tools);
    expect(ran).toEqual(["train"]);
    expect(results[0]).toMatchObject({
      output: { tools: [{ name: "world::weather", description: "Everything about weather." }] },
      content: [{ type: "text", text: "You can call these from now on:\n- world__weather: Everything about weather." }],
    });
    expect(session.state("catalog", "found")).toEqual(["world::weather", "world::train"]);
  });

  test("retains the found tools of the session in the next run, after a restart, and in a branch", async () => {
    const store = memoryStore();
    const { session, loop, runtime } = play([{ calls: [finds("weather")] }, { text: "So." }], { store });
    await loop.run("Go.");
    const shown = async (inSession: typeof session): Promise<readonly string[] | undefined> => {
      const model = scriptedModel([{ text: "Yes." }]);
      await createLoop({ session: inSession, model, deferTools: true }).run("And?");
      return offered(model)[0];
    };
    expect(await shown(session)).toEqual([...FIXED, "world::weather"]);
    expect(await shown(session.fork())).toEqual([...FIXED, "world::weather"]);
    await session.close();
    expect(await shown(await runtime.resume("s"))).toEqual([...FIXED, "world::weather"]);
  });

  test("never finds tools that are denied, hidden from the model, or unusable", async () => {
    const { model, loop, runtime } = play([{ calls: [...WORDS, "odd"].map(finds) }, { text: "So." }], {
      toolsets: [
        {
          name: "world",
          tools: [
            ...world(),
            tool("odd", () => 1, { inputSchema: { type: "strange" } as never }),
            tool("old", () => 1, { description: "odd", unusable: "It is gone." }),
          ],
        },
        findToolsToolset(),
      ],
      permission: { deny: ["world::bank"] },
    });
    await loop.run("Go.");
    expect(offered(model)[1]).toEqual([...FIXED, ...WORDS.filter((word) => word !== "bank").map((word) => `world::${word}`)]);
    const narrow = runtime.session().execute(finds("mail"), { allow: { deny: ["world::mail"] } });
    expect(await narrow).toMatchObject({
      output: { tools: [] },
      content: [{ text: 'No tool fits "mail". Try other words. There are tools in world (5).' }],
    });
  });

  test("no longer shows an unregistered tool, and ignores what a voided message found", async () => {
    const { model, loop, runtime } = play([{ calls: [finds("weather mail")] }, { text: "So." }, { text: "Now." }]);
    await loop.run("Go.");
    expect(offered(model)[1]?.toSorted()).toEqual([...FIXED, "world::mail", "world::weather"]);
    runtime.registry.unregister("world::mail");
    await loop.run("And?");
    expect(offered(model)[2]).toEqual([...FIXED, "world::weather"]);
    const other = runtime.session();
    await other.turn(async (turn) => {
      const round = turn.round();
      round.add(finds("stock"));
      await round.void("the model began anew");
    });
    expect(other.state("catalog", "found")).toBeUndefined();
  });

  test("throws without find_tools, with a tools option, and with an invalid pattern or option", () => {
    const runtime = createRuntime({ toolsets: [{ name: "world", tools: world() }] });
    const session = runtime.session();
    const model = scriptedModel([]);
    expect(() => createLoop({ session, model, deferTools: true })).toThrow(/deferTools of createLoop\(\) needs the tool find_tools/u);
    expect(() => createLoop({ session, model, deferTools: true, tools: () => [] })).toThrow(/deferTools or tools, not both/u);
    runtime.registry.addToolset(findToolsToolset());
    expect(() => createLoop({ session, model, deferTools: { pinned: [""] } })).toThrow(/pinned/u);
    expect(() => createLoop({ session, model, deferTools: { pin: [] } as never })).toThrow(/has no option "pin"/u);
  });
});

/** The text up to where it may go on. */
function beginning(value: unknown): string {
  return (JSON.stringify(value) ?? "").replace(/[\]}]+$/u, "");
}

/** Every field of an earlier request is there byte by byte, and may only go on at its end. */
function goesOn(earlier: object, later: object): void {
  for (const [key, value] of Object.entries(earlier)) {
    const text = JSON.stringify(Reflect.get(later, key));
    expect(text?.startsWith(beginning(value)), `${key}: ${text} after ${JSON.stringify(value)}`).toBe(true);
  }
}

describe("the beginning of a prompt stays the same, byte for byte, when tools are found", () => {
  const named = fc.uniqueArray(fc.string({ unit: fc.constantFrom(...Array.from("abcXYZ019_- éあ")), minLength: 1, maxLength: 70 }), {
    minLength: 1,
    maxLength: 8,
  });
  const described = fc.record({
    description: fc.string({ unit: "grapheme", maxLength: 30 }),
    inputSchema: fc.constantFrom<ModelTool["inputSchema"]>(
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { type: "object", properties: { b: { enum: [1, 2] } }, additionalProperties: false },
      { type: "object" },
    ),
  });
  const plan = named.chain((names) =>
    fc.record({
      tools: fc.tuple(...names.map((name) => described.map((more) => ({ name: `world::${name}`, ...more })))),
      pinned: fc.subarray(names),
      found: fc.shuffledSubarray(names),
    }),
  );
  const { registry } = createRuntime({ toolsets: [findToolsToolset()] });

  test.each(FORMATS.map(([format, model]) => [format.name, format, model] as const))("%s", (_, format, model) => {
    fc.assert(
      fc.property(plan, ({ tools, pinned, found }) => {
        const escaped = pinned.map((name) => `world::${name}`).filter((name) => !/[*?]/u.test(name));
        const deferred = new DeferredTools({ pinned: escaped }, registry);
        let before: ModelRequest = { system: "S.", messages: [{ role: "user", at: 0, content: "Go." }], tools: [] };
        for (let count = 0; count <= found.length; count++) {
          const state: JsonValue = found.slice(0, count).map((name) => `world::${name}`);
          const request: ModelRequest = {
            ...before,
            tools: deferred.selectOffered(tools, state),
            messages: [...before.messages, { role: "user", at: count, content: `${count}` }],
          };
          if (count > 0 && (before.tools?.length ?? 0) > 0)
            goesOn(format.encodeRequest(before, { model }).body, format.encodeRequest(request, { model }).body);
          before = request;
        }
      }),
      { numRuns: process.env["CI"] === undefined ? 30 : 300 },
    );
  });

  test.each([...TEXT_FORMATS.keys()])("text format %s: the system prompt only grows at its end", async (name) => {
    const asked: ModelRequest[] = [];
    const inner = scriptedModel((request) => (asked.push(request), { text: "Yes." }));
    const model = textToolsModel(inner, { format: name });
    const tools = WORDS.map((word): ModelTool => ({ name: `world::${word}`, description: word, inputSchema: { type: "object" } }));
    for (const count of [1, 2, 4]) {
      const events = model.stream({ messages: [{ role: "user", at: 0, content: "Go." }], tools: tools.slice(0, count) });
      await collectReply(events);
    }
    const lists = asked.map(({ system = "" }) => WORDS.map((word) => system.indexOf(word)).filter((at) => at >= 0));
    for (const places of lists) expect(places).toEqual(places.toSorted((one, other) => one - other));
    const [first = "", second = ""] = asked.map(({ system }) => system);
    const last = first.indexOf("mail") + "mail".length;
    expect(second.slice(0, last)).toBe(first.slice(0, last));
  });
});
