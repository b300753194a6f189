/** The path of MCP on the port of the API, in every server of a store. */
export const MCP_PATH = "/mcp";
