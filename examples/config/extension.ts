/** Registers an engine and a source by name, for every-key.toml. */
import { defineTool, pure } from "haft";
import type { Extensions } from "haft/config";

export const haftEngines: Extensions["engines"] = {
  echo: () => ({ kind: "echo", effectFree: true, call: ({ input }) => input }),
};

export const haftSources: Extensions["sources"] = {
  greetings: ({ words }, { name }) => ({
    name,
    load: async () => [{ name, tools: (Array.isArray(words) ? words : []).map((word) => greeting(String(word))) }],
  }),
};

const greeting = (word: string) => defineTool({ name: word, description: `Says ${word}.`, effects: pure, execute: () => word });
