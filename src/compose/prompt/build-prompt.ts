/** Builds the part of a system prompt that describes the tools: the same bytes for the same tools. */
import { quoteValue } from "../../core/base/wording.ts";
import { DEFAULT_NAMESPACE, splitName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { checkRegistry } from "../../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { compareText } from "../../trust/pinned-tool.ts";
import { visibleTools, type VisibilityRules } from "../../policy/visibility.ts";
import { documentationText, type DocumentationOverrides } from "../../registry/documentation.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { isOfferedBy } from "./model-tools.ts";
import { toolGuidance, type ProgramContribution } from "./tool-guidance.ts";

/** Options of a prompt. */
export interface PromptOptions {
  /** `dynamic`: a name and a line for each tool, and more on demand by `info`; `static`: also the full documentation of each. @default "dynamic" */
  readonly mode?: "dynamic" | "static";
  /** Rules as in `ExecuteOptions.allow`; tools that they exclude are not mentioned. */
  readonly allow?: VisibilityRules | undefined;
  /** The wire format of the conversation; tools that only other providers run are not mentioned. @default all tools are mentioned */
  readonly format?: string;
  /** The text at the beginning of the prompt. */
  readonly introduction?: string;
  /** How calls are written, as a text format describes it. Left out if there are no tools. */
  readonly callFormat?: string;
  /** Hints of the program, sorted among those of tools and toolsets. */
  readonly contributions?: readonly ProgramContribution[];
  /** The texts at the end of the prompt, in this order: the rules of the loop. */
  readonly hints?: readonly string[];
  /** Documentation that replaces that of tools, as in `info`. */
  readonly overrides?: DocumentationOverrides;
  /** Returns the name under which the model is given a tool. @default the qualified name, without `default::` */
  readonly toolName?: (qualifiedName: string) => string;
  /** Called for each contribution that is left out or has an unknown bucket. */
  readonly onWarning?: (message: string) => void;
}

const OPTIONS: OptionNames<PromptOptions> = {
  mode: true,
  allow: true,
  format: "string",
  introduction: "string",
  callFormat: "string",
  contributions: "array",
  hints: "strings",
  overrides: "Map",
  toolName: "function",
  onWarning: "function",
};

/**
 * Builds the text: introduction, `## Tools`, the call format, in static mode `## Tool documentation`, `## Tool guidance`, hints. Empty sections are
 * left out. The text does not depend on the order in which tools were registered, so a provider's prompt cache stays valid.
 *
 * @throws ToolError `invalid_argument` for rules of `allow` that cannot be used, and for an unknown mode
 */
export function buildPrompt(registry: Registry, options: PromptOptions = {}): string {
  checkRegistry(registry, "buildPrompt()");
  checkKnownKeys(options, OPTIONS, "buildPrompt()");
  const { mode = "dynamic", introduction = "", callFormat = "", contributions = [], hints = [], onWarning = () => {} } = options;
  if (mode !== "dynamic" && mode !== "static")
    throw new ToolError("invalid_argument", `The mode of a prompt must be "dynamic" or "static", not ${quoteValue(mode)}.`);
  const tools = visibleTools(registry, options.allow).filter((registered) => isOfferedBy(registered.tool, options.format));
  const name = options.toolName ?? shortName;
  const sections = [
    introduction,
    section("## Tools", toolLines(tools, name)),
    tools.length === 0 ? "" : callFormat,
    mode === "static" ? section("## Tool documentation", formatDocumentation(tools, name, options.overrides), "\n\n") : "",
    section("## Tool guidance", toolGuidance(tools, contributions, onWarning), "\n\n"),
    ...hints,
  ];
  return sections
    .map((text) => text.trim().toWellFormed())
    .filter((text) => text !== "")
    .join("\n\n");
}

function section(heading: string, parts: readonly string[], between = "\n"): string {
  return parts.length === 0 ? "" : `${heading}\n\n${parts.join(between)}`;
}

/** Returns a line for each tool. Overloads have one line each if their descriptions differ. */
function toolLines(tools: readonly RegisteredTool[], name: (qualifiedName: string) => string): readonly string[] {
  return groupOverloads(tools).flatMap(({ qualifiedName, overloads }) => {
    const start = `- \`${name(qualifiedName)}\``;
    const lines = overloads.map(({ tool }) => firstLine(tool.description)).map((line) => (line === "" ? start : `${start}: ${line}`));
    return lines.length === 1 ? lines : [...new Set(lines)].sort(compareText);
  });
}

function formatDocumentation(
  tools: readonly RegisteredTool[],
  name: (qualifiedName: string) => string,
  overrides: DocumentationOverrides | undefined,
): readonly string[] {
  return groupOverloads(tools).map(
    ({ qualifiedName, overloads }) => `### ${name(qualifiedName)}\n\n${documentationText(overloads, overrides).trim()}`,
  );
}

interface Family {
  readonly qualifiedName: string;
  readonly overloads: readonly RegisteredTool[];
}

/** Groups tools by name. Overloads are next to each other in a listing, in the order of their registration. */
function groupOverloads(listed: readonly RegisteredTool[]): readonly Family[] {
  const families: (Family & { readonly overloads: RegisteredTool[] })[] = [];
  for (const registered of listed) {
    const last = families.at(-1);
    if (last?.qualifiedName === registered.qualifiedName) last.overloads.push(registered);
    else families.push({ qualifiedName: registered.qualifiedName, overloads: [registered] });
  }
  return families;
}

const MAX_LINE = 240;
/** Maximum number of characters of a description that are searched for its first line. */
const MAX_SCANNED_CHARS = 2_000;

/** Returns the first line of a description, without control characters: the rest may be a page of third-party text. */
function firstLine(description: string): string {
  const [line = ""] = description
    .slice(0, MAX_SCANNED_CHARS)
    .trim()
    .split(/[\n\r\u2028\u2029]/u, 1);
  const text = line.replaceAll(/[\s\p{Cc}]+/gu, " ");
  return text.length <= MAX_LINE ? text : `${text.slice(0, MAX_LINE - 1).toWellFormed()}…`;
}

function shortName(qualifiedName: string): string {
  const { namespace, name } = splitName(qualifiedName);
  return namespace === DEFAULT_NAMESPACE ? name : qualifiedName;
}
