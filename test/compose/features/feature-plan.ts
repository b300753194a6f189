/** Random conversations whose calls combine the features of the runtime, inside each other. */
import fc from "fast-check";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ToolCall } from "../../../src/core/call.ts";

export const LEAVES = [
  "get_turn",
  "get_session",
  "get_runtime",
  "get_stored",
  "sum",
  "look",
  "big",
  "put",
  "text",
  "pay",
  "add",
  "note",
  "slow",
  "bg",
  "drop",
  "wipe",
  "once",
  "end",
  "sub",
  "sub_drop",
  "denied",
  "chain",
  "ask",
  "one",
  "late",
  "flaky",
  "art",
  "talk",
] as const;
export const HOWS = ["nest", "whole", "plain", "kept", "within", "sequence", "agent", "steps", "other", "program"] as const;

export interface Leaf {
  readonly leaf: (typeof LEAVES)[number];
  /** A hook refuses the key v, and calls with c are made with a. */
  readonly key: "a" | "b" | "c" | "v";
  readonly n: number;
}

export interface Branch {
  readonly how: (typeof HOWS)[number];
  readonly isSerial: boolean;
  readonly calls: readonly Node[];
}

export type Node = Leaf | Branch;

export const STEPS = [
  "execute",
  "execute",
  "execute",
  "in background",
  "alone",
  "throw",
  "abort",
  "simulate",
  "simulate for real",
  "fork and commit",
  "fork and discard",
  "round",
  "void round",
  "resume",
  "stub",
  "close",
  "take over",
  "changed",
  "cancel one",
  "at once",
  "fork meanwhile",
  "simulate meanwhile",
  "commit simulation",
] as const;

export interface Step {
  readonly kind: (typeof STEPS)[number];
  readonly calls: readonly Node[];
  readonly ms: number;
}

export interface Scenario {
  /** Whether calls and results do not wait for the store. */
  readonly isAsync: boolean;
  readonly steps: readonly Step[];
  readonly answers: readonly ("allow-once" | "allow-input" | "allow-always" | "deny")[];
}

const leaf: fc.Arbitrary<Leaf> = fc.record({
  leaf: fc.constantFrom(...LEAVES),
  key: fc.constantFrom<Leaf["key"][]>("a", "a", "a", "b", "b", "c", "v"),
  n: fc.nat(1),
});

function nodes(hows: readonly Branch["how"][]): fc.Arbitrary<Node> {
  return fc.letrec<{ node: Node; branch: Branch }>((tie) => ({
    branch: fc.record({
      how: fc.constantFrom(...hows),
      isSerial: fc.boolean(),
      calls: fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
    }),
    node: fc.oneof({ maxDepth: 4, depthSize: "small" }, { arbitrary: leaf, weight: 3 }, { arbitrary: tie("branch"), weight: 2 }),
  })).node;
}

export function scenarioArbitrary(hows: readonly Branch["how"][]): fc.Arbitrary<Scenario> {
  const step = fc.record({
    kind: fc.constantFrom(...STEPS),
    calls: fc.array(nodes(hows), { minLength: 1, maxLength: 4 }),
    ms: fc.constantFrom(0, 5, 15, 30, 60),
  });
  return fc.record({
    isAsync: fc.nat(3).map((one) => one === 3),
    steps: fc.array(step, { minLength: 1, maxLength: 5 }),
    answers: fc.array(fc.constantFrom<Scenario["answers"][number][]>("allow-once", "allow-input", "allow-always", "deny"), {
      minLength: 1,
      maxLength: 4,
    }),
  });
}

/** Gives calls their tags, each used once. */
export class Tags {
  #last = 0;

  next(): string {
    return `t${++this.#last}`;
  }
}

const UNTAGGED = new Set<Leaf["leaf"]>([
  "get_turn",
  "get_session",
  "get_runtime",
  "get_stored",
  "sum",
  "look",
  "big",
  "drop",
  "wipe",
  "once",
  "sub_drop",
  "end",
  "art",
]);

export function callOf(node: Node, tags: Tags): ToolCall {
  if ("leaf" in node) return leafCall(node, tags);
  const calls = node.calls.map((one) => callOf(one, tags));
  if (node.how === "program") return { name: "program::run_program", input: { code: codeOf(calls, node.isSerial) } };
  const input = { task: JSON.stringify({ calls, serial: node.isSerial }), ...(node.how === "kept" ? { key: "a" } : {}) };
  return { name: node.how === "agent" ? "c::agent" : `c::${node.how}`, input };
}

function leafCall({ leaf, key, n }: Leaf, tags: Tags): ToolCall {
  const tag = UNTAGGED.has(leaf) ? {} : { tag: tags.next() };
  const doc = (more: JsonObject): ToolCall => ({ name: "o::doc", input: { key, ...more } });
  if (leaf === "look") return doc({ look: true });
  if (leaf === "text") return doc({ ...tag, text: "x" });
  if (leaf === "drop") return doc({ drop: n });
  if (leaf === "denied") return { name: "x::denied", input: { key, ...tag } };
  if (leaf === "sub" || leaf === "sub_drop") return { name: `s::${leaf}`, input: { key, ...tag } };
  if (leaf === "chain") return { name: "c::chain", input: { key, ...tag } };
  return { name: `w::${leaf}`, input: { key, ...tag, ...(leaf === "wipe" || leaf === "once" ? { n } : {}) } };
}

function codeOf(calls: readonly ToolCall[], isSerial: boolean): string {
  const made = calls.map(({ name, input }) => {
    const [toolset, tool] = name.split("::");
    return `tools.${toolset}.${tool}(${JSON.stringify(input)}).catch(() => null)`;
  });
  return isSerial ? made.map((one) => `await ${one};`).join("\n") : `await Promise.all([${made.join(",\n")}]);`;
}
