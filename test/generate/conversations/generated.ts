/** Conversations of the shop, with all that is written of them. */
import { generateConversations, type GenerateOptions } from "../../../src/generate/conversations/generate-conversations.ts";
import { shop, unevenAnswer } from "./shop.ts";

export const SAMPLED = { kind: "sampled", count: 30, calls: 4 } as const;

/** Everything that is written, and what it came to. */
export async function generated(options: Omit<GenerateOptions, "runtime" | "out"> & Partial<GenerateOptions>) {
  const runtime = options.runtime ?? shop(unevenAnswer);
  let text = "";
  const summary = await generateConversations({ runtime, out: { write: async (line) => void (text += line) }, ...options });
  await runtime.close();
  return { text, summary, lines: text.split("\n").filter((line) => line !== "") };
}
