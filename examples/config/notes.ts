/** The tool of the guide "Serve over HTTP". */
import { defineTool } from "haft";

const notes: string[] = [];

export const add = defineTool({
  name: "add",
  description: "Adds a note.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effects: { writes: ["notes"] },
  execute: ({ text }) => ({ notes: notes.push(text) }),
});
