/** The names of all tools that a toolset of files may have. */
export const FILE_TOOLS = ["read", "list", "glob", "grep", "json_read", "write", "edit", "multi_edit", "json_write"] as const;
