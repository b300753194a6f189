/**
 * Measures how long an event takes from one process of a store in PostgreSQL to a reader of another: from before it is recorded to when the
 * reader has it. `node --conditions=haft-source scripts/notify-delay.ts postgres://… [events]`
 */
import { createRuntime, defineTool } from "haft";
import { postgresStore } from "haft/postgres";

const [url, events = "200"] = process.argv.slice(2);
if (url === undefined) throw new Error("Name the database: postgres://user@host/database");
const count = Number(events);
const now = defineTool({
  name: "now",
  description: "Says when it ran.",
  inputSchema: { type: "object" },
  effects: { writes: ["session:now"] },
  execute: () => performance.now(),
});

for (const notify of [false, true]) {
  const schema = `delay_${notify ? "told" : "polled"}`;
  const [writer, reader] = [1, 2].map(() => createRuntime({ store: postgresStore({ url, schema, notify }), tools: [now] }));
  if (writer === undefined || reader === undefined) throw new Error("There are two.");
  const session = await writer.resume(`delay-${process.pid}`, { create: true });
  await session.execute({ name: "now", input: {} });
  const feed = reader.events({ session: session.id, filter: { types: ["call-end"] } });
  await feed.read(); // it reads along from here
  const delays: number[] = [];
  for (let n = 0; n < count; n++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + 60 * ((n * 0.618) % 1))); // at no fixed phase of a poll
    const startedAt = performance.now();
    await session.execute({ name: "now", input: {} });
    await feed.read();
    delays.push(performance.now() - startedAt);
  }
  feed.close();
  delays.sort((one, other) => one - other);
  const at = (share: number): string => `${(delays[Math.floor(share * (count - 1))] ?? 0).toFixed(1)} ms`;
  console.log(`${notify ? "notified" : "polled  "}: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, most ${at(1)}, ${count} events`);
  await reader.close();
  await writer.close();
}
