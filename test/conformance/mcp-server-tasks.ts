/** The tools that the conformance suite's scenarios about tasks call, under the names that it prescribes. */
import { setTimeout as delay } from "node:timers/promises";
import { ToolOutput } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { pure } from "../../src/core/resources/effects.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { mcpClientOf } from "../../src/server/mcp.ts";

const CONFIRM = { type: "object", properties: { confirm: { type: "boolean" } }, required: ["confirm"] };
const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

function text(value: string): ToolOutput {
  return new ToolOutput({ content: [{ type: "text", text: value }] });
}

function task(
  name: string,
  description: string,
  execute: (input: Readonly<Record<string, unknown>>, context: ToolContext) => unknown,
): Tool {
  return { name, description, effects: pure, mode: "background", timeoutMs: 120_000, inputSchema: { type: "object" }, execute };
}

/** `greet` alone is answered at once. */
export const taskTools: readonly Tool[] = [
  defineTool({
    name: "greet",
    description: "Greets.",
    effects: pure,
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    execute: ({ name }) => text(`Hello, ${name}!`),
  }),
  task("slow_compute", "Takes as long as it is told.", async ({ seconds }, { signal }) => {
    await delay(Number(seconds) * 1_000, undefined, { signal });
    return text(`Computed for ${String(seconds)} s.`);
  }),
  {
    ...task("failing_job", "Fails after a while.", async (_input, { signal }) => {
      await delay(1_000, undefined, { signal });
      throw new Error("It failed, as it always does.");
    }),
    mode: "stateful",
  },
  task("protocol_error_job", "Needs the client's folders, which no client of the suite has.", async (_input, context) => {
    const roots = await mcpClientOf(context)?.listRoots();
    return text(JSON.stringify(roots));
  }),
  task("confirm_delete", "Deletes a file if it may.", async ({ filename }, { ask }) => {
    const answer = await ask({ message: `Delete ${String(filename)}?`, schema: CONFIRM });
    return text(`${String(filename)}: ${answer.action}`);
  }),
  task("multi_input", "Asks two things at once.", async (_input, { ask }) => {
    const answers = await Promise.all(["First name?", "Second name?"].map((message) => ask({ message, schema: NAME })));
    return text(answers.map(({ action }) => action).join(", "));
  }),
  {
    ...task("test_tool_with_task", "Asks for a name, then takes its time.", async (_input, context) => {
      const answer = await mcpClientOf(context)?.elicit({ message: "What is your name?", schema: NAME }, { key: "user_name" });
      await delay(1_500, undefined, { signal: context.signal });
      return text(`Hello, ${answer?.action === "accept" ? String(answer.content?.["name"]) : "nobody"}!`);
    }),
    mode: "direct",
  },
];
