/** Routes of upstream MCP servers that users log in to. */
import { answer, array, id, oneOf, text, time } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";

const login = {
  state: oneOf("Whether calls have a token of yours.", ["logged-in", "login-wanted"]),
  until: time("When the token ends. Absent if it is renewed automatically."),
} as const;

export const upstreamRoutes = {
  listUpstreams: {
    method: "GET",
    path: "/v1/upstreams",
    scope: "read",
    summary: "List the MCP servers behind this one that users log in to, and whether you are.",
    description: "Only servers with a tool that you may use are listed.",
    answer: answer({ upstreams: array(answer({ name: text("The toolset."), ...login }, ["name", "state"])) }),
    example: {},
  },
  logInToUpstream: {
    method: "POST",
    path: "/v1/upstreams/{upstreamName}/login",
    scope: "execute",
    summary: "Begin a login to an MCP server behind this one.",
    description: "You open the address in a browser, and log in within ten minutes. A login that has already begun is returned again.",
    params: { upstreamName: id("The toolset.") },
    answer: answer({ ...login, address: text("The page to open. Absent if you are logged in.") }, ["state"]),
    example: { params: { upstreamName: "tickets" } },
  },
  logOutOfUpstream: {
    method: "DELETE",
    path: "/v1/upstreams/{upstreamName}/login",
    scope: "execute",
    summary: "Log out of an MCP server behind this one.",
    description: "Revokes your token if the authorization server can, and forgets it. It is not an error if you were not logged in.",
    params: { upstreamName: id("The toolset.") },
    status: 204,
    example: { params: { upstreamName: "tickets" } },
  },
} as const satisfies Routes;
