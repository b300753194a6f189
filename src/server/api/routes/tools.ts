/** Routes of the tools. */
import { answer, anyJson, array, flag, object, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";
import { page } from "./paging.ts";

const toolName = text("A qualified name, or a bare one that only one tool has.", { minLength: 1, maxLength: 512 });

export const toolRoutes = {
  listTools: {
    method: "GET",
    path: "/v1/tools",
    scope: "read",
    summary: "List or search the tools on offer.",
    query: {
      q: text("Words looked for in name, title, tags and description; the best fit comes first.", { minLength: 1, maxLength: 1_000 }),
      toolset: text("Only tools of this toolset.", { minLength: 1, maxLength: 256 }),
      ...page,
    },
    answer: answer({ tools: array(ref("Tool")), next: text("The cursor of the next page.") }, ["tools"]),
    example: { query: { q: "note", limit: "10" } },
  },
  getTool: {
    method: "GET",
    path: "/v1/tools/{toolName}",
    scope: "read",
    summary: "Get one tool.",
    params: { toolName },
    answer: ref("Tool"),
    example: { params: { toolName: "notes::add" } },
  },
  checkTool: {
    method: "POST",
    path: "/v1/tools/{toolName}/check",
    scope: "read",
    summary: "Check an input as a call would, and run nothing.",
    params: { toolName },
    body: object({ input: anyJson }),
    answer: answer(
      {
        valid: flag("Whether a call with this input would run."),
        errors: array(text("One problem with its $ path.")),
        warnings: array(text("One repair that would be made.")),
        input: { description: "The input as a call would run it." },
      },
      ["valid", "errors", "warnings"],
    ),
    example: { params: { toolName: "notes::add" }, body: { input: { text: "Buy milk" } } },
  },
} as const satisfies Routes;
