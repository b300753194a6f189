import { describe, expect, test } from "vitest";
import { createRuntime, type Tool } from "../../../src/index.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { generateConversations } from "../../../src/generate/generate.ts";

const EXPRESSION = { type: "string", description: "The expression to work out, such as '2 + 2'." };

describe("issue 16.3 a result that is one number", () => {
  test.each([
    ["a bare number", { type: "number" }],
    ["a bare text", { type: "string" }],
    ["the result of no schema", undefined],
  ])("%s is the value of the expression, and is reported in varying sentences", async (_, outputSchema) => {
    const { answers, results } = await calculations(outputSchema);
    for (const { expression, result } of results) expect(Number(result)).toBeCloseTo(workedOut(expression), 1);
    expect(new Set(results.map(({ expression }) => expression)).size).toBeGreaterThan(10);
    const most = Math.max(...answers.map((answer) => answers.filter((other) => other === answer).length));
    expect(most).toBeLessThan(answers.length / 4);
  });
});

test("a tool with a null result is reported as done, not as having found nothing", async () => {
  const { answers } = await calculations({ type: "null" });
  expect(new Set(answers)).toEqual(new Set(["Done."]));
});

/** The expressions are made here, of numbers and operations alone. */
function workedOut(expression: string): number {
  const [first = "", ...rest] = expression.split(" ");
  const terms = [Number(first)];
  for (let at = 0; at < rest.length; at += 2) {
    const next = Number(rest[at + 1]);
    if (rest[at] === "*") terms.push((terms.pop() ?? 1) * next);
    else terms.push(rest[at] === "-" ? -next : next);
  }
  return terms.reduce((sum, term) => sum + term, 0);
}

async function calculations(outputSchema: Tool["outputSchema"]) {
  const tool: Tool = {
    name: "calculate",
    description: "Calculate the result of a mathematical expression.",
    inputSchema: { type: "object", properties: { expression: EXPRESSION }, required: ["expression"] },
    ...(outputSchema === undefined ? {} : { outputSchema }),
  };
  const runtime = createRuntime({
    toolsets: [{ name: "sums", tools: [tool] }],
    answers: { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" }] },
  });
  const answers: string[] = [];
  const results: { readonly expression: string; readonly result: unknown }[] = [];
  const write = async (line: string): Promise<void> => {
    const { messages } = JSON.parse(line);
    let expression = "";
    for (const { role, content, calls = [], output } of messages) {
      if (calls.length > 0) expression = calls[0].input.expression;
      else if (role === "assistant") answers.push(content);
      else if (role === "tool") results.push({ expression, result: typeof output === "object" ? output?.result : output });
    }
  };
  await generateConversations({ runtime, plan: { kind: "sampled", count: 60, calls: 1 }, out: { write } });
  await runtime.close();
  return { answers, results };
}

test("L22 an answer lists the things of a list, not the fields of its envelope, as APIs of Stripe's kind return it", async () => {
  const coupon = { type: "object", properties: { id: { type: "string" }, name: { type: "string" } }, required: ["id", "name"] } as const;
  const fields = { object: { const: "list" }, url: { type: "string", format: "uri" }, has_more: { type: "boolean" } } as const;
  const runtime = createRuntime({
    toolsets: [
      {
        name: "shop",
        tools: [
          {
            name: "GetShopsShopCoupons",
            description: "List coupons.",
            inputSchema: { type: "object", properties: { limit: { type: "integer", minimum: 2, maximum: 9 } }, required: ["limit"] },
            outputSchema: {
              type: "object",
              properties: { ...fields, data: { type: "array", items: coupon, minItems: 2 } },
              required: ["data", "object", "url", "has_more"],
            },
          },
        ],
      },
    ],
    answers: { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" }] },
  });
  const answers: string[] = [];
  const out = { write: async (line: string) => void answers.push(JSON.parse(line).messages.at(-1).content) };
  await generateConversations({ runtime, plan: { kind: "sampled", count: 8, calls: 1 }, out });
  await runtime.close();

  expect(answers.filter((answer) => !/\d shop coupons/u.test(answer) || /URL|has/u.test(answer))).toEqual([]);
});
