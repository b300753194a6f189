/** The long documentation of a tool: an override, or else its own, or else its definition. */
import { ToolError } from "../core/error.ts";
import { checkRegistry, checkString, checkArgument, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Visibility } from "../policy/visibility.ts";
import { describeSchema } from "./describe-schema.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import type { Registry } from "./registry.ts";
import { resolveVisible } from "./visible-tool.ts";

/** Texts that replace tools' documentation, by qualified or bare name; a qualified name takes precedence. */
export type DocumentationOverrides = ReadonlyMap<string, string>;

/** Which tools are documented, and texts that replace their documentation. */
export interface DocumentationOptions {
  readonly overrides?: DocumentationOverrides | undefined;
  /** Tools that it does not permit are treated as missing. */
  readonly visibility?: Visibility | undefined;
}

/** The documentation of one tool, as a model reads it. */
export interface Documentation {
  /** The qualified name. */
  readonly name: string;
  readonly text: string;
}

/**
 * Returns the documentation of a tool, by its qualified name or a bare name that would be enough for a call.
 *
 * @throws ToolError `not_found` with similar names; `ambiguous`; `unavailable`; `permission_denied` for a hidden tool
 */
export function documentationOf(registry: Registry, name: string, options: DocumentationOptions = {}): Documentation {
  checkRegistry(registry, "documentationOf()");
  checkString(name, "documentationOf(registry, name)", "the name of a tool");
  checkKnownKeys(options, { overrides: "Map", visibility: "object" }, "documentationOf()");
  const { overrides, visibility } = options;
  const isRead = visibility === undefined || hasMethods(visibility, "permits");
  checkArgument(isRead, "documentationOf({ visibility })", "rules that were read", visibility, "visibilityOf(rules) reads them.");
  const found = resolveVisible(registry, name, visibility);
  if (found instanceof ToolError) throw found;
  const [first] = found;
  if (first === undefined) throw new ToolError("not_found", `No tool ${JSON.stringify(name)}.`);
  return { name: first.qualifiedName, text: documentationText(found, overrides) };
}

/** The documentation of all overloads of a tool. Does not depend on the order of registration. */
export function documentationText(overloads: readonly RegisteredTool[], overrides?: DocumentationOverrides): string {
  const [first] = overloads;
  const override = first === undefined ? undefined : (overrides?.get(first.qualifiedName) ?? overrides?.get(first.tool.name));
  if (override !== undefined) return override;
  return [...new Set(overloads.map(ownText))].sort().join("\n\n");
}

function ownText({ tool }: RegisteredTool): string {
  if (tool.documentation !== undefined && tool.documentation !== "") return tool.documentation;
  const input = describeSchema(tool.inputSchema);
  const output = tool.outputSchema === undefined ? [] : describeSchema(tool.outputSchema);
  const sections = [
    tool.description,
    input.length === 0 ? "It takes no particular parameters." : ["Parameters:", ...input].join("\n"),
    output.length === 0 ? "" : ["Result:", ...output].join("\n"),
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}
