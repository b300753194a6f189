/** Channels and triggers of a configuration: read, refused at their places, and given to agents. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { configuredRuntime } from "../../src/config/config.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";
import { configFolder, load, problemsOf } from "./config-folder.ts";

const TOML = `[[channels]]
name = "news"
kind = "broadcast"
description = "What is new"
capacity = 10
whenFull = "refuse"

[[triggers]]
type = "timer"
name = "mail"
interval = 60
prompt = "Look at the mail."

[[triggers]]
type = "channel"
name = "watch"
channel = "news"

[toolsets.wake]
type = "triggers"
tools = ["add_timer"]

[toolsets.talk]
type = "channels"
`;

describe("F1.57 F1.62 configured channels and triggers", () => {
  test("are added once to every session whose triggers start, and their tools are available", async () => {
    const parts = await buildRuntimeParts(await load("haft.toml", TOML));
    const { triggers, toolsets } = parts;
    expect(toolsets.map(({ name, tools = [] }) => [name, tools.map((tool) => tool.name)])).toEqual([
      ["wake", ["add_timer", "list_triggers", "remove_trigger"]],
      ["talk", ["send_message", "list_channels"]],
    ]);
    expect(triggers.channels.get("news")).toMatchObject({ kind: "broadcast", capacity: 10, description: "What is new" });
    const store = new FailingStore();
    const { runtime, ports } = testRuntime({ store, toolsets });
    const session = runtime.session("s");
    triggers.of(session).start(() => {});
    await ports.clock.advance(60_000);
    expect(session.triggers.map(({ id, kind, sent }) => [id, kind, sent])).toEqual([
      ["mail", "timer", 1],
      ["watch", "channel", 0],
    ]);
    const changed = TOML.replace("interval = 60", "interval = 30");
    const after = await buildRuntimeParts(await load("haft.toml", changed));
    const next = testRuntime({ store: store.crash(), toolsets: after.toolsets });
    const again = await next.runtime.resume("s");
    after.triggers.of(again).start(() => {});
    await next.ports.clock.advance(0);
    expect(again.triggers.map(({ id, settings, sent }) => [id, settings["interval"], sent])).toEqual([
      ["watch", undefined, 0],
      ["mail", 30, 0],
    ]);
  });

  test("are added to the triggers that the program passes", async () => {
    const triggers = createTriggers({ channels: createChannels() });
    const folder = configFolder({ "haft.toml": TOML });
    const { toolsets } = await configuredRuntime(join(folder, "haft.toml"), { triggers });
    expect(toolsets?.map(({ name }) => name)).toEqual(["wake", "talk"]);
    expect(triggers.channels.list().map(({ name }) => name)).toEqual(["news"]);
    await expect(configuredRuntime(join(folder, "haft.toml"), { triggers })).rejects.toMatchObject({ code: "duplicate" });
  });

  test("a trigger that cannot be added to a session is logged, and the others are added", async () => {
    const triggers = createTriggers();
    triggers.declare({ type: "channel", name: "none", channel: "none" });
    triggers.declare({ type: "timer", name: "tick", interval: 1, prompt: "x" });
    const { runtime, ports } = testRuntime();
    const session = runtime.session();
    triggers.of(session).start(() => {});
    await ports.clock.advance(0);
    expect(session.triggers.map(({ id }) => id)).toEqual(["tick"]);
    expect(ports.log.lines.map(({ message }) => message)).toEqual(['The trigger "none" could not be added: There is no channel "none".']);
    expect(() => triggers.declare({ type: "timer", name: "tick" })).toThrow(expect.objectContaining({ code: "duplicate" }));
    expect(() => triggers.declare({ type: "timer" } as never)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });
});

describe("F1.59 F1.60 F1.61 problems are reported with file, line and column", () => {
  const trigger = (text: string): string => `[[channels]]\nname = "news"\n[[triggers]]\nname = "t"\n${text}\n`;
  test.each([
    ['type = "timer"\nprompt = "x"\ninterval = 0', /^haft\.toml:7:1: triggers\[0\]\.interval: .* 0/u],
    [
      'type = "timer"\nprompt = "x"\ninterval = 1\ninterwal = 2',
      /^haft\.toml:8:1: triggers\[0\]\.interwal: unknown key\. Did you mean "interval"\?/u,
    ],
    ['type = "timer"\nprompt = "x"', /^haft\.toml:3:3: triggers\[0\]: .*interval/u],
    ['type = "schedule"\nprompt = "x"', /^haft\.toml:3:3: triggers\[0\]: A schedule must have exactly one of .* none of them/u],
    [
      'type = "schedule"\nprompt = "x"\nhourlyAt = 5\ndailyAt = "09:00"',
      /^haft\.toml:7:1: triggers\[0\]\.hourlyAt: .* dailyAt and hourlyAt/u,
    ],
    [
      'type = "schedule"\nprompt = "x"\ndailyAt = "25:00"',
      /^haft\.toml:7:1: triggers\[0\]\.dailyAt: "25:00" is not a time of day\. It is HH:MM/u,
    ],
    [
      'type = "schedule"\nprompt = "x"\ndailyAt = "09:00"\nzone = "Mars"',
      /^haft\.toml:8:1: triggers\[0\]\.zone: "Mars" is not a time zone/u,
    ],
    ['type = "schedule"\nprompt = "x"\ncron = "a b c d e"', /^haft\.toml:7:1: triggers\[0\]\.cron: "a b c d e" is not a cron expression/u],
    ['type = "channel"\nchannel = "nwes"', /^haft\.toml:6:1: triggers\[0\]\.channel: There is no channel "nwes"\. Channels: news\./u],
    [
      'type = "channel"\nchannel = "news"\nprompt = "{text}"',
      /^haft\.toml:7:1: triggers\[0\]\.prompt: The prompt has the placeholder \{text\}/u,
    ],
    [
      'type = "timr"',
      /^haft\.toml:5:1: triggers\[0\]\.type: must be one of "timer", "schedule", "channel", not "timr"\. Did you mean "timer"\?/u,
    ],
    ['type = "timer"\nprompt = "x"\ninterval = 2026-01-01', /^haft\.toml:\d+:\d+: triggers\[0\]/u],
  ])("trigger %j", async (text, expected) => {
    const problems = await problemsOf("haft.toml", trigger(text));
    expect(problems).toEqual([expect.stringMatching(expected)]);
  });

  test.each([
    ['[[channels]]\nkind = "queue"\n', 'haft.toml:1:3: channels[0]: "name" is missing: the name that agents use for it.'],
    ['[[channels]]\nname = "a"\n[[channels]]\nname = "a"\n', "haft.toml:4:1: channels[1].name: is the name of another channel already."],
    ['[[channels]]\nname = " a"\n', /^haft\.toml:2:1: channels\[0\]\.name: The name of a channel is " a"/u],
    ['[[channels]]\nname = "a"\ncapacity = 0\n', /^haft\.toml:3:1: channels\[0\]\.capacity: must be/u],
    ['[[channels]]\nname = "a"\nsize = 0\n', /^haft\.toml:3:1: channels\[0\]\.size: unknown key/u],
    ["channels = 5\n", /^haft\.toml:1:1: channels: must be an array/u],
    ['[[triggers]]\ntype = "timer"\ninterval = 1\nprompt = "x"\n', /^haft\.toml:1:3: triggers\[0\]: "name" is missing/u],
    [
      '[[triggers]]\ntype = "timer"\ninterval = 1\nprompt = "x"\nname = "a\\tb"\n',
      /^haft\.toml:5:1: triggers\[0\]\.name: The name of a trigger is "a\\tb"; it takes 1 to 128 visible characters\./u,
    ],
    [
      '[toolsets.t]\ntype = "triggers"\nengine = "x"\n',
      /^haft\.toml:3:1: toolsets\.t\.engine: a toolset of this type answers its calls itself/u,
    ],
  ])("configuration %j", async (text, expected) => {
    expect(await problemsOf("haft.toml", text)).toEqual([typeof expected === "string" ? expected : expect.stringMatching(expected)]);
  });

  test("an unknown trigger tool is a problem with its place", async () => {
    const loaded = await load("haft.toml", '[toolsets.t]\ntype = "triggers"\ntools = ["add_tmer"]\n');
    await expect(buildRuntimeParts(loaded)).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(/haft\.toml:3:1: toolsets\.t\.tools: No trigger has the tool "add_tmer"/u),
    });
  });
});

test("F1.58 the triggers of a creature become tools, and unknown ones are reported", async () => {
  const loaded = await load(
    "haft.yaml",
    "tools:\n  - { name: add_timer, type: trigger }\n  - { name: watch_channel, type: trigger }\n  - { name: add_door, type: trigger }\n",
  );
  const { toolsets } = await buildRuntimeParts(loaded);
  expect(toolsets.map(({ name, tools = [] }) => [name, tools.map((tool) => tool.name)])).toEqual([
    ["triggers", ["add_timer", "watch_channel", "list_triggers", "remove_trigger"]],
  ]);
  expect(loaded.warnings).toEqual([
    expect.stringContaining('tools[2]: the trigger "add_door" is not one of add_timer, add_schedule, watch_channel; it is left out.'),
  ]);
});
