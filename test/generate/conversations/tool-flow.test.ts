/** Which results provide the inputs of other tools. */
import { expect, test } from "vitest";
import type { Tool } from "../../../src/core/tool.ts";
import { createCatalog } from "../../../src/generate/catalog.ts";
import { DATAFLOW, dataflow } from "../../../src/generate/dataflow.ts";
import { DataflowGraph } from "../../../src/generate/dataflow-graph.ts";
import { enrich } from "../../../src/generate/enrich.ts";
import { ToolFlow } from "../../../src/generate/conversations/tool-flow.ts";

const text = (description: string) => ({ type: "string", description }) as const;
const object = (properties: object) => ({ type: "object", properties, required: Object.keys(properties) }) as const;

async function flowOf(tools: readonly Tool[]): Promise<ToolFlow> {
  const toolsets = [{ name: "crm", tools }];
  const { artifacts } = await enrich(toolsets, [dataflow()]);
  return new ToolFlow(createCatalog(toolsets), artifacts.require(DATAFLOW, DataflowGraph));
}

const create_order: Tool = {
  name: "create_order",
  description: "Creates an order.",
  inputSchema: object({ article: text("") }),
  outputSchema: object({ id: text("The id.") }),
};
const taker = (name: string, input: object): Tool => ({ name, description: "Takes an id.", inputSchema: object(input) });

test("F0.23 L22 the id of a thing is no id of another thing, even if names and descriptions are the same", async () => {
  const flow = await flowOf([
    create_order,
    taker("get_customer", { id: text("The id.") }),
    taker("delete_ticket", { ticket_id: text("The id.") }),
    taker("get_order", { id: text("The id.") }),
    taker("get_order_details", { id: text("The id.") }),
    taker("ship", { order_id: text("The id.") }),
    taker("assign_carrier", { reference_id: text("The order's id.") }),
  ]);

  expect(flow.consumersOf("crm::create_order")).toEqual(["crm::get_order", "crm::get_order_details", "crm::ship"]);
});

test("F0.23 L22 an id is taken along an edge if the description of the input names the thing", async () => {
  const flow = await flowOf([
    { ...create_order, outputSchema: object({ id: text("The order to carry.") }) },
    taker("assign_carrier", { parcel_id: text("The order to carry.") }),
    taker("get_ticket", { parcel_id: text("The parcel to carry.") }),
  ]);

  expect(flow.consumersOf("crm::create_order")).toEqual(["crm::assign_carrier"]);
});

test("F0.23 ids in the items of a list are found behind references and in allOf", async () => {
  const entity = object({ id: text("") });
  const list: Tool = {
    name: "list_orders",
    description: "Lists orders.",
    inputSchema: object({}),
    outputSchema: {
      type: "object",
      properties: { orders: { $ref: "#/$defs/page" } },
      $defs: {
        entity,
        order: { allOf: [{ $ref: "#/$defs/entity" }, object({ total: { type: "number" } })] },
        page: { type: "array", items: { $ref: "#/$defs/order" } },
        knot: { $ref: "#/$defs/knot" },
      },
    },
  };
  const knotted: Tool = {
    ...list,
    name: "list_knots",
    outputSchema: { $ref: "#/$defs/knot", $defs: { knot: { allOf: [{ $ref: "#/$defs/knot" }, { $ref: "#/$defs/knot" }] } } },
  };
  const flow = await flowOf([list, knotted, taker("get_order", { order_id: text("") })]);

  expect(flow.consumersOf("crm::list_orders")).toEqual(["crm::get_order"]);
  expect(flow.consumersOf("crm::list_knots")).toEqual([]);
});
