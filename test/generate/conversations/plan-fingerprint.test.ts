/** The fingerprint of a plan over many tools that share their definitions. */
import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/core/base/canonical-json.ts";
import { copyJson } from "../../../src/core/base/json.ts";
import type { ModelTool } from "../../../src/core/model.ts";
import { onNextTurn } from "../../../src/core/system/lazy-timer.ts";
import { plainWriter } from "../../../src/generate/conversations/plain-writer.ts";
import { planFingerprint } from "../../../src/generate/conversations/plan-fingerprint.ts";

const SETTINGS = {
  seed: "7",
  format: "neutral",
  maxTools: 32,
  parallelCalls: true,
  weights: false,
  split: 0,
  label: '{"tools":[',
} as const;
const PLAN = { kind: "sampled", count: 3 } as const;

const shared = { type: "object", properties: { b: { $ref: "#/$defs/10" }, a: { type: "string", description: "\ud800 é" } } };
const $defs = { z: shared, 10: { enum: [1.5, -0, 1e21, null] }, 9: true, ["__proto__"]: { type: "string" }, none: undefined };

const TOOLS: readonly ModelTool[] = [
  { name: "shop::a", description: "A", inputSchema: { type: "object", $defs, properties: { thing: { $ref: "#/$defs/z" } } } },
  { name: "shop::b", description: "B", inputSchema: { type: "object" }, outputSchema: { $defs, $ref: "#/$defs/z" } },
  { name: "shop::c", description: "C", inputSchema: {}, outputSchema: true },
  { name: "shop::d", description: "D", inputSchema: { $defs: [shared], toJSON: () => ({ type: "object" }) } },
  { name: "shop::e", description: "E", inputSchema: { $defs: { x: { toJSON: () => true } }, properties: { z: {}, a: {} } } },
] as readonly ModelTool[];

test("F0.25 the fingerprint of a plan is the hash of the canonical JSON of all its parts, however its tools share definitions", async () => {
  const tools = TOOLS.map(({ name, description, inputSchema, outputSchema }) => ({
    name,
    description,
    inputSchema,
    outputSchema: outputSchema ?? null,
  }));
  const plan = { kind: "sampled", calls: 5, sample: "chain", writer: plainWriter().name, onProblems: "mark" };
  const text = canonicalJson(copyJson({ version: 10, ...SETTINGS, tools, plan }).value);

  const fingerprint = await planFingerprint({ ...SETTINGS, plan: PLAN, tools: TOOLS, recorded: undefined });

  expect(fingerprint).toBe(hash("sha256", text).slice(0, 16));
});

test("F0.25 the event loop turns while the tools of a plan are hashed", async () => {
  const tools = Array.from({ length: 300 }, (_, at): ModelTool => ({
    name: `shop::t${at}`,
    description: "",
    inputSchema: { type: "object" },
  }));
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) onNextTurn(count);
  };
  onNextTurn(count);

  await planFingerprint({ ...SETTINGS, plan: PLAN, tools, recorded: undefined });
  isDone = true;

  expect(turns).toBeGreaterThan(4);
});
