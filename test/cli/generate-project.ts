/** Every handler of the project fails: what is answered was made up. */
export const REAL = {
  "haft.toml": '[toolsets.shop]\ntype = "module"\npath = "./shop.mjs"\n',
  "shop.mjs": `
const fail = () => { throw new Error("this was real"); };
const tool = (name, properties, output) => ({ name, description: "Does " + name + ".", inputSchema: { type: "object", properties, required: Object.keys(properties) }, outputSchema: output, execute: fail });
const order = { type: "object", properties: { id: { type: "string" }, article: { type: "string" } }, required: ["id", "article"] };
export const create = tool("create_order", { article: { type: "string" } }, order);
export const get = tool("get_order", { order_id: { type: "string" } }, order);
export const list = tool("list_orders", {}, { type: "array", items: order });
export const count = { ...tool("count_orders", {}, { type: "integer" }), effects: { reads: ["orders:all"], writes: [] }, execute: () => 7 };
`,
};
