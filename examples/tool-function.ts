/** A function that can still be called directly and is also a tool; and inputs that are validated without a call. */
import { Registry, createRuntime, pure, toolFunction } from "haft";
import { validateInput } from "haft/schema";

const registry = new Registry();
const area = toolFunction(
  {
    description: "The area of a rectangle.",
    inputSchema: { type: "object", properties: { width: { type: "number" }, height: { type: "number" } }, required: ["width", "height"] },
    effects: pure,
    registry,
  },
  function area({ width, height }) {
    return width * height;
  },
);

console.log(registry.names());
console.log(area({ width: 2, height: 3 })); // called directly, without validation

const runtime = createRuntime({ tools: [area.tool] });
console.log((await runtime.execute({ name: "area", input: { width: "2", height: 3 } })).output);
console.log(String(validateInput({ width: "2" }, area.tool.inputSchema)));
await runtime.close();

/* Prints:
[ 'default::area' ]
6
6
The input is invalid:
- $.height: required field missing
- $.width: expected type number, got string
*/
