/** What clients of a fleet ask for: calls of one tool, and of tools that make calls. */
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import { resultText } from "../../../src/core/result.ts";

export interface Order {
  readonly key: string;
  readonly sessionId: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  readonly background: boolean;
}

export const SESSIONS = ["one", "two", "three", "four"] as const;
const NAMES = ["bank::pay", "bank::pay", "bank::close", "bank::look", "counters::bump"];
const COMPOSITE = ["composite::chain", "composite::delegate", "program::run_program"];
const CODE = `await tools.bank.pay({ tag: input.tag, ms: input.ms });
await tools.bank.look({ tag: input.tag, ms: input.ms });
await tools.bank.close({ tag: input.closes, ms: input.ms });
return "done";`;

/** @param number from 1 on */
export function newOrder(number: number, { random, clients }: { readonly random: () => number; readonly clients: number }): Order {
  const background = random() < 0.3 || number <= clients; // the first ones create their sessions at the same moment
  const isComposite = random() < (background ? 0.6 : 0.1);
  const names = isComposite ? COMPOSITE : NAMES;
  const calls = Array.from({ length: 1 + Math.floor(random() * 2) }, (_, index) => {
    const name = names[Math.floor(random() * names.length)] ?? "";
    const tag = `order ${number} ${index}`;
    const ms = Math.floor(random() * (background ? 1_500 : 60));
    if (!isComposite) return { name, input: { tag, ms } };
    const input = { tag, closes: `${tag} closed`, ms };
    return { name, input: name === "program::run_program" ? { code: CODE, input } : input };
  });
  return { key: `order-${number}`, sessionId: SESSIONS[number % SESSIONS.length] ?? "", calls, background };
}

/** The payments and the changes of the counter that a result says were made. */
export function claimsOf(
  { name, input }: Order["calls"][number],
  result: ToolResult,
): { readonly paid: readonly string[]; readonly bumped: readonly string[] } {
  const { tag = "", closes = "" } = name === "program::run_program" ? Object(input["input"]) : input;
  if (result.status !== "ok" || name === "bank::look") return { paid: [], bumped: [] };
  if (name === "counters::bump") return { paid: [], bumped: [tag] };
  if (!COMPOSITE.includes(name)) return { paid: [tag], bumped: [] };
  return { paid: name !== "composite::delegate" || resultText(result) === "done" ? [tag, closes] : [], bumped: [] };
}
