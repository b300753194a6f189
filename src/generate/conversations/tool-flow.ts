/** Which tool's results give what other tools take: ids by what they are of, other values by name, and the edges of the dataflow graph. */
import { toolSubject } from "./tool-subject.ts";
import type { CatalogTool } from "../catalog.ts";
import type { DataflowGraph } from "../dataflow-graph.ts";
import { inputParameters } from "../tool-parameters.ts";
import { isIdName } from "./id-names.ts";
import { inputKey, schemaFields, type OutputField } from "./value-keys.ts";

/** An input of a tool, and where its value may come from. */
export interface FlowInput {
  readonly name: string;
  readonly isId: boolean;
  /** `""` where no name leads to it. */
  readonly key: string;
  /** Top-level fields of other tools' outputs, as the dataflow graph has them: tool id and field. */
  readonly edges: readonly { readonly tool: string; readonly name: string }[];
}

/** Likeness of name or description from which on two parameters are taken for the same. */
const MIN_SCORE = 0.75;
const NO_INPUTS: readonly FlowInput[] = [];
const NO_FIELDS: readonly OutputField<undefined>[] = [];

export class ToolFlow {
  readonly tools: ReadonlyMap<string, CatalogTool>;
  readonly ids: readonly string[];
  readonly #inputs = new Map<string, readonly FlowInput[]>();
  readonly #fields = new Map<string, readonly OutputField<undefined>[]>();
  readonly #givers = new Map<string, string[]>();
  readonly #takers = new Map<string, string[]>();
  readonly #graph: DataflowGraph;

  constructor(tools: readonly CatalogTool[], graph: DataflowGraph) {
    this.tools = new Map(tools.map((tool) => [tool.id, tool]));
    this.ids = [...this.tools.keys()];
    this.#graph = graph;
    for (const tool of tools) this.#add(tool);
  }

  /** Whether anything leads from one tool to another. */
  get hasEdges(): boolean {
    for (const id of this.tools.keys()) if (this.takersOf(id).length > 0) return true;
    return false;
  }

  inputsOf(id: string): readonly FlowInput[] {
    return this.#inputs.get(id) ?? NO_INPUTS;
  }

  /** Tools other than this one whose results give the input. */
  giversOf(id: string, { key, edges }: FlowInput): readonly string[] {
    const named = key === "" ? [] : (this.#givers.get(key) ?? []).filter((giver) => giver !== id);
    return edges.length === 0 ? named : [...new Set([...named, ...edges.map(({ tool }) => tool)])];
  }

  /** Tools that take what this one gives, each once. */
  takersOf(id: string): readonly string[] {
    const found = new Set<string>();
    for (const { key } of this.#fields.get(id) ?? NO_FIELDS)
      if (key !== "") for (const taker of this.#takers.get(key) ?? []) found.add(taker);
    for (const edge of this.#graph.out(id))
      if (this.#inputs.get(edge.to.tool)?.some((input) => isEdgeOf(input, edge.from)) === true) found.add(edge.to.tool);
    found.delete(id);
    return [...found];
  }

  /** The field of a tool's output that the input can be taken from. */
  fieldFor(giver: string, { key, edges }: FlowInput): OutputField<undefined> | undefined {
    const fields = this.#fields.get(giver) ?? NO_FIELDS;
    const named = key === "" ? undefined : fields.find((field) => field.key === key);
    if (named !== undefined) return named;
    const edge = edges.find(({ tool }) => tool === giver);
    return edge === undefined ? undefined : fields.find(({ name, onTop }) => onTop && name === edge.name);
  }

  #add({ id, qualifiedName, tool }: CatalogTool): void {
    const { noun } = toolSubject(qualifiedName);
    const inputs = inputParameters(tool.inputSchema).map(({ name }) => ({
      name,
      isId: isIdName(name),
      key: inputKey(name, noun),
      edges: this.#edgesTo(id, name),
    }));
    this.#inputs.set(id, inputs);
    for (const { key } of inputs) if (key !== "") listed(this.#takers, key, id);
    const fields = outputsOf({ qualifiedName, tool });
    this.#fields.set(id, fields);
    for (const key of new Set(fields.map((field) => field.key))) if (key !== "") listed(this.#givers, key, id);
  }

  #edgesTo(id: string, name: string): FlowInput["edges"] {
    if (!isIdName(name) && inputKey(name, "") === "") return [];
    return this.#graph
      .in(id)
      .filter(({ to, from, score }) => to.name === name && score >= MIN_SCORE && isIdName(from.name) === isIdName(name))
      .map(({ from }) => from);
  }
}

function isEdgeOf({ edges }: FlowInput, { tool, name }: { readonly tool: string; readonly name: string }): boolean {
  return edges.some((edge) => edge.tool === tool && edge.name === name);
}

/** A tool that does not say what it returns is expected to give the id of what it makes or lists. */
function outputsOf({ qualifiedName, tool }: Pick<CatalogTool, "qualifiedName" | "tool">): readonly OutputField<undefined>[] {
  const { noun, verb } = toolSubject(qualifiedName);
  if (tool.outputSchema !== undefined) return schemaFields(tool.outputSchema, noun);
  if ((verb !== "create" && verb !== "list") || noun === "") return NO_FIELDS;
  return [{ name: "id", key: inputKey("id", noun), noun, ofList: verb === "list", onTop: verb !== "list", value: undefined }];
}

function listed(index: Map<string, string[]>, key: string, id: string): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, [id]);
  else if (known.at(-1) !== id) known.push(id);
}
