/** Our own client and the official ones use the tasks of our own server, in the terms of either era. */
import { expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import type { Question } from "../../src/core/approvals/ask.ts";
import type { Tool } from "../../src/core/tool.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { ERAS, listening, openRuntime } from "./mcp-clients.ts";
import { talk } from "./mcp-talking-tool.ts";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const slow: Tool = {
  name: "greet",
  description: "Greets.",
  effects: pure,
  inputSchema: { type: "object" },
  mode: "background",
  execute: async (_input, { ask }) => {
    const answer = await ask({ message: "Who are you?", schema: NAME });
    return `Hello, ${answer.action === "accept" ? String(answer.content?.["name"]) : answer.action}!`;
  },
};

test.each(ERAS)("issue 19.7 a runtime calls slow tools of another over MCP, %s: their questions reach its own user", async (era) => {
  const { runtime: far } = await openRuntime({ tools: [slow, talk] });
  const { url } = await listening(far, { tasks: { pollIntervalMs: 100 } });
  const asked: string[] = [];
  const ask = async ({
    message,
  }: Question): Promise<{ readonly action: "accept"; readonly content: { readonly name: string; readonly answer: string } }> => {
    asked.push(message);
    return { action: "accept", content: { name: "Ann", answer: "red" } };
  };
  const { runtime } = await openRuntime({ toolsets: [mcpToolset("far", { url, protocol: era })], ask });

  const greeted = await runtime.execute({ name: "far::greet", input: {} });
  expect(greeted).toMatchObject({ status: "ok", content: [{ type: "text", text: "Hello, Ann!" }] });
  const talked = await runtime.execute({ name: "far::talk", input: {} });
  expect(talked).toMatchObject({ status: "ok", content: [{ type: "text", text: 'You said "red".' }] });
  expect(asked).toEqual(["Who are you?", "Which colour?"]);
});

test.each(ERAS)("the questions of two users' tasks on one server reach each its own user, %s", async (era) => {
  const { runtime: far } = await openRuntime({ tools: [talk] });
  const { url } = await listening(far, { tasks: { pollIntervalMs: 100 } });
  const { runtime } = await openRuntime({ toolsets: [mcpToolset("far", { url, protocol: era, trustAnnotations: true })] });
  const colours = ["red", "green"];
  const talked = await Promise.all(
    colours.map((answer) =>
      runtime
        .session()
        .execute({ name: "far::talk", input: {} }, { ask: () => Promise.resolve({ action: "accept", content: { answer } }) }),
    ),
  );
  expect(talked.map(({ content }) => content)).toEqual(colours.map((colour) => [{ type: "text", text: `You said "${colour}".` }]));
});
