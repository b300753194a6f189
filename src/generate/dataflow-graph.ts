/** Edges from what tools give to what tools take, to be followed either way. */
import { addTo } from "../core/base/add-to.ts";

/** One parameter of one tool. */
export interface ParameterPlace {
  /** The id of the tool in the catalog. */
  readonly tool: string;
  /** The property of its input or output; `$` for a result that is not an object. */
  readonly name: string;
}

/** A field of one tool's output that can be an input of another tool. */
export interface DataflowEdge {
  /** An output. */
  readonly from: ParameterPlace;
  /** An input of another tool. */
  readonly to: ParameterPlace;
  /** From above 0 to 1. */
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

  /** The edges from the outputs of a tool. */
  out(tool: string): readonly DataflowEdge[] {
    return this.#out.get(tool) ?? [];
  }

  /** The edges to the inputs of a tool: the same edges, from the other end. */
  in(tool: string): readonly DataflowEdge[] {
    return this.#in.get(tool) ?? [];
  }
}
