/** A question of a server reaches the user of a client through a second server. */
import { expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import type { Tool } from "../../src/core/tool.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { ERAS, listening, openRuntime } from "./mcp-clients.ts";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const asks = (message: string): Tool => ({
  name: "asks",
  description: "Asks.",
  effects: pure,
  inputSchema: { type: "object" },
  execute: async (_input, { ask }) => (await ask({ message, schema: NAME })).action,
});

const CASES = ERAS.flatMap((era) => [
  [era, "Never type your password here. What is your name?", "accept", 2] as const,
  [era, "What is your password?", "decline", 0] as const,
]);

test.each(CASES)("D11 through two servers (%s), %j is answered with %s, under %i warnings", async (era, message, action, warnings) => {
  const { runtime: last } = await openRuntime({ tools: [asks(message)] });
  const { url } = await listening(last);
  const { runtime: middle } = await openRuntime({ toolsets: [mcpToolset("b", { url, protocol: era, trustAnnotations: true })] });
  const { url: middleUrl } = await listening(middle);
  const asked: string[] = [];
  const { runtime: first } = await openRuntime({
    toolsets: [mcpToolset("m", { url: middleUrl, protocol: era, trustAnnotations: true })],
    ask: ({ message: shown }) => {
      asked.push(shown);
      return { action: "accept", content: { name: "Ann" } };
    },
  });
  const { output, content } = await first.execute({ name: "m::b__asks", input: {} });
  expect(content ?? output).toEqual([{ type: "text", text: action }]);
  expect(asked.join().match(/Do not type a password, code or key here/gu) ?? []).toHaveLength(warnings);
});
