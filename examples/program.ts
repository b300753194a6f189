/** Runs a program that a model wrote: it is offered as a tool, simulated, approved once, run, and saved as a chain. */
import { createRuntime, defineTool, readOnly } from "haft";
import { chainOfProgram, programToolset, programTools } from "haft/program";
import { exampleEngine } from "haft/simulation";

const town = { type: "string" } as const;
const find = defineTool({
  name: "find",
  description: "Finds trains to a town.",
  inputSchema: { type: "object", properties: { town }, required: ["town"] },
  outputSchema: { type: "array", items: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } },
  effects: readOnly("trains"),
  execute: ({ town: to }) => (to === "Oslo" ? [{ id: 7 }, { id: 9 }] : []),
});
const book = defineTool({
  name: "book",
  description: "Books a seat in a train.",
  inputSchema: { type: "object", properties: { train: { type: "integer" } }, required: ["train"], additionalProperties: false },
  outputSchema: { type: "object", properties: { ticket: { type: "string" } }, required: ["ticket"] },
  effects: { writes: "train:{train}", external: true },
  execute: ({ train }) => ({ ticket: `T-${train}` }),
});

const runtime = createRuntime({
  toolsets: [{ name: "trains", tools: [find, book] }, programToolset({ mode: "only" })],
  standIn: exampleEngine({ seed: 1 }),
  approval: {
    always: ["program::run_program"],
    approve: ({ toolName }) => (console.log(`${toolName} is approved.`), "allow-once"),
  },
});
await runtime.open();
const [offered] = programTools(runtime.registry).filter(({ name }) => name === "program::run_program");
for (const line of offered?.description.split("\n") ?? []) if (line.includes("): Promise")) console.log(line.trim());

const code = `const trains = await tools.trains.find({ town: input.to });
console.log(trains.length, "trains");
return tools.trains.book({ train: trains[0].id });`;
const call = { name: "program::run_program", input: { code, input: { to: "Oslo" } } };

const session = runtime.session();
const { diff } = await session.simulate(call);
console.log(`It would write ${diff.pretended.join(", ")}.`);

const { callId, output } = await session.execute(call);
console.log(JSON.stringify(output));

const { chain } = await chainOfProgram(session, callId);
console.log(String(chain));
await runtime.close();

/* Prints:
book(input: { train: number }): Promise<{ ticket: string }>;
find(input: { town: string }): Promise<{ id: number }[]>;
It would write train:7.
program::run_program is approved.
{"returned":{"ticket":"T-7"},"printed":"2 trains\n"}
Chain(trains::find → trains::book)
*/
