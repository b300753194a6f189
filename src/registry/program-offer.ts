/** How `run_program` is offered, and the list of tools if it replaces the others. */
import { isJsonObject, type JsonValue } from "../core/base/json.ts";
import { OWN_NAMESPACE } from "../core/call.ts";
import { declareTools, type DeclaredTool } from "./declared/declare-tools.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** `alongside`: together with the other tools; `only`: in place of them, with their types in its description. */
export type ProgramMode = "alongside" | "only";

/** Stored in the tool's metadata, as `program`. */
export interface ProgramOffer {
  readonly mode: ProgramMode;
  readonly maxDeclarationChars: number;
}

export const PROGRAM_TOOL = "run_program";

/** Whether a tool is `run_program` with the mode `only`. */
export function replacesOtherTools(tool: RegisteredTool): boolean {
  return readProgramOffer(tool)?.mode === "only";
}

/** The tools that such a program replaces, and the text that declares them. For lists that are not made for a model, such as those of MCP clients. */
export function findReplacedTools(
  program: RegisteredTool,
  tools: readonly RegisteredTool[],
): { readonly replaced: ReadonlySet<RegisteredTool>; readonly declarations: string } {
  const replaced = new Set(
    tools.filter((one) => readProgramOffer(one) === undefined && one.toolset.name !== OWN_NAMESPACE && one.tool.providerExecuted !== true),
  );
  const usable = [...replaced].filter(({ quarantine }) => quarantine === undefined);
  const texts = usable.map(({ qualifiedName: name, tool }): DeclaredTool => ({ ...tool, name }));
  return { replaced, declarations: declareTools(texts, readProgramOffer(program)?.maxDeclarationChars ?? 0) };
}

/** The offer of a tool; undefined if it is not `run_program`. */
export function readProgramOffer({ qualifiedName, tool }: RegisteredTool): ProgramOffer | undefined {
  if (!qualifiedName.endsWith(`::${PROGRAM_TOOL}`)) return undefined;
  const offer = tool.metadata?.["program"] as JsonValue | undefined;
  if (!isJsonObject(offer)) return undefined;
  const { mode, maxDeclarationChars } = offer;
  if ((mode !== "alongside" && mode !== "only") || typeof maxDeclarationChars !== "number") return undefined;
  return { mode, maxDeclarationChars };
}
