/** The model and the id with which a model server answers: any text. */
import { expect, test } from "vitest";
import type { Model } from "../../src/core/model.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { withTelemetry } from "./with-telemetry.ts";

/** A model whose answers have these names, one after the other. */
function answering(names: readonly string[]): Model {
  const inner = scriptedModel(
    names.map(() => ({ text: "Yes.", usage: { inputTokens: 1, outputTokens: 1 } })),
    { name: "openai/gpt-5" },
  );
  const left = [...names];
  return {
    name: inner.name,
    async *stream(request, options) {
      const name = left.shift() ?? "";
      for await (const event of inner.stream(request, options))
        yield event.type === "reply-end" ? { ...event, reply: { ...event.reply, model: name, id: `id-${name}` } } : event;
    },
  };
}

async function answered(names: readonly string[]) {
  return await withTelemetry(async () => {
    const runtime = createRuntime({});
    telemetry(runtime);
    const model = answering(names);
    for (const _ of names) await createLoop({ model, session: runtime.session() }).run("Is it?");
    await runtime.close();
  });
}

test("ever new names of answering models create a limited number of time series; spans have each name", async () => {
  const names = Array.from({ length: 120 }, (_, at) => `model-${at}`);
  const { points, spans } = await answered(names);
  const models = points
    .filter(({ metric }) => metric === "gen_ai.client.operation.duration")
    .map(({ attributes, count }) => [attributes["gen_ai.response.model"], count]);
  expect(models).toEqual([...names.slice(0, 100).map((name) => [name, 1]), ["_OTHER", 20]]);
  const chats = spans.filter(({ name }) => name.startsWith("chat"));
  expect(chats.map(({ attributes }) => attributes["gen_ai.response.model"])).toEqual(names);
});

test("a name and an id of a megabyte are cut, on the span and in metrics", async () => {
  const { spans, text } = await answered(["m".repeat(1_000_000)]);
  const chat = spans.find(({ name }) => name.startsWith("chat"));
  expect([chat?.attributes["gen_ai.response.model"], chat?.attributes["gen_ai.response.id"]]).toEqual([
    `${"m".repeat(255)}…`,
    `id-${"m".repeat(252)}…`,
  ]);
  expect(text.length).toBeLessThan(50_000);
});
