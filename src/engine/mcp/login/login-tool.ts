/** The one tool of a server whose tools are not known before a user has logged in. */
import type { Tool } from "../../../core/tool.ts";

export const LOGIN_TOOL: Tool = {
  name: "login",
  description: "Logs the user in to this server. Its tools are listed afterwards.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  effects: { reads: [], writes: [], external: true },
};
