/** Chooses the source of each tool's answers: the tool itself, a recording of it, or a simulation. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, resultText, type SessionEvent, type ToolResult } from "haft";
import { replayEngine } from "haft/recording";
import { exampleEngine, stubEngine } from "haft/simulation";

let asked = 0;
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const weather = defineTool({
  name: "weather",
  description: "Asks a service for the weather.",
  inputSchema: city,
  outputSchema: { type: "object", properties: { sky: { enum: ["sun", "rain"] } }, required: ["sky"] },
  effects: { reads: ["weather"], writes: [] },
  execute: () => ({ sky: ++asked === 1 ? "rain" : "sun" }),
});
const book = defineTool({ name: "book", description: "Books a hotel.", inputSchema: city, execute: () => assert.fail("it must not run") });
const show = (result: ToolResult): void => {
  const stamp = [result.origin, result.fidelity, result.answeredBy].filter((word) => word !== undefined).join(", ");
  console.log(`${result.name} (${stamp}): ${resultText(result)}`);
};

const recorded: SessionEvent[] = [];
const live = createRuntime({
  tools: [weather],
  answers: { rules: [{ tools: "*", from: "record" }], onRecord: (events) => recorded.push(...events) },
});
show(await live.execute({ name: "weather", input: { city: "Oslo" } }));
await live.close();

const runtime = createRuntime({
  tools: [weather, book],
  answers: {
    engines: {
      replay: replayEngine(recorded),
      example: exampleEngine({ seed: 7 }),
      stub: stubEngine([{ tool: "book", output: "Booked: room 7." }]),
    },
    rules: [
      { tools: "default::weather", from: ["replay", "example"] },
      { tools: "default::book", from: "stub" },
    ],
  },
});
const results = await runtime.execute([
  { name: "weather", input: { city: "Oslo" } },
  { name: "weather", input: { city: "Bergen" } },
  { name: "book", input: { city: "Oslo" } },
]);
results.forEach(show);
show(await runtime.execute({ name: "weather", input: { city: "Bergen" } }, { answerFrom: "live" }));
assert.equal(asked, 2);
await runtime.close();

/* Prints:
default::weather (live): {"sky":"rain"}
default::weather (replay, observed, replay): {"sky":"rain"}
default::weather (simulated, schema-valid, example): {"sky":"sun"}
default::book (stub, scripted, stub): Booked: room 7.
default::weather (live): {"sky":"sun"}
*/
