/** Finds the strongest edges from an output parameter, without comparing it with every input. */
import type { DataflowEdge } from "./dataflow-graph.ts";
import type { TextMatcher } from "./text-match.ts";
import type { ParameterType } from "./tool-parameters.ts";

export interface ToolParameter {
  readonly tool: string;
  readonly namespace: string;
  readonly name: string;
  /** The words by which its name is compared. */
  readonly words: string;
  readonly description: string;
  readonly type: ParameterType;
}

export interface EdgeFinderOptions {
  readonly outputs: readonly ToolParameter[];
  readonly inputs: readonly ToolParameter[];
  /** The ways to compare; the best score counts. */
  readonly matchers: readonly TextMatcher[];
  readonly minScore: number;
  /** Maximum number of edges from one output into one namespace. */
  readonly maxEdges: number;
}

/** Inputs with the same text, namespace and type: an edge to one of them implies an edge to all, with the same score. */
interface InputClass {
  readonly namespace: string;
  readonly type: ParameterType;
  readonly inputs: number[];
}

interface ScoredClass extends InputClass {
  readonly score: number;
}

export class EdgeFinder {
  readonly #options: EdgeFinderOptions;
  /** By matcher, then by the index of the input text. */
  readonly #classes: readonly (readonly (readonly InputClass[])[])[];
  /** By matcher, then by output text and type, the strongest first. */
  readonly #found: readonly Map<string, readonly ScoredClass[]>[];

  constructor(options: EdgeFinderOptions) {
    this.#options = options;
    this.#classes = options.matchers.map((matcher) => groupInputs(options.inputs, matcher.inputs));
    this.#found = options.matchers.map(() => new Map());
  }

  /** Returns at most `maxEdges` edges into each namespace: the strongest, of equal ones the first. Never edges into the same tool. */
  edgesFrom(output: number): readonly DataflowEdge[] {
    const { outputs, inputs, matchers } = this.#options;
    const from = outputs[output];
    if (from === undefined) return [];
    const best = new Map<number, number>();
    for (let matcher = 0; matcher < matchers.length; matcher++) {
      for (const [input, score] of this.#findStrongestEdges(matcher, output, from)) best.set(input, Math.max(score, best.get(input) ?? 0));
    }
    const ranked = [...best].sort(([one, score], [other, otherScore]) => otherScore - score || one - other);
    const counts = new Map<string, number>();
    const edges: DataflowEdge[] = [];
    for (const [input, score] of ranked) {
      const to = inputs[input];
      if (to === undefined || !this.#addEdge(counts, to.namespace)) continue;
      edges.push({ from: { tool: from.tool, name: from.name }, to: { tool: to.tool, name: to.name }, score });
    }
    return edges;
  }

  /** Counts one more edge into a namespace; returns false if there is no room for it. */
  #addEdge(counts: Map<string, number>, namespace: string): boolean {
    const count = counts.get(namespace) ?? 0;
    if (count >= this.#options.maxEdges) return false;
    counts.set(namespace, count + 1);
    return true;
  }

  #findStrongestEdges(matcher: number, output: number, from: ToolParameter): readonly (readonly [input: number, score: number])[] {
    const counts = new Map<string, number>();
    const found: [number, number][] = [];
    for (const { namespace, inputs, score } of this.#scoreClasses(matcher, output, from)) {
      for (const input of inputs) {
        if (this.#options.inputs[input]?.tool === from.tool) continue;
        if (!this.#addEdge(counts, namespace)) break;
        found.push([input, score]);
      }
    }
    return found;
  }

  #scoreClasses(matcher: number, output: number, { type }: ToolParameter): readonly ScoredClass[] {
    const { matchers, minScore } = this.#options;
    const text = matchers[matcher]?.outputs[output] ?? 0;
    const key = `${text} ${type.signature}`;
    const known = this.#found[matcher]?.get(key);
    if (known !== undefined) return known;
    const scored: ScoredClass[] = [];
    for (const match of matchers[matcher]?.matches(text) ?? []) {
      for (const group of this.#classes[matcher]?.[match.text] ?? []) {
        const score = match.similarity * scoreTypes(type, group.type);
        if (score >= minScore) scored.push({ ...group, score });
      }
    }
    scored.sort((one, other) => other.score - one.score || (one.inputs[0] ?? 0) - (other.inputs[0] ?? 0));
    this.#found[matcher]?.set(key, scored);
    return scored;
  }
}

function groupInputs(inputs: readonly ToolParameter[], texts: readonly number[]): readonly (readonly InputClass[])[] {
  const classes: InputClass[][] = [];
  const known = new Map<string, InputClass>();
  for (const [index, { namespace, type }] of inputs.entries()) {
    const text = texts[index] ?? 0;
    const key = JSON.stringify([text, namespace, type.signature]);
    let group = known.get(key);
    if (group === undefined) {
      known.set(key, (group = { namespace, type, inputs: [] }));
      (classes[text] ??= []).push(group);
    }
    group.inputs.push(index);
  }
  return classes;
}

const EXACT = 1;
const NUMERIC = 0.8;
const SHARED_KEYS = 0.9;
/** The score if one of the types is not specific enough to compare. */
const OPAQUE = 0.7;
const NONE = 0;

/**
 * Returns the compatibility of two types, from 0 (never) to 1 (the same type): 0.8 between `integer` and `number`, 0.9 for objects with a common
 * property, 0.7 if one of the two is not specific enough. Arrays match only arrays, by their items. If both may have several types, the best pair
 * counts.
 */
function scoreTypes(output: ParameterType, input: ParameterType): number {
  if (output.kinds.size === 0 || input.kinds.size === 0) return OPAQUE;
  let best = NONE;
  for (const kind of output.kinds) for (const wanted of input.kinds) best = Math.max(best, scoreKinds(kind, wanted, { output, input }));
  return best;
}

interface Pair {
  readonly output: ParameterType;
  readonly input: ParameterType;
}

function scoreKinds(kind: string, wanted: string, { output, input }: Pair): number {
  if (kind !== wanted) return isNumeric(kind) && isNumeric(wanted) ? NUMERIC : NONE;
  if (kind === "object") return scoreKeys(output.keys, input.keys);
  if (kind === "array") return scoreItems(output.items, input.items);
  return EXACT;
}

function isNumeric(kind: string): boolean {
  return kind === "integer" || kind === "number";
}

function scoreKeys(output: ReadonlySet<string> | undefined, input: ReadonlySet<string> | undefined): number {
  if (output === undefined || input === undefined) return OPAQUE;
  for (const key of output) if (input.has(key)) return SHARED_KEYS;
  return NONE;
}

function scoreItems(output: ParameterType | undefined, input: ParameterType | undefined): number {
  if (output === undefined && input === undefined) return EXACT;
  return output === undefined || input === undefined ? OPAQUE : scoreTypes(output, input);
}
