/**
 * A session of an agent, recorded in `test/fixtures/agent-session.jsonl` and played again: it builds in the background, edits files
 * meanwhile, is asked and answers, has a slow call promoted, reads a log by range, and sets a timer that wakes it after a restart. Its model is a
 * server that speaks a provider's format.
 *
 * `HAFT_RECORD=1` writes the recording anew.
 */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAgent } from "../../src/compose/agent.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { parseRecording, writeRecording } from "../../src/core/recording/recording.ts";
import type { Tool } from "../../src/core/tool.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import { importRecording } from "../../src/runtime/import-recording.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { FakeClock, countingIds } from "../../src/testing/fake-ports.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { jobsToolset } from "../../src/toolsets/jobs.ts";
import { triggersToolset } from "../../src/toolsets/triggers.ts";
import { createTriggers, type Triggers } from "../../src/triggers/triggers.ts";
import { startProviderServer, type ServedAnswer } from "../model/provider-server.ts";
import { gate } from "../runtime/bench-runtime.ts";
import { temporaryFile } from "../store/temporary-file.ts";

const RECORDING = new URL("../fixtures/agent-session.jsonl", import.meta.url);

const calls = (...made: readonly (readonly [name: string, input: Readonly<Record<string, unknown>>])[]): ServedAnswer =>
  ({ calls: made.map(([name, input]) => ({ name, input })) }) as ServedAnswer;

const job = (of: string): string => `$${of}`;

const HOUR_S = 3_600;

/** What the model says, request by request. */
const SCRIPT: readonly ServedAnswer[] = [
  calls(["work__build", { target: "all", run_in_background: true }]),
  calls(["files__write", { path: "notes.md", content: "# Build\n\nrunning\n" }]),
  calls(["files__edit", { path: "notes.md", old: "running", new: "running since noon" }], ["work__deploy", {}]),
  calls(["jobs__send_to_job", { id: job("deploy"), input: "staging" }]),
  calls(["jobs__wait", { id: job("deploy") }]),
  { text: "It builds, and is on staging; the notes are written." },
  calls(["work__survey", {}]),
  { text: "The survey goes on." },
  { text: "The survey found nothing." },
  calls(["jobs__read_job", { id: job("build"), offset: 2, lines: 2 }]),
  { text: "The build is done; lines 2 and 3 of its log say so." },
  calls(["triggers__add_timer", { interval: HOUR_S, prompt: "Look at the notes.", name: "watch" }]),
  { text: "I look at them in an hour." },
  // The process ends here, and another one goes on.
  calls(["files__read", { path: "notes.md" }]),
  calls(["triggers__remove_trigger", { trigger_id: "watch" }]),
  { text: "The notes are as I left them." },
];

interface Played {
  readonly recording: string;
  readonly messages: readonly ModelMessage[];
}

test("a recorded session of an agent with jobs is played again to the same events, and read back to the same conversation", async () => {
  const played = await play();
  if (process.env["HAFT_RECORD"] !== undefined) writeFileSync(RECORDING, played.recording);
  const recorded = readFileSync(RECORDING, "utf8");
  expect(byCall(played.recording)).toEqual(byCall(recorded));

  const store = memoryStore();
  const { sessionId } = await importRecording(store, recorded);
  await using runtime = createRuntime({ store });
  const session = await runtime.resume(sessionId);
  expect(session.messages()).toEqual(played.messages);
  expect(session.jobs).toEqual([]);
});

test("the recorded agent did what it is there for", () => {
  const events = eventsOf(readFileSync(RECORDING, "utf8"));
  const types = (type: SessionEvent["type"]): readonly unknown[] =>
    events.flatMap((event) => (event.type === type && "toolName" in event ? [event.toolName] : []));
  expect(types("job-start")).toEqual(["work::build", "work::deploy", "work::survey"]);
  expect(types("job-end")).toEqual(["work::deploy", "work::survey", "work::build"]);
  const results = events.flatMap((event) => (event.type === "call-end" ? [event.result] : []));
  const fired = events.findIndex((event) => event.type === "inbox-add" && event.triggerId === "watch");
  expect(events.slice(fired).flatMap((event) => (event.type === "call-end" ? [event.result.name] : []))).toEqual([
    "files::read",
    "triggers::remove_trigger",
  ]);
  expect(events.filter(({ type }) => type.startsWith("trigger-")).map(({ type }) => type)).toEqual(["trigger-add", "trigger-remove"]);
  expect(results.find(({ name }) => name === "jobs::read_job")?.output).toBe("[lines 2 to 3 of 4]\nlinking\ndone");
  expect(results.every(({ status }) => status === "ok")).toBe(true);
});

function eventsOf(recording: string): readonly SessionEvent[] {
  return parseRecording(recording).events;
}

/** The events of each call, and those of none. Calls that run at the same time get ahead of each other in one version of Node and not in another. */
function byCall(recording: string): Partial<Record<string, readonly SessionEvent[]>> {
  return Object.groupBy(eventsOf(recording), (event) => ("callId" in event ? event.callId : "none"));
}

async function play(): Promise<Played> {
  const build = gate();
  const survey = gate();
  const ids = new Map<string, string>();
  const server = await startProviderServer({ format: "openai-chat", script: SCRIPT, key: "k" });
  const model = modelFrom({ provider: "openai-chat", model: "m", baseUrl: server.url, apiKey: "k" });
  const ports = { clock: new FakeClock(), ids: countingIds() };
  const root = mkdtempSync(join(tmpdir(), "haft-agent-"));
  const path = temporaryFile();
  /** One process: a runtime of its own, with nothing but the store and the files in common with the other. */
  const process = async (): Promise<{ readonly runtime: Runtime; readonly triggers: Triggers }> => {
    const triggers = createTriggers();
    const work = { name: "work", tools: tools(build.promise, survey.promise) };
    const runtime: Runtime = createRuntime({
      toolsets: [work, filesToolset({ root }), jobsToolset({ triggers }), triggersToolset({ triggers })],
      store: sqliteStore({ path }),
      ports,
      hooks: [{ name: "ids", beforeCall: ({ input, ...rest }) => ({ ...rest, input: withIds(input, ids) }) }],
      onEvent: (event) => {
        if (event.type !== "call-start") return;
        ids.set(String(event.call.name.split(/::|__/u).at(-1)), event.callId);
        if (event.call.name.endsWith("survey")) setImmediate(() => runtime.jobs.promote(event.callId));
      },
    });
    await runtime.open();
    return { runtime, triggers };
  };

  const first = await process();
  const jobs = first.runtime.jobs;
  const agent = createAgent({ session: first.runtime.session("recorded"), model, offerBackground: true, triggers: first.triggers });
  agent.start();
  const say = async (text: string): Promise<void> => {
    await agent.send(text);
    await agent.whenIdle();
  };
  await say("Build everything, keep notes, and deploy."); // it is asked where, answers, and hears of the end
  await say("Survey the field.");
  survey.open();
  await jobs.wait(ids.get("survey") ?? "");
  await agent.whenIdle();
  build.open();
  await jobs.wait(ids.get("build") ?? "");
  await agent.whenIdle();
  await say("Look at the notes in an hour.");
  await agent.stop();
  await first.runtime.close();

  const { runtime, triggers } = await process();
  const session = await runtime.resume("recorded");
  const heard = Promise.withResolvers<void>();
  const later = createAgent({ session, model, offerBackground: true, triggers, onResult: () => heard.resolve(), onError: heard.reject });
  later.start();
  await ports.clock.advance(HOUR_S * 1_000);
  await heard.promise;
  await later.stop();
  const recording = await recordingOf(session, root);
  const messages = session.messages();
  await runtime.close();
  await server.close();
  expect(server.requests.map(({ refused }) => refused)).toEqual(SCRIPT.map(() => undefined));
  return { recording, messages };
}

async function recordingOf({ log, id }: RuntimeSession, root: string): Promise<string> {
  const lines: string[] = [];
  const events = log.map((event) => withoutPlace(event, root));
  for await (const line of writeRecording(events, { sessionId: id, exportedAt: 0 })) lines.push(line);
  return lines.join("");
}

/** The same wherever and whenever it was recorded: the folder has one name, and files have no times. */
function withoutPlace(event: SessionEvent, root: string): SessionEvent {
  const text = JSON.stringify(event).replaceAll(JSON.stringify(root).slice(1, -1), "/agent");
  const times = /("mtimeMs":|"path":"\/mtimeMs","value":)[\d.]+/gu;
  return JSON.parse(text.replaceAll(times, "$10")) as SessionEvent; // only a path and numbers have changed
}

/** A model copies the ids of jobs from what it reads; this one writes their names. */
function withIds(input: unknown, ids: ReadonlyMap<string, string>): unknown {
  return JSON.parse(JSON.stringify(input ?? {}).replaceAll(/"\$(\w+)"/gu, (_, name: string) => JSON.stringify(ids.get(name) ?? name)));
}

function tools(built: Promise<void>, surveyed: Promise<void>): readonly Tool[] {
  const named = (name: string): Pick<Tool, "name" | "description" | "inputSchema" | "effects" | "timeoutMs"> => ({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: "object" },
    effects: { reads: [], writes: [] },
    timeoutMs: 0,
  });
  return [
    {
      ...named("build"),
      execute: async ({ target }, { output }) => {
        output("parsing\ncompiling\n");
        await built;
        output("linking\ndone\n");
        return `built ${String(target)}`;
      },
    },
    {
      ...named("deploy"),
      mode: "stateful",
      async *execute() {
        const where: unknown = yield "Where to?";
        return `deployed to ${String(where)}`;
      },
    },
    { ...named("survey"), execute: () => surveyed.then(() => "nothing") },
  ];
}
