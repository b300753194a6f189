/** Records a session to a file and replays it: the answers are the same, and no tool runs. */
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, resultText, type SessionEvent } from "haft";
import { readRecording, toolsetsOfRecording, writeRecording } from "haft/recording";
import { recordedAnswer, recordedToolsets } from "haft/testing";

let asked = 0;
const weather = defineTool({
  name: "weather",
  description: "Asks a service for the weather.",
  inputSchema: { type: "object", properties: { city: { type: "string" }, day: { type: "integer" } }, required: ["city"] },
  effects: { reads: ["weather"], writes: [] },
  execute: ({ city }) => `${++asked}: rain in ${city}`,
});
const question = (city: string, day: number) => ({ name: "weather", input: { city, day } });

const folder = await mkdtemp(join(tmpdir(), "haft-"));
const path = join(folder, "trip.jsonl");

const live = createRuntime({ tools: [weather] });
const session = live.session("trip");
await session.execute([question("Oslo", 1), question("Bergen", 1)]);
await writeFile(path, writeRecording(session.events(), { sessionId: session.id, exportedAt: Date.now() }));
await live.close();

const { header, events } = await readRecording(createReadStream(path, "utf8"));
const recorded: SessionEvent[] = [];
for await (const event of events) recorded.push(event);
console.log(`${header.sessionId}: ${recorded.map((event) => event.type).join(" ")}`);

for (const match of ["strict", "nearest"] as const) {
  const replay = createRuntime({ toolsets: toolsetsOfRecording(recorded, { match }) });
  const answers = await replay.session().execute([question("Bergen", 1), question("Bergen", 2)]);
  for (const answer of answers) console.log(`${match} (${answer.origin}): ${resultText(answer)}`);
  await replay.close();
}

const { toolsets, calls, expectedResults } = recordedToolsets(await readFile(path, "utf8"));
const fixture = createRuntime({ toolsets });
const results = await fixture.session().execute(calls);
assert.deepEqual(results.map(recordedAnswer), expectedResults);
assert.equal(asked, 2);
await fixture.close();
await rm(folder, { recursive: true });

/* Prints:
trip: call-start call-start call-end call-end
strict (replay): 2: rain in Bergen
strict (replay): Error (not_found): The recording has no call of default::weather with this input. The nearest one differs.
- $.day is 2, but was 1 when it was recorded
nearest (replay): 2: rain in Bergen
nearest (replay): 2: rain in Bergen
*/
