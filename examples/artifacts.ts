/** A tool returns a picture: its bytes are stored once, the log refers to them by address, and the model gets the picture. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, readOnly, resultText } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const draw = defineTool({
  name: "draw",
  description: "Draws a chart.",
  effects: readOnly("data"),
  execute: () => ({ title: "Rain", chart: `data:image/png;base64,${PIXEL}` }),
});

const store = memoryStore();
const runtime = createRuntime({ tools: [draw], store, artifacts: store.artifacts });
const session = runtime.session("weather");
const model = scriptedModel([{ calls: [{ name: "draw", input: {} }] }, { text: "It rained on one day." }]);
const { text, results } = await runtime.loop({ session, model }).run("Draw the rain of this week.");

const [result] = results;
assert(result !== undefined);
console.log(resultText(result));
const { events } = await store.read("weather");
console.log(JSON.stringify(events).includes(PIXEL), JSON.stringify(model.requests.at(-1)?.messages).includes(PIXEL), text);

const id = resultText(result).match(/artifact:([0-9a-f]{64})/u)?.[1] ?? "";
const artifact = await store.artifacts.get(id);
console.log(artifact?.mediaType, Buffer.from(artifact?.data ?? "", "base64").length);
await runtime.close();

/* Prints:
{"title":"Rain","chart":"artifact:6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0"}
[file image/png, 70 bytes, artifact:6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0]
false true It rained on one day.
image/png 70
*/
