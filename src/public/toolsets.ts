/** Toolsets that an agent starts with: `haft/toolsets`. @packageDocumentation */
export { askToolset } from "../toolsets/ask.ts";
export { memoryToolset } from "../toolsets/memory.ts";
export type { MemoryOptions } from "../toolsets/memory.ts";
export type { Embed } from "../toolsets/memory/rank-memories.ts";
export { notebookToolset } from "../toolsets/notebook.ts";
export type { NotebookOptions } from "../toolsets/notebook.ts";
export { scratchpadOf, scratchpadToolset } from "../toolsets/scratchpad.ts";
export type { Scratchpad } from "../toolsets/scratchpad.ts";
export { skillsToolset } from "../toolsets/skills.ts";
export type { SkillsOptions } from "../toolsets/skills.ts";
export { webToolset } from "../toolsets/web.ts";
export type { SearchProviderOptions, WebOptions } from "../toolsets/web/web-options.ts";
export type { SearchProviderName, WebResult, WebSearch } from "../toolsets/web/search-provider.ts";
export type { PathGuard } from "../toolsets/files/workspace-path.ts";
