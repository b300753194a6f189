/** A conversation that goes on with another provider after each round: what one made is never what the next refuses. */
import { describe, expect, test } from "vitest";
import type { ContentPart } from "../../src/core/content.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelReply, ModelTool } from "../../src/core/model.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import { providerName } from "../../src/wire/provider-name.ts";
import { inCI } from "../ci.ts";
import { answered, called, failed, said } from "../wire/conversations.ts";
import { KEY, hasty, listen, serve, type Heard } from "./listen.ts";
import type { ProviderServer, ServedAnswer } from "./provider-server.ts";
import { FORMATS, NAMES, type Name } from "./served-providers.ts";

const PICTURE = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const satisfies ContentPart;
const SOUND = { type: "audio", mediaType: "audio/wav", data: "UklGRg==" } as const satisfies ContentPart;
const LONG = `${"n".repeat(70)}::größe.of x`;
const TOOLS: readonly ModelTool[] = ["weather::get", "a.b", "a_b", LONG].map((name) => ({
  name,
  description: "Does it.",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
}));

/** A fake provider that remembers, over all rounds, what it signed and must be given back. */
class Player {
  readonly #script: readonly ServedAnswer[];
  readonly #servers = new Map<Name, ProviderServer>();
  readonly messages: ModelMessage[] = [];
  #round = 0;

  /** @param script what each provider says, the last again and again */
  constructor(script: readonly ServedAnswer[] = [SCRIPTED]) {
    this.#script = script;
  }

  /** The user asks, the provider thinks and calls, the calls are answered. */
  round(name: Name): Promise<Heard> {
    this.messages.push(said("user", [{ type: "text", text: `Question ${this.#round}` }, PICTURE, SOUND]));
    return this.goOn(name);
  }

  /** The provider speaks again. */
  async goOn(name: Name): Promise<Heard> {
    const heard = await this.ask(name, TOOLS);
    this.messages.push(...recorded(heard.reply, this.#round++));
    return heard;
  }

  /** Leaves out the calls so far with their results, as a history does that is trimmed. */
  trim(): void {
    this.messages.splice(0, Infinity, ...this.messages.filter(({ role }) => role !== "call" && role !== "result"));
  }

  get bodies(): readonly JsonObject[] {
    return [...this.#servers.values()].flatMap(({ requests }) => requests.map(({ body }) => body));
  }

  /** What each provider refused. */
  get refusals(): readonly string[] {
    return [...this.#servers].flatMap(([name, { requests }]) =>
      requests.flatMap(({ refused }) => refused ?? []).map((why) => `${name}: ${why}`),
    );
  }

  async ask(name: Name, tools: readonly ModelTool[]): Promise<Heard> {
    const server = this.#servers.get(name) ?? (await serve({ format: FORMATS[name], script: this.#script, key: KEY }));
    this.#servers.set(name, server);
    const spec = { provider: name, model: "some-model", baseUrl: server.url, apiKey: KEY, ports: hasty().ports };
    return listen(modelFrom(spec, { environment: {} }), { system: "Be brief.", messages: this.messages, tools });
  }
}

/** Names as a provider is given them: the fakes do not know ours. */
const SCRIPTED: ServedAnswer = {
  text: "I look.",
  reasoning: "They want it all.",
  calls: TOOLS.map(({ name }, index) => ({ name: providerName(name), input: { city: `Oslo ${index} \u{1F327}` } })),
};

function recorded(reply: ModelReply | undefined, round: number): readonly ModelMessage[] {
  const { text = "", native, calls = [] } = reply ?? {};
  const callId = (index: number): string => `own_${round}_${index}`;
  const [, second, third] = calls;
  const results: ModelMessage[] = calls.flatMap(({ name }, index) => {
    if (name === second?.name) return [failed(callId(index), name)];
    if (name === third?.name) return []; // it still runs, or was interrupted
    return [
      answered(callId(index), name, index === 0 ? { content: [{ type: "text", text: "See:" }, PICTURE, SOUND] } : { output: { index } }),
    ];
  });
  return [
    { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) },
    ...calls.map((call, index): ModelMessage => ({ role: "call", at: 0, callId: callId(index), turnId: `turn_${round}`, call })),
    ...results.toReversed(),
  ];
}

/** Each provider in CI; elsewhere the next one, so that each follows one and is followed by one. The last test goes through all of them everywhere. */
function partnersOf(first: Name): readonly Name[] {
  return inCI ? NAMES : [NAMES[(NAMES.indexOf(first) + 1) % NAMES.length] ?? first];
}

const WANTED = TOOLS.map(({ name }, index) => ({ name, input: { city: `Oslo ${index} \u{1F327}` } }));

describe.each(NAMES)("F4.18 a conversation begun with %s", (first) => {
  test.each(partnersOf(first))("continues with %s, and back", async (second) => {
    const player = new Player();
    const heard = [await player.round(first), await player.round(second), await player.round(first), await player.round(second)];
    expect(player.refusals).toEqual([]);
    for (const { error, reply } of heard) {
      expect(error).toBe(undefined);
      expect(reply?.calls.map(({ name, input }) => ({ name, input }))).toEqual(WANTED);
    }
  });
});

/** Whatever is said between two messages of a model. */
const BETWEEN: readonly (readonly [string, (player: Player) => unknown])[] = [
  ["nothing", () => {}],
  ["a note of the loop", ({ messages }) => messages.push(said("system", "The answer is not JSON."))],
  ["a question", ({ messages }) => messages.push(said("user", "Hello?"))],
  ["a trim", (player) => player.trim()],
  ["a trim and a question", (player) => (player.trim(), player.messages.push(said("user", "Hello?")))],
];
const THOUGHT: ServedAnswer = { reasoning: "Hm." };
const ANSWER: ServedAnswer = { text: "Seven.", reasoning: "It is seven." };

describe.each(NAMES)("F4.18 after a message of %s", (first) => {
  const other = NAMES[(NAMES.indexOf(first) + 1) % NAMES.length] ?? first;
  // Outside CI what comes between goes to the one and the other in turn.
  const tried = [first, other].flatMap((second) => BETWEEN.map(([what, between]) => ({ second, what, between })));
  test.each(tried.filter((_, index) => inCI || index % 2 === NAMES.indexOf(first) % 2))(
    "that only thought, answered or called, $second continues after $what",
    async ({ second, between }) => {
      for (const script of [[THOUGHT, ANSWER], [ANSWER], [SCRIPTED, THOUGHT, ANSWER]]) {
        const player = new Player(script);
        const heard = [await player.round(first)];
        for (const name of [second, first]) {
          between(player);
          heard.push(await player.goOn(name));
        }
        expect([player.refusals, heard.map(({ error }) => error?.message)]).toEqual([[], heard.map(() => undefined)]);
      }
    },
  );
});

/** Everything that a history may hold, in every role, half of it at odds with what providers ask for. */
const ODD: readonly ModelMessage[] = (["assistant", "system", "document", "user"] as const).flatMap((role): readonly ModelMessage[] => [
  said(role, ""),
  said(role, " \n"),
  said(role, []),
  said(role, "half \ud800 a pair"),
  said(role, [PICTURE, SOUND, { type: "text", text: "" }, { type: "image", mediaType: "image/tiff", data: "SUkqAA==" }], "T\udc00itle"),
  said(role, [
    { type: "file", uri: "data:application/pdf;base64,JVBERg==", name: "a/b\ud800.pdf" },
    { type: "file", uri: "https://example.com/x" },
  ]),
  said(role, [{ type: "file", uri: "file:///a", text: "What is in it.", mediaType: "text/plain" }], "Notes"),
  called(`${role}_1`, "a.b", { id: "same", turnId: role, input: { "\ud800": "\udc00", __proto__: null, n: 1e300 } }),
  called(`${role}_2`, LONG, { id: "same", turnId: role, input: [1, "two"] }),
  called(`${role}_3`, "gone::tool", { id: `${"x".repeat(300)} \u{1F327}`, turnId: role, input: "{cut" }),
  called(`${role}_4`, "weather::get", { turnId: role }),
  answered(`${role}_4`, "weather::get", { content: [PICTURE, SOUND, { type: "file", uri: "data:application/pdf;base64,JVBERg==" }] }),
  answered(`${role}_4`, "weather::get", { output: "a second result" }),
  answered(`${role}_1`, "a.b", { content: [] }),
  answered("nobody", "a.b", { output: 1 }),
  failed(`${role}_3`, "gone::tool", { content: [PICTURE] }),
]);

describe.each(NAMES)("%s", (name) => {
  test.each([
    ["with tools", TOOLS],
    ["without tools", []],
  ])("F4.18 accepts every kind of message in a history, %s", async (_, tools) => {
    const player = new Player();
    player.messages.push(...ODD, said("user", "And now?"));
    const { error } = await player.ask(name, tools);
    expect([player.refusals, error]).toEqual([[], undefined]);
    expect(JSON.stringify(player.bodies)).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/u);
  });
});

test("F4.18 a conversation passes through all providers, forwards and backwards", async () => {
  const player = new Player();
  for (const name of [...NAMES, ...NAMES.toReversed(), ...NAMES]) expect((await player.round(name)).error).toBe(undefined);
  expect(player.refusals).toEqual([]);
});
