/** Finds which tool's results provide the inputs of other tools: ids by their noun, other values by name, and the edges of the dataflow graph. */
import { addTo } from "../../core/base/add-to.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { toolSubject } from "./tool-subject.ts";
import { idNameOfInput } from "../../engine/example/path-ids.ts";
import type { CatalogTool } from "../catalog.ts";
import type { DataflowGraph, ParameterPlace } from "../dataflow-graph.ts";
import { inputParameters, outputParameters, type SchemaParameter } from "../tool-parameters.ts";
import { nameWords, toSingular } from "../../schema/example/name-words.ts";
import { idNoun, isIdName } from "./id-names.ts";
import { inputKey, schemaFields, type OutputField } from "./value-keys.ts";

/** An input of a tool, and the possible sources of its value. */
export interface FlowInput {
  readonly name: string;
  readonly isId: boolean;
  /** The key (see `value-keys.ts`) by which outputs match it; `""` if none can. */
  readonly key: string;
  /** Top-level output fields of other tools, from the dataflow graph: tool id and field. */
  readonly edges: readonly { readonly tool: string; readonly name: string }[];
}

interface InputsOfTool {
  /** The subject of the tool. */
  readonly noun: string;
  readonly parameters: readonly SchemaParameter[];
}

/** Minimum score at which two parameters count as the same. */
const MIN_SCORE = 0.75;
const NO_INPUTS: readonly FlowInput[] = [];
const NO_EDGES: FlowInput["edges"] = [];
const NO_FIELDS: readonly OutputField<undefined>[] = [];

export class ToolFlow {
  readonly tools: ReadonlyMap<string, CatalogTool>;
  readonly ids: readonly string[];
  readonly #inputs = new Map<string, readonly FlowInput[]>();
  readonly #fields = new Map<string, readonly OutputField<undefined>[]>();
  readonly #producers = new Map<string, string[]>();
  readonly #consumers = new Map<string, string[]>();
  /** By tool and output field, the tools with an input that takes it along an edge. */
  readonly #takers = new Map<string, Map<string, Set<string>>>();
  readonly #graph: DataflowGraph;

  constructor(tools: readonly CatalogTool[], graph: DataflowGraph) {
    this.tools = new Map(tools.map((tool) => [tool.id, tool]));
    this.ids = [...this.tools.keys()];
    this.#graph = graph;
    for (const tool of tools) this.#addOutputs(tool);
    for (const tool of tools) this.#addInputs(tool);
  }

  /** Whether any tool takes what another returns. */
  get hasEdges(): boolean {
    for (const id of this.tools.keys()) if (this.consumersOf(id).length > 0) return true;
    return false;
  }

  inputsOf(id: string): readonly FlowInput[] {
    return this.#inputs.get(id) ?? NO_INPUTS;
  }

  /** Returns the other tools whose results provide the input. */
  producersOf(id: string, { key, edges }: FlowInput): readonly string[] {
    const named = key === "" ? [] : (this.#producers.get(key) ?? []).filter((producer) => producer !== id);
    return edges.length === 0 ? named : [...new Set([...named, ...edges.map(({ tool }) => tool)])];
  }

  /** Returns the tools that take what this one returns, without duplicates. */
  consumersOf(id: string): readonly string[] {
    const found = new Set<string>();
    for (const { key } of this.#fields.get(id) ?? NO_FIELDS)
      if (key !== "") for (const consumer of this.#consumers.get(key) ?? []) found.add(consumer);
    const takers = this.#takers.get(id);
    if (takers !== undefined) for (const { from, to } of this.#graph.out(id)) if (takers.get(from.name)?.has(to.tool)) found.add(to.tool);
    found.delete(id);
    return [...found];
  }

  /** Returns the field of a tool's output from which the input can be taken. */
  findSourceField(producer: string, { key, edges }: FlowInput): OutputField<undefined> | undefined {
    const fields = this.#fields.get(producer) ?? NO_FIELDS;
    const named = key === "" ? undefined : fields.find((field) => field.key === key);
    if (named !== undefined) return named;
    const edge = edges.find(({ tool }) => tool === producer);
    return edge === undefined ? undefined : fields.find(({ name, isTopLevel }) => isTopLevel && name === edge.name);
  }

  #addOutputs({ id, qualifiedName, tool }: CatalogTool): void {
    const fields = outputFieldsOf({ qualifiedName, tool });
    this.#fields.set(id, fields);
    for (const key of new Set(fields.map((field) => field.key))) if (key !== "") addToIndex(this.#producers, key, id);
  }

  #addInputs({ id, qualifiedName, tool }: CatalogTool): void {
    const { noun } = toolSubject(qualifiedName);
    const parameters = inputParameters(tool.inputSchema);
    const edges = this.#edgesTo(id, { noun, parameters });
    const inputs = parameters.map(({ name }) => {
      const idName = idNameOfInput(tool, name);
      const key = inputKey(idName, noun);
      const isPathId = idName !== name && this.#producers.has(key); // things whose ids no tool returns are addressed by their names
      if (isPathId) return { name, isId: true, key, edges: NO_EDGES };
      return { name, isId: isIdName(name), key: inputKey(name, noun), edges: edges.get(name) ?? NO_EDGES };
    });
    this.#inputs.set(id, inputs);
    for (const input of inputs) for (const from of input.edges) this.#addTaker(from, id);
    for (const { key } of inputs) if (key !== "") addToIndex(this.#consumers, key, id);
  }

  /** Returns the sources of the edges to each input that may take its value from a result. An edge between ids of different things does not count. */
  #edgesTo(id: string, { noun, parameters }: InputsOfTool): ReadonlyMap<string, FlowInput["edges"]> {
    const found = new Map<string, ParameterPlace[]>();
    for (const { to, from, score } of this.#graph.in(id)) {
      const isId = isIdName(to.name);
      if (score < MIN_SCORE || isIdName(from.name) !== isId || (!isId && inputKey(to.name, "") === "")) continue;
      if (isId && !this.#isSameThing(from, { name: to.name, noun, parameters })) continue;
      addTo(found, to.name, from);
    }
    return found;
  }

  /** Whether an output and an input may be ids of the same thing: their nouns share a word, or one's description names the other's noun. */
  #isSameThing(from: ParameterPlace, to: InputsOfTool & { readonly name: string }): boolean {
    const source = this.tools.get(from.tool);
    const given = nounWords(from.name, source === undefined ? "" : toolSubject(source.qualifiedName).noun);
    const taken = nounWords(to.name, to.noun);
    if (source === undefined || given.length === 0 || taken.length === 0 || given.some((word) => taken.includes(word))) return true;
    return describes(to.parameters, to.name, given) || describes(outputParameters(source.tool.outputSchema), from.name, taken);
  }

  #addTaker({ tool, name }: ParameterPlace, taker: string): void {
    const byField = getOrAdd(this.#takers, tool, () => new Map<string, Set<string>>());
    getOrAdd(byField, name, () => new Set<string>()).add(taker);
  }
}

function nounWords(name: string, noun: string): readonly string[] {
  return nameWords(idNoun(name) || noun).map(toSingular);
}

/** Whether the description of a parameter has one of the words in its beginning. */
function describes(parameters: readonly SchemaParameter[], name: string, words: readonly string[]): boolean {
  const described = parameters.find((parameter) => parameter.name === name)?.description ?? "";
  return nameWords(described).some((word) => words.includes(toSingular(word)));
}

/** Returns the output fields of a tool. A tool without an output schema is assumed to return the id of what it creates or lists. */
function outputFieldsOf({ qualifiedName, tool }: Pick<CatalogTool, "qualifiedName" | "tool">): readonly OutputField<undefined>[] {
  const { noun, verb } = toolSubject(qualifiedName);
  if (tool.outputSchema !== undefined) return schemaFields(tool.outputSchema, noun);
  if ((verb !== "create" && verb !== "list") || noun === "") return NO_FIELDS;
  return [{ name: "id", key: inputKey("id", noun), noun, ofList: verb === "list", isTopLevel: verb !== "list", value: undefined }];
}

function addToIndex(index: Map<string, string[]>, key: string, id: string): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, [id]);
  else if (known.at(-1) !== id) known.push(id);
}
