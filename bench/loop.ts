/** Loops over a model in process: twenty rounds of four calls, a round late in a long conversation, and one message from its JSON to its answer. */
import type { JsonValue } from "../src/core/base/json.ts";
import type { Model, ModelEvent, ModelReply } from "../src/core/model.ts";
import { createLoop } from "../src/compose/loop.ts";
import { scriptedModel } from "../src/model/scripted-model.ts";
import { createRuntime, defineTool, type Runtime } from "../src/index.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import { openAiChat } from "../src/wire/openai-chat.ts";
import { loopScript, type LoopScript, type ScriptedCall } from "./loop-script.ts";
import { aiSdkMessage, peerLoops, type PeerLoop } from "./loop-peers.ts";
import { goal, measure, median, printTable, type Contestant } from "./measure.ts";
import { langGraph } from "./peers.ts";
import { INPUT, SCHEMA, handle, type Order } from "./workload.ts";

const ROUNDS = 20;
const CALLS = 4;
const LOOP_MS = 1.5;
const ROUND_MS = 0.1;
const MESSAGE_US = 15;
/** How many results the model is shown, the shortest first. */
const HISTORIES = [100, 500, 2_000] as const;
const LATE_ROUNDS = 10;

const answer = async ({ n }: { readonly n: number }): Promise<unknown> => ({ n });

export async function printLoop(): Promise<void> {
  await printRounds();
  await printHistory();
  await printMessage();
}

const wait = defineTool({
  name: "wait",
  description: "Waits.",
  inputSchema: { type: "object", properties: { n: { type: "number" }, note: { type: "string" } }, required: ["n", "note"] },
  effects: { reads: [], writes: [] },
  execute: answer,
});

async function printRounds(): Promise<void> {
  const runtime = createRuntime({ tools: [wait] });
  const contestants: readonly Contestant[] = [
    { name: "bare limit", note: "a loop over plain functions and a compiled Ajv validator", run: () => bareLoop() },
    {
      name: "Haft",
      note: "createLoop, a session that records, scriptedModel",
      run: () => haftScripted(runtime, loopScript(ROUNDS, CALLS)),
    },
    {
      name: "Haft, bare model",
      note: "the same over a model of eight lines",
      run: () => play(runtime, bareModel(loopScript(ROUNDS, CALLS))),
    },
    ...peerLoops(answer).map(({ name, notes, run }) => ({
      name,
      note: notes.whole,
      run: () => run(loopScript(ROUNDS, CALLS), { stream: false }),
    })),
  ];
  const timings = await measure(contestants, { rounds: 11, roundMs: 200 });
  printTable(`A loop of ${ROUNDS} rounds with ${CALLS} calls each, model in process`, timings, "bare limit");
  const ours = timings.find(({ name }) => name === "Haft")?.medianUs ?? Number.NaN;
  console.log(`  ${goal(`Haft at most ${LOOP_MS} ms`, ours <= LOOP_MS * 1_000)}`);
}

const validateInput = new Ajv2020().compile<{ n: number }>(wait.inputSchema);

async function bareLoop(): Promise<void> {
  const script = loopScript(ROUNDS, CALLS);
  const messages: unknown[] = ["go"];
  for (let calls = script.next(); calls.length > 0; calls = script.next())
    messages.push(calls, await Promise.all(calls.map(async ({ input }) => (validateInput(input) ? answer(input) : undefined))));
}

async function haftScripted(runtime: Runtime, script: LoopScript): Promise<void> {
  const model = scriptedModel(() => {
    const calls = script.next();
    return calls.length === 0 ? { text: "done" } : { calls: calls.map(toModelCall) };
  });
  await play(runtime, model);
}

async function play(runtime: Runtime, model: Model): Promise<void> {
  const session = runtime.session();
  const { reason, rounds, results } = await createLoop({ model, session, limits: { maxRounds: 10_000 } }).run("go");
  if (reason !== "answered" || results.length !== (rounds - 1) * CALLS) throw new Error(`The loop ended with ${reason}.`);
  await session.close();
}

function bareModel(script: LoopScript): Model {
  return {
    name: "memory",
    async *stream(): AsyncGenerator<ModelEvent> {
      const calls = script.next().map(toModelCall);
      for (const [index, call] of calls.entries()) yield { type: "call-seal", index, call };
      yield { type: "reply-end", reply: { ...SILENT, calls, finish: calls.length === 0 ? "stop" : "calls" } };
    },
  };
}

const SILENT: ModelReply = {
  text: "",
  reasoning: "",
  media: [],
  calls: [],
  providerCalls: [],
  finish: "stop",
  usage: { inputTokens: 1, outputTokens: 1 },
};

function toModelCall({ id, input }: ScriptedCall): { readonly id: string; readonly name: string; readonly input: JsonValue } {
  return { id, name: "wait", input: { ...input } };
}

/** What a round costs when the model is shown so many results: the time between its requests. */
async function printHistory(): Promise<void> {
  const runtime = createRuntime({ tools: [wait] });
  const rows = [
    { name: "Haft", rounds: 15, cost: (history: number) => haftRoundMs(runtime, history) },
    ...peerLoops(answer).map((peer) => ({ name: peer.name, rounds: 3, cost: (history: number) => peerRoundMs(peer, history) })),
  ];
  console.log(`\nA round of ${CALLS} calls in a long conversation, by how many results the model is shown (${HISTORIES.join(", ")})`);
  for (const { name, rounds, cost } of rows) {
    const figures: number[] = [];
    await cost(HISTORIES[0]);
    for (const history of HISTORIES) {
      const samples: number[] = [];
      for (let round = 0; round < rounds; round++) samples.push(await cost(history));
      figures.push(median(samples));
    }
    console.log(`  ${name.padEnd(14)} ${figures.map((ms) => `${ms.toFixed(3).padStart(10)} ms`).join("")}`);
    const [first = Number.NaN, , last = Number.NaN] = figures;
    if (name === "Haft") console.log(`  ${goal(`Haft at most ${ROUND_MS} ms, and flat`, last <= ROUND_MS && last <= first * 1.5)}`);
  }
}

async function haftRoundMs(runtime: Runtime, history: number): Promise<number> {
  const script = loopScript(history / CALLS + LATE_ROUNDS, CALLS);
  await play(runtime, bareModel(script));
  return roundMs(script);
}

async function peerRoundMs({ run }: PeerLoop, history: number): Promise<number> {
  const script = loopScript(LATE_ROUNDS, CALLS);
  await run(script, { stream: false, history });
  return roundMs(script);
}

/** The middle one of the last rounds. */
function roundMs({ askedAt }: LoopScript): number {
  const late = askedAt.slice(-LATE_ROUNDS - 1);
  return median(late.slice(1).map((at, index) => at - (late[index] ?? Number.NaN)));
}

async function printMessage(): Promise<void> {
  const order = defineTool({
    name: "order",
    description: "d",
    inputSchema: SCHEMA,
    effects: { reads: [], writes: [] },
    execute: async (input: Order) => handle(input),
  });
  const runtime = createRuntime({ tools: [order] });
  const validate = new Ajv2020().compile<Order>(SCHEMA);
  const contestants: readonly Contestant[] = [
    {
      name: "bare limit",
      note: "JSON.parse, compiled Ajv validator, plain function, JSON.stringify",
      run: async () => bareMessage(validate),
    },
    { name: "Haft", note: "decodeReply, execute, encodeResults of openai-chat", run: () => haftMessage(runtime) },
    { name: "Haft, in a session", note: "the same, recorded", run: sessionMessage(runtime) },
    langGraph(),
    aiSdkMessage(answer),
  ];
  const timings = await measure(contestants, { rounds: 15, roundMs: 150 });
  printTable("One message with one call, from the provider's JSON to the provider's result message", timings, "bare limit");
  const ours = timings.find(({ name }) => name === "Haft")?.medianUs ?? Number.NaN;
  console.log(`  ${goal(`Haft at most ${MESSAGE_US} µs`, ours <= MESSAGE_US)}`);
}

const ASKED = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "memory",
  choices: [
    {
      index: 0,
      finish_reason: "tool_calls",
      message: {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "order", arguments: JSON.stringify(INPUT) } }],
      },
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

function bareMessage(validate: (input: unknown) => input is Order): unknown {
  const { id, function: called } = ASKED.choices[0]?.message.tool_calls[0] ?? { id: "", function: { arguments: "" } };
  const input: unknown = JSON.parse(called.arguments);
  return validate(input) ? [{ role: "tool", tool_call_id: id, content: JSON.stringify(handle(input)) }] : [];
}

const FORMAT = openAiChat();

async function haftMessage(caller: Pick<Runtime, "execute">): Promise<unknown> {
  const { calls } = FORMAT.decodeReply(ASKED);
  const [call] = calls;
  if (call === undefined) throw new Error("The call was lost.");
  const result = await caller.execute(call);
  return FORMAT.encodeResults([{ ...call, result }]);
}

/** A session's log is kept in memory: a new one now and then keeps the heap honest. */
function sessionMessage(runtime: Runtime): () => Promise<unknown> {
  let session = runtime.session();
  let calls = 0;
  return () => {
    if (++calls % 10_000 === 0) {
      void session.close();
      session = runtime.session();
    }
    return haftMessage(session);
  };
}
