/** The routing example of seed 000, run as it stands: one namespace is played by a model, the other is a server's. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { legacy, loopbackMcp, toolList } from "../engine/mcp/loopback-mcp.ts";
import { startProviderServer, type ServedAnswer } from "../model/provider-server.ts";
import { configFolder } from "./config-folder.ts";
import { testInCI } from "../test-in-ci.ts";

const ROUTING = readFileSync(join(import.meta.dirname, "seeds/routing.yaml.txt"), "utf8");
const FAULTS = readFileSync(join(import.meta.dirname, "seeds/error-simulation.yaml.txt"), "utf8");
const WEATHER = `get_weather:
  description: Tells the weather.
  parameters: { type: object, properties: { city: { type: string } }, required: [city] }
  output_parameters: { type: object, properties: { sky: { type: string }, degrees: { type: number } }, required: [sky, degrees] }
`;

const weather = (city: string) => ({ name: "weather_api::get_weather", input: { city } });

async function seedRuntime(script: readonly ServedAnswer[]) {
  const ollama = await startProviderServer({ format: "ollama", script });
  onTestFinished(() => ollama.close());
  const staff = await loopbackMcp({
    ...legacy(),
    "tools/list": () => toolList(["find_person"]),
    "tools/call": () => ({ content: [{ type: "text", text: "Ada is in room 7" }] }),
  });
  const port = new URL(staff.url).host; // the example names port 8080, which another program of this machine may have
  const folder = configFolder({ "haft.yaml": ROUTING.replaceAll("localhost:8080", port), "weather_tools.yaml": WEATHER });
  const options = await configuredRuntime(join(folder, "haft.yaml"), { environment: { OLLAMA_HOST: ollama.url } });
  const runtime = createRuntime({ ...options, ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  return { runtime, ollama, staff };
}

test("F0.40 F0.51 F0.55 F0.56 calls of both namespaces run in one session, and the model sees the server's results", async () => {
  const { runtime, ollama, staff } = await seedRuntime([
    { text: '{"sky": "clear", "degrees": 21}' },
    { text: '{"sky": "rain", "degrees": 12}' },
  ]);
  const session = runtime.session();
  const first = await session.execute([weather("Rome"), { name: "hr_api::find_person", input: {} }]);
  const second = await session.execute([weather("Oslo")]);

  expect(
    [...first, ...second].map(({ status, origin, answeredBy, output, content }) => [status, origin, answeredBy, output ?? content]),
  ).toEqual([
    ["ok", "simulated", "lm", { sky: "clear", degrees: 21 }],
    ["ok", "live", undefined, [{ type: "text", text: "Ada is in room 7" }]],
    ["ok", "simulated", "lm", { sky: "rain", degrees: 12 }],
  ]);
  expect(staff.asked.filter(({ method }) => method === "tools/call")).toHaveLength(1);

  const [one, two] = ollama.requests.map(({ body }) => messagesOf(body));
  expect(one?.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(two?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user", "assistant", "user"]);
  expect(two?.map(({ content }) => content).join("\n")).toMatch(/Rome[^]*"sky"[^]*hr_api::find_person[^]*room 7[^]*Oslo/u);
  expect(ollama.requests.map(({ body }) => [body["model"], body["format"]])).toEqual([
    ["granite3.3:8b", expect.objectContaining({ type: "object" })],
    ["granite3.3:8b", expect.objectContaining({ type: "object" })],
  ]);
});

test("F0.43 F0.44 prose instead of JSON in a reply is a failed result, which the next request contains", async () => {
  const { runtime, ollama } = await seedRuntime([{ text: "It is sunny, I think." }, { text: '{"sky": "rain", "degrees": 12}' }]);
  const session = runtime.session();
  const [failed] = await session.execute([weather("Rome")]);
  await session.execute([weather("Oslo")]);

  expect(failed).toMatchObject({ status: "error", error: { code: "invalid_output" }, origin: "simulated" });
  expect(messagesOf(ollama.requests[1]?.body ?? {}).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(messagesOf(ollama.requests[1]?.body ?? {})[2]?.content).toMatch(/error/iu);
});

test("F0.40 a provider's refusal is a typed error of its own namespace only", async () => {
  const { runtime } = await seedRuntime([{ status: 400, message: "no such model" }]);

  expect(await runtime.execute([weather("Rome"), { name: "hr_api::find_person", input: {} }])).toMatchObject([
    { status: "error", error: { message: expect.stringContaining("no such model") } },
    { status: "ok" },
  ]);
});

testInCI(
  "F0.46 F0.47 of 1,000 calls the configured share fails, at once and without asking the model, the same calls each time",
  async () => {
    const ollama = await startProviderServer({ format: "ollama", script: [{ text: '{"sky": "clear", "degrees": 21}' }] });
    onTestFinished(() => ollama.close());
    const text = `tools: [{ type: file, path: weather_tools.yaml, namespace: weather_api, engine: lm_sim }]
runtime: { maxAttempts: 5 }
${FAULTS}`;
    const folder = configFolder({ "haft.yaml": text, "weather_tools.yaml": WEATHER });

    const faultsOf = async (sessions: readonly string[]): Promise<readonly (readonly [id: string, met: string])[]> => {
      const options = await configuredRuntime(join(folder, "haft.yaml"), { environment: { OLLAMA_HOST: ollama.url } });
      await using runtime = createRuntime({ ...options, ports: fakePorts() }); // a wait before another attempt would never end
      await runtime.open();
      const met = await Promise.all(
        sessions.map(async (id) => {
          const { fault = "none", status, error, output, attempts } = await runtime.session(id).execute(weather(id));
          const said = error?.message ?? (typeof output === "string" ? output.slice(0, 9) : "");
          return [id, `${fault} ${status} ${attempts} ${said}`] as const;
        }),
      );
      return met.toSorted(([one], [other]) => (one < other ? -1 : 1));
    };

    const ids = Array.from({ length: 1_000 }, (_, index) => `s${index}`);
    const met = await faultsOf(ids);
    const count = (what: string): number => met.filter(([, said]) => said === what).length;
    const counts = [
      count("network_error error 1 Connection timed out"),
      count("schema_violation error 1 Tool execution failed"),
      count("unparseable_result ok 1 <garbled:"),
    ];
    // 5 % each, less where several hit at once: 47.5 of 1,000, and three times the 6.7 that such a count is off by chance.
    for (const found of counts) expect(Math.abs(found - 47.5)).toBeLessThan(21);
    const failed = counts.reduce((sum, found) => sum + found, 0);
    expect(count("none ok 1 ")).toBe(1_000 - failed);
    expect(ollama.requests).toHaveLength(1_000 - failed);
    expect(await faultsOf(ids.slice(0, 200).toReversed())).toEqual(met.filter(([id]) => Number(id.slice(1)) < 200));
  },
);

function messagesOf(body: JsonObject): readonly { readonly role: unknown; readonly content: string }[] {
  const messages = body["messages"];
  if (!Array.isArray(messages)) throw new Error("no messages");
  return messages.map((message) => ({
    role: Reflect.get(Object(message), "role"),
    content: String(Reflect.get(Object(message), "content")),
  }));
}
