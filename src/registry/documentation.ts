/** The long documentation of a tool: the text that overrides it, else its own, else its definition. */
import { ToolError } from "../core/error.ts";
import { checkRegistry, checkText, checkArgument, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Visibility } from "../policy/visibility.ts";
import { describeSchema } from "./describe-schema.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import type { Registry } from "./registry.ts";
import { resolveVisible } from "./visible-tool.ts";

/** Texts in place of tools' own documentation, by qualified or bare name; the qualified one wins. */
export type DocumentationOverrides = ReadonlyMap<string, string>;

/** Which tools are documented, and the texts in place of their own. */
export interface DocumentationOptions {
  readonly overrides?: DocumentationOverrides | undefined;
  /** Tools it does not permit are as if they were not there. */
  readonly visibility?: Visibility | undefined;
}

/** The documentation of one tool as a model reads it. */
export interface Documentation {
  /** Qualified. */
  readonly name: string;
  readonly text: string;
}

/**
 * Finds the documentation of a tool, by its qualified name or a bare one that is enough for a call.
 *
 * @throws ToolError `not_found` with the names that may have been meant; `ambiguous`; `unavailable`; `permission_denied` for a hidden tool
 */
export function documentationOf(registry: Registry, name: string, options: DocumentationOptions = {}): Documentation {
  checkRegistry(registry, "documentationOf()");
  checkText(name, "documentationOf(registry, name)", "the name of a tool");
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

/** The documentation of the tools of one name, the same in whatever order overloads were registered. */
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
