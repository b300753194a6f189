/** Tools as TypeScript declarations, for a model that calls them from a program. */
import { DEFAULT_NAMESPACE, splitName } from "../../core/call.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { compareText } from "../../trust/pinned-tool.ts";
import { commentText, keyText, takesNothing, typeText } from "./type-text.ts";

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
    const lines = [wholeLines(tool, name), shortLines(name)].find((form) => lengthOf(form, indent) <= left);
    if (lines === undefined) {
      leftOut++;
      continue;
    }
    left -= lengthOf(lines, indent);
    const known = spaces.get(space);
    const added = lines.map((line) => indent + line);
    if (known === undefined) spaces.set(space, added);
    else known.push(...added);
  }
  return textOf(spaces, leftOut);
}

function textOf(spaces: ReadonlyMap<string, readonly string[]>, leftOut: number): string {
  const lines = ["declare const tools: {"];
  for (const [space, declared] of [...spaces].sort(([one], [other]) => compareText(one, other)))
    lines.push(...(space === "" ? declared : [`  ${keyText(space)}: {`, ...declared, "  };"]));
  if (leftOut > 0) lines.push(`  // and ${leftOut} more that are not listed here`);
  return [...lines, "};"].join("\n");
}

function wholeLines({ description, inputSchema, outputSchema }: DeclaredTool, name: string): readonly string[] {
  const comment = commentText(description);
  const mark = takesNothing(inputSchema) ? "?" : "";
  return [
    ...(comment === "" ? [] : [comment]),
    `${keyText(name)}(input${mark}: ${typeText(inputSchema)}): Promise<${typeText(outputSchema)}>;`,
  ];
}

function shortLines(name: string): readonly string[] {
  return [`${keyText(name)}(input: object): Promise<unknown>;`];
}

function lengthOf(lines: readonly string[], indent: string): number {
  return lines.reduce((sum, line) => sum + indent.length + line.length + 1, 0);
}
