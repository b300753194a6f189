/** One message whose four calls trickle in over 1.2 s, each of a tool that takes 300 ms: when does each start, and when is all done? */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { collectReply, type Model, type ModelCall, type ModelEvent, type ModelReply } from "../src/core/model.ts";
import { createLoop } from "../src/compose/loop.ts";
import { createRuntime, defineTool } from "../src/index.ts";
import { httpModel } from "../src/model/http-model.ts";
import { anthropicMessages } from "../src/wire/anthropic.ts";
import { openAiChat } from "../src/wire/openai-chat.ts";
import { openAiResponses } from "../src/wire/openai-responses.ts";
import type { WireFormat } from "../src/wire/wire-format.ts";
import { startProviderServer, type ProviderServer, type ServedAnswer, type ServedFormat } from "../test/model/provider-server.ts";
import { loopScript, until, type LoopScript } from "./loop-script.ts";
import { peerLoops, type Wait } from "./loop-peers.ts";
import { goal, median } from "./measure.ts";

const CALLS = 4;
const CALL_MS = 300;
const TOOL_MS = 300;
const PIECES = 10;
const TAKES = 5;
const START_MS = 2;
const NUMBERS = Array.from({ length: CALLS }, (_, index) => index);

/** What one take saw, in milliseconds since its beginning. */
class Take {
  beganAt = performance.now();
  readonly closedAt: number[] = [];
  readonly startedAt: number[] = [];
  endedAt = Number.NaN;

  /** The model begins to speak. */
  begin(): void {
    this.beganAt = performance.now();
  }

  close(index: number): void {
    this.closedAt[index] = performance.now();
  }

  /** The tool of all contestants. */
  readonly wait: Wait = async ({ n }) => {
    this.startedAt[n] = performance.now();
    await until(performance.now() + TOOL_MS);
    return { n };
  };

  end(): void {
    this.endedAt = performance.now();
    if (this.startedAt.filter((at) => at > 0).length !== CALLS) throw new Error("Not every call was made.");
  }
}

interface Contestant {
  readonly name: string;
  readonly note: string;
  play(take: Take): Promise<unknown>;
}

export async function printEarlyDispatch(): Promise<void> {
  const contestants: readonly Contestant[] = [haftInProcess(), ...peers(), ...OVER_HTTP.map(haftOverHttp), anthropicRunner()];
  console.log(
    `\nFour calls whose JSON closes at 300, 600, 900 and 1200 ms, each tool takes ${TOOL_MS} ms: when each starts, and when all is done`,
  );
  const width = Math.max(...contestants.map(({ name }) => name.length));
  const late: number[] = [];
  for (const contestant of contestants) {
    await played(contestant);
    const takes: Take[] = [];
    for (let round = 0; round < TAKES; round++) takes.push(await played(contestant));
    const startsMs = NUMBERS.map((n) => median(takes.map(({ startedAt, beganAt }) => (startedAt[n] ?? Number.NaN) - beganAt)));
    const lagsMs = NUMBERS.map((n) =>
      median(takes.map(({ startedAt, closedAt }) => (startedAt[n] ?? Number.NaN) - (closedAt[n] ?? Number.NaN))),
    );
    const doneMs = median(takes.map(({ endedAt, beganAt }) => endedAt - beganAt));
    if (contestant.name.startsWith("Haft")) late.push(...lagsMs);
    console.log(
      `  ${contestant.name.padEnd(width)} ${startsMs.map((ms) => ms.toFixed(0).padStart(6)).join("")}  done ${doneMs.toFixed(0).padStart(5)} ms  (${lagsMs
        .map((ms) => ms.toFixed(1))
        .join(", ")} ms after closing)  ${contestant.note}`,
    );
  }
  console.log(`  (medians of ${TAKES} takes; the first is not counted)`);
  console.log(
    `  ${goal(
      `Haft starts each within ${START_MS} ms of the byte that seals it`,
      late.every((ms) => ms <= START_MS),
    )}`,
  );
}

async function played(contestant: Contestant): Promise<Take> {
  const take = new Take();
  await contestant.play(take);
  take.end();
  return take;
}

function scriptFor(take: Take): LoopScript {
  return loopScript(1, CALLS, { callMs: CALL_MS, pieces: PIECES, onClose: (index) => take.close(index) });
}

function peers(): readonly Contestant[] {
  return peerLoops(async () => undefined).map(({ name, notes }) => ({
    name,
    note: notes.stream,
    async play(take) {
      await peerLoops(take.wait)
        .find((peer) => peer.name === name)
        ?.run(scriptFor(take), { stream: true });
    },
  }));
}

function haftInProcess(): Contestant {
  return { name: "Haft", note: "createLoop, a session that records", play: (take) => runLoop(trickling(scriptFor(take)), take) };
}

async function runLoop(model: Model, take: Take): Promise<void> {
  const tool = defineTool({
    name: "wait",
    description: "Waits.",
    inputSchema: { type: "object", properties: { n: { type: "number" }, note: { type: "string" } }, required: ["n", "note"] },
    effects: { reads: [], writes: [] },
    timeoutMs: 10 * TOOL_MS,
    execute: (input: { n: number }) => take.wait(input),
  });
  const session = createRuntime({ tools: [tool] }).session();
  const { reason, detail } = await createLoop({ model, session }).run("go");
  if (reason !== "answered") throw new Error(`The loop ended with ${reason}: ${detail ?? ""}`);
}

function trickling(script: LoopScript): Model {
  return {
    name: "memory",
    async *stream(): AsyncGenerator<ModelEvent> {
      const calls: ModelCall[] = [];
      let text = "";
      for await (const said of script.stream()) {
        const index = calls.length;
        if (said.type === "text") yield { type: "text-delta", text: (text = said.text) };
        else if (said.type === "open") yield { type: "call-open", index, name: "wait" };
        else if (said.type === "delta") yield { type: "call-delta", index, text: said.text };
        else {
          const call: ModelCall = { id: said.id, name: "wait", input: { n: index, note: "as long as a sentence that somebody says" } };
          calls.push(call);
          yield { type: "call-seal", index, call };
        }
      }
      yield { type: "reply-end", reply: { ...SILENT, text, calls, finish: calls.length === 0 ? "stop" : "calls" } };
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

interface OverHttp {
  readonly served: ServedFormat;
  readonly format: WireFormat;
  /** Of the data of the stream's pieces, those that end a call; of more than there are calls, the last count. */
  readonly seals: RegExp;
}

/** One of the providers wants to be told. */
const HEADERS = { "anthropic-version": "2023-06-01" };
const ANTHROPIC: OverHttp = { served: "anthropic-messages", format: anthropicMessages(), seals: /"content_block_stop"/u };
const OVER_HTTP: readonly OverHttp[] = [
  // nothing ends a call there but the next one's beginning, or the end of the message
  { served: "openai-chat", format: openAiChat(), seals: /"type":"function"|"finish_reason":"tool_calls"/u },
  { served: "openai-responses", format: openAiResponses(), seals: /"type":"response.function_call_arguments.done"/u },
  ANTHROPIC,
];

function haftOverHttp(over: OverHttp): Contestant {
  const { served, format } = over;
  return {
    name: `Haft, ${served}`,
    note: "createLoop over httpModel, a provider's stream over loopback HTTP",
    play: (take) =>
      withServer(over, take, ({ url }) => runLoop(httpModel({ format, model: "memory", baseUrl: url, headers: HEADERS }), take)),
  };
}

function anthropicRunner(): Contestant {
  return {
    name: "Anthropic runner",
    note: "toolRunner with runToolsEagerly, the same stream",
    play: (take) =>
      withServer(ANTHROPIC, take, async ({ url }) => {
        const client = new Anthropic({
          apiKey: "k",
          baseURL: url,
          defaultHeaders: HEADERS,
          fetch: (to, init) => fetch(String(to).replace("/v1/messages", "/messages"), init),
        });
        const inputSchema = {
          type: "object",
          properties: { n: { type: "number" }, note: { type: "string" } },
          required: ["n", "note"],
        } as const;
        const run = async (input: { readonly n: number }): Promise<string> => JSON.stringify(await take.wait(input));
        const tool = betaTool({ name: "wait", description: "Waits.", inputSchema, run });
        await client.beta.messages
          .toolRunner({
            model: "memory",
            max_tokens: 1_000,
            messages: [{ role: "user", content: "go" }],
            tools: [tool],
            stream: true,
            runToolsEagerly: true,
            thread: false,
          })
          .runUntilDone();
      }),
  };
}

const ASKED: ServedAnswer = {
  calls: NUMBERS.map((n) => ({ name: "wait", input: { n, note: "as long as a sentence that somebody says" } })),
};

/** A provider that says the calls at their pace. */
async function withServer(over: OverHttp, take: Take, play: (server: ProviderServer) => Promise<void>): Promise<void> {
  const seals = await sealingPieces(over);
  const gate = async (piece: number): Promise<void> => {
    if (piece === 0) take.begin();
    const call = seals.findIndex((seal) => seal >= piece);
    const from = seals[call - 1] ?? 0;
    const seal = seals[call];
    if (seal === undefined) return;
    await until(take.beganAt + CALL_MS * (call + (piece - from) / (seal - from)));
    if (piece === seal) take.close(call);
  };
  const server = await startProviderServer({ format: over.served, script: [{ ...ASKED, delivery: { gate } }, { text: "done" }] });
  try {
    await play(server);
  } finally {
    await server.close();
  }
}

/** Which pieces of the reply end its calls. */
async function sealingPieces({ served, format, seals }: OverHttp): Promise<readonly number[]> {
  const server = await startProviderServer({ format: served, script: [ASKED] });
  try {
    let said = "";
    const listen = async (...request: Parameters<typeof fetch>): Promise<Response> => {
      const response = await fetch(...request);
      said = await response.text();
      return new Response(said, response);
    };
    const model = httpModel({ format, model: "memory", baseUrl: server.url, headers: HEADERS, fetch: listen });
    await collectReply(model.stream({ messages: [{ role: "user", content: "go", at: 0 }] }));
    const pieces = said.split("\n\n");
    return pieces.flatMap((piece, index) => (seals.test(piece) ? [index] : [])).slice(-CALLS);
  } finally {
    await server.close();
  }
}
