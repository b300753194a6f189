/** Edges from tools' outputs to tools' inputs, which can be followed in both directions. */
import { addTo } from "../core/base/add-to.ts";

/** One parameter of one tool. */
export interface ParameterPlace {
  /** The id of the tool in the catalog. */
  readonly tool: string;
  /** The property of the tool's input or output; `$` for an output that is not an object. */
  readonly name: string;
}

/** An output field of one tool that can be an input of another tool. */
export interface DataflowEdge {
  /** The output field. */
  readonly from: ParameterPlace;
  /** The input of another tool. */
  readonly to: ParameterPlace;
  /** The strength of the edge, above 0 and at most 1. */
  readonly score: number;
}

/** The artifact of `dataflow()`. */
export class DataflowGraph {
  readonly edges: readonly DataflowEdge[];
  readonly #out = new Map<string, DataflowEdge[]>();
  readonly #in = new Map<string, DataflowEdge[]>();

  constructor(edges: readonly DataflowEdge[]) {
    this.edges = edges;
    for (const edge of edges) {
      addTo(this.#out, edge.from.tool, edge);
      addTo(this.#in, edge.to.tool, edge);
    }
  }

  /** Returns the edges from the outputs of a tool. */
  out(tool: string): readonly DataflowEdge[] {
    return this.#out.get(tool) ?? [];
  }

  /** Returns the edges to the inputs of a tool. */
  in(tool: string): readonly DataflowEdge[] {
    return this.#in.get(tool) ?? [];
  }
}
