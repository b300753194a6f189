/** An agent whose process is killed again and again: its schedule, and the channels that it watches. */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "haft/client";
import { expect, onTestFinished } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { testInCI } from "../test-in-ci.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { CANARY, chatProject } from "./chat-project.ts";
import { PATIENCE_MS, haft, type Control, type Finished } from "./run-haft.ts";

const TOKEN = "a-token-for-the-tests";
const KILLS = 4;
const TOML = `[store]
path = "haft.db"
[[channels]]
name = "news"
kind = "broadcast"
[[channels]]
name = "tasks"
[[triggers]]
type = "channel"
name = "read"
channel = "news"
prompt = "{content}"
[[triggers]]
type = "channel"
name = "work"
channel = "tasks"
prompt = "{content}"
[[triggers]]
type = "schedule"
name = "second"
cron = "* * * * * *"
catchUp = true
prompt = "A second."
`;

interface Serving {
  readonly url: string;
  readonly control: Control;
  readonly ended: Promise<Finished>;
}

function serve(folder: string, more: readonly string[]): Promise<Serving> {
  return new Promise((resolve, reject) => {
    const ended = haft(["serve", "--port", "0", ...more], {
      folder,
      environment: { HAFT_TOKEN: TOKEN, HAFT_TRUST: "all", MODEL_KEY: CANARY },
      onStart: (control) => onTestFinished(() => control.signal("SIGKILL")),
      onOutput({ stderr }, control) {
        const [, url] = /serving at (\S+)/u.exec(stderr) ?? [];
        if (url !== undefined) resolve({ url, control, ended });
      },
    });
    void ended.then(({ stderr }) => reject(new Error(`The server ended: ${stderr}`)));
  });
}

testInCI(
  "killing an agent's process at random loses no channel message and repeats no schedule time",
  { timeout: 3 * PATIENCE_MS },
  async () => {
    const project = await chatProject({ script: Array.from({ length: 1_000 }, () => ({ text: "Heard." })), toml: TOML });
    const { folder } = project;
    const random = seededRandom("killed agents");
    const sent: Record<string, string[]> = { news: [], tasks: [] };
    const front = await serve(folder, []);
    const client = createClient({ url: front.url, token: TOKEN });
    const send = async (): Promise<void> => {
      for (const channelName of ["news", "tasks"]) {
        const content = `${channelName} ${sent[channelName]?.length}`;
        await client.call("sendToChannel", { params: { channelName }, body: { content } });
        sent[channelName]?.push(content);
      }
    };
    for (let kill = 0; kill < KILLS; kill++) {
      const agent = await serve(folder, ["--agent", "clerk"]);
      await sleep(random.next() * 500);
      await send();
      await sleep(random.next() * 1_500);
      agent.control.signal("SIGKILL");
      await agent.ended;
      await send();
    }
    const last = await serve(folder, ["--agent", "clerk"]);
    const events = async (): Promise<readonly SessionEvent[]> => {
      const store = sqliteStore({ path: project.path("haft.db"), readOnly: true });
      try {
        return (await store.read("clerk", { limit: 100_000 })).events;
      } finally {
        await store.close();
      }
    };
    const received = async (trigger: string): Promise<readonly unknown[]> =>
      (await events()).flatMap((event) => (event.type === "inbox-add" && event.triggerId === trigger ? [event.message.content] : []));
    await expect.poll(() => received("read"), { timeout: PATIENCE_MS }).toEqual(sent["news"]);
    // One that was in the inbox when its process was killed may come again.
    await expect.poll(async () => [...new Set(await received("work"))], { timeout: PATIENCE_MS }).toEqual(sent["tasks"]);
    const ticks = (await events()).flatMap((event) =>
      event.type === "inbox-add" && event.triggerId === "second" ? [event.tick ?? 0] : [],
    );
    expect(ticks.length).toBeGreaterThan(0);
    expect(ticks).toEqual([...new Set(ticks)].toSorted((a, b) => a - b));
    expect(ticks.every((tick) => tick % 1_000 === 0)).toBe(true);
    for (const { control, ended } of [last, front]) {
      control.signal("SIGTERM");
      expect((await ended).exitCode).toBe(0);
    }
  },
);
