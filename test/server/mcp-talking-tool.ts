import { pure } from "../../src/core/resources/effects.ts";
import type { Tool } from "../../src/core/tool.ts";

/** A tool that is told a colour while it runs, and repeats it. */
export const talk: Tool = {
  name: "talk",
  description: "Talks.",
  effects: pure,
  inputSchema: { type: "object" },
  mode: "stateful",
  async *execute() {
    const colour: unknown = yield "Which colour?";
    return `You said ${JSON.stringify(colour)}.`;
  },
};
