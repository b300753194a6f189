/** A result with text and a picture for the model, JSON for programs, and notes that no model sees. */
import { ToolOutput, createRuntime, defineTool, pure, resultText } from "haft";

const chart = defineTool({
  name: "chart",
  description: "Draws the sales of a year.",
  inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"] },
  outputSchema: { type: "object", properties: { total: { type: "integer" } }, required: ["total"] },
  effects: pure,
  execute: ({ year }, context) => {
    context.progress({ message: "drawing", done: 1, total: 2 });
    return new ToolOutput({
      content: [
        { type: "text", text: `Sales of ${year}:` },
        { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
      ],
      output: { total: 212 },
      metadata: { query: `select sum(amount) from sales where year = ${year}` },
    });
  },
});

const runtime = createRuntime({
  tools: [chart],
  onEvent: (event) => (event.type === "call-progress" ? console.log(event.update) : undefined),
});
const result = await runtime.execute({ name: "chart", input: { year: 2025 } });
console.log(resultText(result));
console.log(result.output, result.metadata);
await runtime.close();

/* Prints:
{ message: 'drawing', done: 1, total: 2 }
Sales of 2025:
[image image/png]
{ total: 212 } { query: 'select sum(amount) from sales where year = 2025' }
*/
