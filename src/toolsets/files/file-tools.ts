/** The names of all tools of `filesToolset`. */
export const FILE_TOOLS = ["read", "list", "glob", "grep", "json_read", "write", "edit", "multi_edit", "json_write"] as const;
