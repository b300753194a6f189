import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { ToolError } from "../../../src/core/error.ts";
import { TRAJECTORY_FORMATS } from "../../../src/generate/conversations/trajectory-formats.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { generated } from "./generated.ts";
import { plainAnswer, shop } from "./shop.ts";

const FORMATS = ["openai", "huggingface"] as const;
const TEA = { name: "shop::create_order", input: { article: "tea", count: 1 } };
const TOO_MANY = { name: "shop::create_order", input: { article: "tea", count: 99 } };
const UNKNOWN = { name: "shop::order_tea", input: {} };
const CLOSED = { name: "shop::fail", input: {} };
const GONE = { name: "shop::get_order", input: { order_id: "gone" } };

/** An order that is not there, besides what the shop answers. */
const runtime = () =>
  shop((request, context) => {
    if (request.input["order_id"] === "gone") throw new ToolError("not_found", "There is no such order.");
    return plainAnswer(request, context);
  });

const user = { role: "user", content: "Tea, please." } as const;
const assistant = (...calls: readonly (typeof TEA | typeof UNKNOWN | typeof GONE)[]) => ({ role: "assistant", calls }) as const;
const TEMPLATE = {
  messages: [user, assistant(TOO_MANY), assistant(UNKNOWN), assistant(TEA, TOO_MANY), assistant(CLOSED), assistant(GONE), assistant(TEA)],
};
const PLAN = { kind: "scripted", templates: [TEMPLATE] } as const;

interface Message {
  readonly role: string;
  readonly weight?: number;
  readonly tool_calls?: readonly unknown[];
}

const messagesOf = (line = ""): readonly Message[] => JSON.parse(line).messages;
const weights = (line?: string) => messagesOf(line).flatMap(({ role, weight }) => (role === "assistant" ? [weight] : []));

describe("weights", () => {
  test.for(FORMATS)(
    "%s: messages with a call rejected for its name or input have weight 0, all other assistant messages 1",
    async (format) => {
      const { lines } = await generated({ plan: PLAN, format, weights: true, runtime: runtime() });
      expect(weights(lines[0])).toEqual([0, 0, 0, 1, 1, 1, 1]);
      expect(messagesOf(lines[0]).filter(({ role, weight }) => role !== "assistant" && weight !== undefined)).toEqual([]);
      const one = await generated({ plan: PLAN, format, weights: true, parallelCalls: false, runtime: runtime() });
      expect(weights(one.lines[0])).toEqual([0, 0, 1, 0, 1, 1, 1, 1]);
    },
  );

  test.for<readonly [what: string, input: unknown, weight: number]>([
    ["a number as text", { article: "tea", count: "1" }, 0],
    ["the whole input as text", '{"article": "tea", "count": 1}', 0],
    ["a property in other letters", { Article: "tea", count: 1 }, 0],
    ["nothing wrong", { article: "tea", count: 1 }, 1],
  ])("a call that was repaired, with %s, is answered, and its weight depends on the original input", async ([, input, weight]) => {
    const calls = [{ name: TEA.name, input: input as JsonObject }];
    const plan = { kind: "scripted", templates: [{ messages: [user, { role: "assistant", calls }] }] } as const;
    const { lines, summary } = await generated({ plan, format: "openai", weights: true, runtime: runtime() });
    expect([summary.statuses, weights(lines[0])]).toEqual([{ ok: 1 }, [weight, 1]]);
  });

  test("a filled-in default, a denied approval and a second call of a turn do not count as mistakes", async () => {
    const city = {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", default: 3 } },
      required: ["city"],
    } as const;
    const tools = [
      { name: "weather", description: "The weather.", inputSchema: city, execute: () => "sunny" },
      { name: "book", description: "Book it.", inputSchema: city, execute: () => "booked" },
      { name: "pay", description: "Pay it.", inputSchema: city, oncePerTurn: true, execute: () => "paid" },
    ];
    const own = createRuntime({ toolsets: [{ name: "trip", tools }], approval: { always: ["trip::book"], approve: () => "deny" } });
    const call = (name: string) => ({ name: `trip::${name}`, input: { city: "Rome" } });
    const calls = [["weather"], ["book"], ["pay", "pay"]].map((names) => ({ role: "assistant", calls: names.map(call) }) as const);
    const plan = { kind: "scripted", templates: [{ messages: [user, ...calls] }] } as const;
    const { lines, summary } = await generated({ plan, format: "openai", weights: true, runtime: own });
    expect(summary.errors).toEqual({ approval_denied: 1, limit_exceeded: 1 });
    expect(weights(lines[0])).toEqual([1, 1, 1, 1]);
  });

  test.for(FORMATS)("%s: weights are the only difference in a line, and without the option there are none", async (format) => {
    const plain = await generated({ plan: PLAN, format, runtime: runtime() });
    const weighted = await generated({ plan: PLAN, format, weights: true, runtime: runtime() });
    expect(messagesOf(weighted.lines[0]).map(({ weight: _weight, ...rest }) => rest)).toEqual(messagesOf(plain.lines[0]));
    expect(plain.lines[0]).not.toContain('"weight"');
  });

  test("a model's mistakes have weight 0, and its messages after them weight 1", async () => {
    const model = scriptedModel([{ calls: [UNKNOWN] }, { calls: [TOO_MANY] }, { calls: [TEA] }, { text: "Ordered." }]);
    const plan = { kind: "played", templates: [{ messages: [user] }], model } as const;
    const { lines } = await generated({ plan, format: "openai", weights: true });
    expect(weights(lines[0])).toEqual([0, 0, 1, 1]);
  });

  test("formats without weights reject the option before anything is generated", async () => {
    for (const format of TRAJECTORY_FORMATS.filter((each) => each !== "openai" && each !== "huggingface"))
      await expect(generated({ plan: PLAN, format, weights: true })).rejects.toMatchObject({
        code: "invalid_argument",
        message: `Messages of the format "${format}" have no weights.`,
        hint: "The formats with weights are openai and huggingface.",
      });
  });

  test("a file can only be continued with the weights setting it began with", async () => {
    const out = `${temporaryFolder()}/train.jsonl`;
    await generated({ plan: PLAN, format: "openai", weights: true, out, runtime: runtime() });
    await expect(generated({ plan: PLAN, format: "openai", out, runtime: runtime() })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});
