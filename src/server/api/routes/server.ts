/** Routes of the server itself. */
import { answer, array, flag, integer, oneOf, record, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";

export const serverRoutes = {
  getInfo: {
    method: "GET",
    path: "/v1/info",
    scope: "read",
    summary: "Get the server's version and limits, and who you are.",
    answer: answer(
      {
        name: text("The server's name."),
        version: text("The version of Haft."),
        api: text("The version of this API."),
        tools: integer("How many tools are on offer.", 0, Number.MAX_SAFE_INTEGER),
        store: text("The kind of store. Absent if sessions end with the process."),
        limits: record("The limits of a request, and of what a principal may have in progress."),
        principal: answer({ id: text("Its id."), name: text("Its name."), scopes: array(text("What it may do.")) }),
      },
      ["name", "version", "api", "tools", "limits", "principal"],
    ),
    example: {},
  },
  getHealth: {
    method: "GET",
    path: "/healthz",
    scope: "none",
    summary: "Whether the process answers.",
    answer: answer({ status: oneOf("The process answers.", ["ok"]) }),
    example: {},
  },
  getReadiness: {
    method: "GET",
    path: "/readyz",
    scope: "none",
    summary: "Whether the server takes calls: the store can be written, the queue has room and it is not stopping. 503 otherwise.",
    answer: answer({
      ready: flag("Whether it takes calls."),
      queue: answer({
        length: integer("Background jobs that wait to be started.", 0, Number.MAX_SAFE_INTEGER),
        limit: integer("How many may wait.", 0, Number.MAX_SAFE_INTEGER),
      }),
    }),
    example: {},
  },
  getFleet: {
    method: "GET",
    path: "/v1/fleet",
    scope: "read",
    summary: "List the processes that use the store, with the sessions that each has open, and how they differ.",
    description: "Without a store there is only this process, and it is not listed.",
    answer: answer({
      processes: array(ref("Process")),
      differences: array(text("Versions and definitions in which living processes differ, one line each.")),
    }),
    example: {},
  },
  getMetrics: {
    method: "GET",
    path: "/metrics",
    scope: "read",
    summary: "Get counters in the text format of Prometheus.",
    answerType: "text/plain; version=0.0.4",
    example: {},
  },
  getOpenApi: {
    method: "GET",
    path: "/openapi.json",
    scope: "none",
    summary: "Get this document.",
    answer: record("OpenAPI 3.1."),
    example: {},
  },
} as const satisfies Routes;
