/** Tools as TypeScript declarations, for a model that calls them from a program. */
import { pushAll } from "../../core/collections/push-all.ts";
import { DEFAULT_NAMESPACE, splitName } from "../../core/call.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { compareText } from "../../trust/pinned-tool.ts";
import { formatComment, formatKey, canOmitInput, formatType } from "./format-type.ts";

/** A tool to declare. */
export interface DeclaredTool {
  /** The qualified name. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema | undefined;
}

/** Declares tools as TypeScript text. The text is the same for the same tools in any order, and has at most about `maxChars` characters. */
export function declareTools(tools: readonly DeclaredTool[], maxChars: number): string {
  const spaces = new Map<string, string[]>();
  let left = maxChars;
  let leftOut = 0;
  for (const tool of tools.toSorted((one, other) => compareText(one.name, other.name))) {
    const { namespace, name } = splitName(tool.name);
    const space = namespace === undefined || namespace === DEFAULT_NAMESPACE ? "" : namespace;
    const indent = space === "" ? "  " : "    ";
    const lines = [fullDeclaration(tool, name), shortDeclaration(name)].find((form) => lengthOf(form, indent) <= left);
    if (lines === undefined) {
      leftOut++;
      continue;
    }
    left -= lengthOf(lines, indent);
    const known = spaces.get(space);
    const added = lines.map((line) => indent + line);
    if (known === undefined) spaces.set(space, added);
    else pushAll(known, added);
  }
  return formatNamespaces(spaces, leftOut);
}

function formatNamespaces(spaces: ReadonlyMap<string, readonly string[]>, leftOut: number): string {
  const lines = ["declare const tools: {"];
  for (const [space, declared] of [...spaces].sort(([one], [other]) => compareText(one, other)))
    pushAll(lines, space === "" ? declared : [`  ${formatKey(space)}: {`, ...declared, "  };"]);
  if (leftOut > 0) lines.push(`  // and ${leftOut} more that are not listed here`);
  return [...lines, "};"].join("\n");
}

function fullDeclaration({ description, inputSchema, outputSchema }: DeclaredTool, name: string): readonly string[] {
  const comment = formatComment(description);
  const mark = canOmitInput(inputSchema) ? "?" : "";
  return [
    ...(comment === "" ? [] : [comment]),
    `${formatKey(name)}(input${mark}: ${formatType(inputSchema)}): Promise<${formatType(outputSchema)}>;`,
  ];
}

function shortDeclaration(name: string): readonly string[] {
  return [`${formatKey(name)}(input: object): Promise<unknown>;`];
}

function lengthOf(lines: readonly string[], indent: string): number {
  return lines.reduce((sum, line) => sum + indent.length + line.length + 1, 0);
}
