/** Finds which tool's output can be another tool's input: a graph from names and types. */
import { quoteValue } from "../core/base/wording.ts";
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { CatalogTool } from "./catalog.ts";
import { DataflowGraph, type DataflowEdge } from "./dataflow-graph.ts";
import { EdgeFinder, type ToolParameter } from "./edge-finder.ts";
import type { Enrichment, EnrichmentContext, EnrichmentResult } from "./enrichment.ts";
import { OUTPUT_SCHEMAS } from "./output-schemas.ts";
import { yieldToEventLoop } from "./run-limited.ts";
import { matchByVectors, matchByWords, type TextMatcher } from "./text-match.ts";
import { WHOLE_OUTPUT, inputParameters, outputParameters } from "./tool-parameters.ts";
import type { Embed } from "./vectors.ts";

/** Options for finding the edges between tools. */
export interface DataflowOptions {
  /** Compares parameters by the meaning of their names and descriptions, each output with each input, instead of by their words. */
  readonly embed?: Embed;
  /** Minimum score of an edge, above 0 and at most 1; weaker edges are left out. @default 0.5 */
  readonly minScore?: number;
  /** Maximum number of edges from one output parameter into one namespace; the strongest are kept. Integer ≥ 1. @default 10 */
  readonly maxEdges?: number;
}

export const DATAFLOW = "dataflow";

/**
 * Draws an edge from an output parameter to an input parameter of another tool if their names or descriptions are similar and their types are
 * compatible. The artifact is a `DataflowGraph`.
 *
 * An edge's score is the similarity of the names or of the descriptions, whichever is greater, from 0 to 1, times that of the types. Tools without an
 * output schema have no outgoing edges: see `outputSchemas`, which runs before this one if it is used.
 *
 * @throws ToolError `invalid_argument` at once for invalid options
 */
export function dataflow(options: DataflowOptions = {}): Enrichment {
  checkKnownKeys(options, { embed: "function", minScore: true, maxEdges: true }, "dataflow()");
  const { minScore = DEFAULT_MIN_SCORE, maxEdges = DEFAULT_MAX_EDGES } = options;
  checkNumber(maxEdges, "maxEdges of dataflow()", COUNT);
  if (!(typeof minScore === "number" && minScore > 0 && minScore <= 1))
    throw new ToolError("invalid_argument", `minScore of dataflow() is ${quoteValue(minScore)}; it takes a number above 0, at most 1.`);
  return { key: DATAFLOW, after: [OUTPUT_SCHEMAS], enrich: (context) => drawGraph({ ...options, minScore, maxEdges }, context) };
}

const DEFAULT_MIN_SCORE = 0.5;
const DEFAULT_MAX_EDGES = 10;
/** Number of outputs processed before yielding to the event loop. */
const AT_ONCE = 200;

type Settings = DataflowOptions & Required<Pick<DataflowOptions, "minScore" | "maxEdges">>;

async function drawGraph(settings: Settings, context: EnrichmentContext): Promise<EnrichmentResult> {
  const outputs = context.tools.flatMap((entry) => parametersOf(entry, outputParameters(entry.tool.outputSchema)));
  const inputs = context.tools.flatMap((entry) => parametersOf(entry, inputParameters(entry.tool.inputSchema)));
  const matchers = await makeMatchers(outputs, inputs, { settings, signal: context.signal });
  const finder = new EdgeFinder({ outputs, inputs, matchers, minScore: settings.minScore, maxEdges: settings.maxEdges });
  const edges: DataflowEdge[] = [];
  for (let output = 0; output < outputs.length; output++) {
    for (const edge of finder.edgesFrom(output)) edges.push(edge);
    if (output % AT_ONCE !== AT_ONCE - 1) continue;
    context.progress(output + 1, outputs.length);
    await yieldToEventLoop(context.signal);
  }
  context.progress(outputs.length, outputs.length);
  return { artifact: new DataflowGraph(edges) };
}

function parametersOf({ id, namespace, tool }: CatalogTool, parameters: ReturnType<typeof inputParameters>): readonly ToolParameter[] {
  return parameters.map(({ name, description, type }) => ({
    tool: id,
    namespace,
    name,
    words: name === WHOLE_OUTPUT ? tool.name : name,
    description,
    type,
  }));
}

async function makeMatchers(
  outputs: readonly ToolParameter[],
  inputs: readonly ToolParameter[],
  { settings: { embed, minScore }, signal }: { readonly settings: Settings; readonly signal: AbortSignal },
): Promise<readonly TextMatcher[]> {
  const options = { minSimilarity: minScore };
  if (embed !== undefined) return [await matchByVectors(outputs.map(meaningOf), inputs.map(meaningOf), { ...options, embed, signal })];
  return [
    matchByWords(outputs.map(wordsOf), inputs.map(wordsOf), options),
    matchByWords(outputs.map(descriptionOf), inputs.map(descriptionOf), options),
  ];
}

const wordsOf = ({ words }: ToolParameter): string => words;
const descriptionOf = ({ description }: ToolParameter): string => description;
const meaningOf = ({ words, description }: ToolParameter): string => (description === "" ? words : `${words}: ${description}`);
