/** Errors for names that mean no tool, or more than one. They say what was requested, and what would work. */
import { ToolError } from "../core/error.ts";
import { truncateText } from "../core/base/truncate-text.ts";

const MAX_SHOWN_NAME = 120;
const MAX_LISTED = 10;

/** The tools that a caller may have meant. */
export interface Alternatives {
  /** The namespace of the name, if there is no such toolset. */
  readonly unknownToolset: string | undefined;
  /** Similar names, likeliest first. */
  readonly near: readonly string[];
  /** All names, if there are few. */
  readonly few: readonly string[] | undefined;
  /** Why toolsets whose tools are unknown cannot be used. */
  readonly blocked?: readonly ToolError[];
}

/** `not_found` for a name that no tool has. */
export function missingToolError(name: string, { unknownToolset, near, few, blocked = [] }: Alternatives): ToolError {
  const what =
    unknownToolset === undefined ? `No tool ${quote(name)}.` : `No tool ${quote(name)}: there is no toolset ${quote(unknownToolset)}.`;
  if (near.length > 0) return new ToolError("not_found", `${what} Did you mean ${formatAlternatives(near)}?`, { toolNames: near });
  const causes = blocked.slice(0, MAX_LISTED).map(({ message }) => message);
  const operator = causes.length === 0 ? {} : { operatorHint: `Tools may be missing. ${causes.join("; ")}` };
  if (few === undefined) return new ToolError("not_found", `${what} No tool has a name like it.`, operator);
  if (few.length === 0) return new ToolError("not_found", `${what} There are no tools.`, operator);
  return new ToolError("not_found", what, { hint: `Tools: ${[...few].sort().map(quote).join(", ")}.`, toolNames: few, ...operator });
}

/** `not_found` for a name that no toolset has. */
export function missingToolsetError(name: string, near: readonly string[]): ToolError {
  return new ToolError("not_found", `No toolset ${quote(name)}.${near.length === 0 ? "" : ` Did you mean ${formatAlternatives(near)}?`}`);
}

/** `ambiguous` for a bare name that several toolsets have. @param candidates qualified names */
export function ambiguousToolError(name: string, candidates: readonly string[]): ToolError {
  const sorted = [...candidates].sort();
  return new ToolError("ambiguous", `${quote(name)} is a tool of ${sorted.length} toolsets.`, {
    hint: `Call ${formatAlternatives(sorted)}.`,
    details: sorted,
    toolNames: sorted,
  });
}

/** `permission_denied` for a tool that exists but is hidden. */
export function hiddenToolError(name: string, operatorHint?: string): ToolError {
  return new ToolError("permission_denied", `The tool ${quote(name)} is not offered here and was not run.`, {
    hint: "Use one of the tools that are offered, or say that this one would be needed.",
    ...(operatorHint === undefined ? {} : { operatorHint }),
  });
}

function formatAlternatives(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).map(quote);
  const rest = names.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} or one of ${rest} more`;
  const last = shown.pop() ?? "";
  return shown.length === 0 ? last : `${shown.join(", ")} or ${last}`;
}

function quote(name: string): string {
  return JSON.stringify(truncateText(name, MAX_SHOWN_NAME));
}
