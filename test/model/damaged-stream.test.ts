/** A stream of which one event cannot be read, in every format. */
import { describe, expect, test } from "vitest";
import type { ModelCall } from "../../src/core/model.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import type { ProviderName } from "../../src/model/provider-names.ts";
import type { ServedReply } from "./dialects/dialect.ts";
import { KEY, hasty, listen, serve, type Heard } from "./listen.ts";
import { SERVED_FORMATS, type ServedFormat } from "./provider-server.ts";
import { inCI } from "../ci.ts";

const PROVIDERS: Readonly<Record<ServedFormat, ProviderName>> = {
  "openai-chat": "openai-chat",
  deepseek: "deepseek",
  mistral: "mistral",
  "openai-responses": "openai",
  "anthropic-messages": "anthropic",
  gemini: "gemini",
  "bedrock-converse": "bedrock",
  cohere: "cohere",
  ollama: "ollama",
};
const REPLY: ServedReply = {
  text: "I remove them.",
  reasoning: "They want it gone.",
  calls: ["/tmp/build", "/tmp/cache"].map((path) => ({ name: "rm", input: { path } })),
};
/** More than any format's stream has pieces. */
const TRIES = 60;

/** In CI each format, elsewhere every third. */
const TRIED = SERVED_FORMATS.filter((_, index) => inCI || index % 3 === 0);

describe.each(TRIED)("%s", (format) => {
  test("F4.17 a damaged event fails the stream or leaves the calls unchanged, and never alters them", async () => {
    const script = [REPLY, ...Array.from({ length: TRIES }, (_, damaged) => ({ ...REPLY, delivery: { damaged } }))];
    const server = await serve({ format, script, key: KEY });
    const spec = { provider: PROVIDERS[format], model: "some-model", baseUrl: server.url, apiKey: KEY };
    const heard: Heard[] = [];
    for (const _ of script) heard.push(await listen(modelFrom({ ...spec, ports: hasty().ports }, { environment: {} })));
    const [whole, ...damaged] = heard.map(inputsOf);
    expect(whole?.ended).toEqual(REPLY.calls);
    for (const { sealed, ended } of damaged) {
      expect(sealed).toEqual(REPLY.calls?.slice(0, sealed.length));
      expect(ended ?? REPLY.calls).toEqual(REPLY.calls);
    }
    expect(damaged.some(({ ended }) => ended === undefined)).toBe(true);
  });
});

function inputsOf({ events, reply }: Heard) {
  const made = ({ name, input }: ModelCall): object => ({ name, input });
  return { sealed: events.flatMap((event) => (event.type === "call-seal" ? [made(event.call)] : [])), ended: reply?.calls.map(made) };
}
