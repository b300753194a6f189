import { readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inCI } from "../../ci.ts";
import type { ConversationPlan } from "../../../src/generate/conversations/conversation-plan.ts";
import { ConversationKeys } from "../../../src/generate/conversations/conversation-keys.ts";
import { generateConversations } from "../../../src/generate/conversations/generate-conversations.ts";
import { TRAJECTORY_FORMATS } from "../../../src/generate/conversations/trajectory-formats.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { generated } from "./generated.ts";

const KEYS = inCI ? 100_000 : 10_000;

const SIZES = Array.from({ length: 8 }, (_, index) => `size ${index + 1}`);
const writer = { name: "terse", request: () => "Pack it.", answer: () => "Packed." } as const;
const PLAN = { kind: "sampled", count: 30, calls: 2, writer } as const;

/** So few values that conversations of them are often the same. */
function smallShop(sizes: readonly string[] = SIZES): Runtime {
  const inputSchema = { type: "object", properties: { size: { enum: sizes } }, required: ["size"] } as const;
  const engine: Engine = { kind: "shop", origin: "simulated", effectFree: true, call: () => "ok" };
  return createRuntime({
    toolsets: [{ name: "shop", tools: [{ name: "pack", description: "Pack a box.", inputSchema }] }],
    answers: { engines: { example: engine }, rules: [{ tools: "*", from: "example" }] },
  });
}

/** The messages of each line, for comparing. */
function messagesOf(lines: readonly string[]): readonly string[] {
  return lines.map((line) => {
    const { system, messages, conversations } = JSON.parse(line);
    return JSON.stringify([system, messages ?? conversations]);
  });
}

describe("issue 16.4 no two conversations of a file are equal", () => {
  test.for(TRAJECTORY_FORMATS)("%s: duplicates are generated again, with the same file at any concurrency", async (format) => {
    const alone = await generated({ plan: PLAN, format, runtime: smallShop(), concurrency: 1 });
    const together = await generated({ plan: PLAN, format, runtime: smallShop(), concurrency: 16 });
    expect(new Set(messagesOf(alone.lines)).size).toBe(30);
    expect(alone.summary.remade).toBeGreaterThan(0);
    expect(alone.summary.checks.duplicates).toBe(0);
    expect(together.text).toBe(alone.text);
    expect(together.summary.remade).toBe(alone.summary.remade);
  });

  test.for(TRAJECTORY_FORMATS)("%s: a file cut off anywhere is completed to the same file", async (format) => {
    const path = join(temporaryFolder(), "train.jsonl");
    const options = { plan: PLAN, format, out: path } as const;
    await generateConversations({ ...options, runtime: smallShop() });
    const whole = readFileSync(path);
    for (const share of [0.2, 0.5, 0.8, 0.97]) {
      truncateSync(path, Math.floor(whole.length * share));
      await generateConversations({ ...options, runtime: smallShop() });
      expect(readFileSync(path).equals(whole)).toBe(true);
    }
  });

  test("a duplicate without alternative is marked, so that no index is missing", async () => {
    const { lines, summary } = await generated({ plan: { ...PLAN, count: 6, calls: 1 }, runtime: smallShop(["one", "two"]) });
    const marked = lines.map((line) => JSON.parse(line)).filter(({ problems }) => problems !== undefined);
    const distinct = new Set(messagesOf(lines)).size;
    expect(lines.map((line) => JSON.parse(line).index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(distinct).toBeLessThan(6);
    expect(marked.length).toBe(6 - distinct);
    for (const { problems } of marked) expect(problems).toEqual(["1 duplicate"]);
    expect(summary.checks.duplicates).toBe(6 - distinct);
  });

  test("a played conversation is repeated only with onProblems: remake, and not endlessly", async () => {
    const asked = async (plan: Pick<ConversationPlan, "onProblems">): Promise<readonly [requests: number, duplicates: number]> => {
      let requests = 0;
      const model = scriptedModel(() => (requests++, { text: "Good day." }));
      const templates = [{ messages: [{ role: "user", content: "Hello." }] }] as const;
      const { summary } = await generated({ plan: { kind: "played", templates, model, count: 3, ...plan } });
      return [requests, summary.checks.duplicates];
    };
    expect(await asked({})).toEqual([3, 2]);
    expect(await asked({ onProblems: "remake" })).toEqual([5, 2]);
  });

  test("failed conversations are not compared", async () => {
    const model = scriptedModel(() => {
      throw new Error("away");
    });
    const plan = { kind: "played", templates: [{ messages: [{ role: "user", content: "Hello." }] }], model, count: 3 } as const;
    const { summary } = await generated({ plan });
    expect(summary).toMatchObject({ written: 3, failed: 3, checks: { duplicates: 0 } });
  });

  test(`${KEYS} keys are distinguished`, () => {
    const keys = new ConversationKeys();
    const added = (): number => Array.from({ length: KEYS }, (_, index) => keys.add({ messages: [index] })).filter(Boolean).length;
    expect([added(), added()]).toEqual([KEYS, 0]);
  });
});
