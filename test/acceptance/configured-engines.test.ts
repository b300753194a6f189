/** `type: multi` of a configuration: one engine that routes each call to others by its namespace (seed 000). */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configFolder, problemsOf } from "../config/config-folder.ts";

const stub = (said: string): string => `{ type: stub, stubs: [{ tool: "*", output: ${said} }] }`;
const entry = (namespace: string, more = ""): string => `    - { type: inline, namespace: ${namespace}, tools: [{ name: ask }]${more} }\n`;

function answersOf(yaml: string, names: readonly string[]): Promise<readonly unknown[]> {
  return answersIn(configFolder({ "haft.yaml": yaml }), names);
}

async function answersIn(folder: string, names: readonly string[]): Promise<readonly unknown[]> {
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.yaml"), { environment: {} })), ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return (await runtime.session("s").execute(names.map((name) => ({ name })))).map(({ output, error }) => output ?? error?.code);
}

test("F0.51 F0.58 a multi engine routes by namespace, to engines that are named and to its own, and keeps the order", async () => {
  const yaml = `tools:
  registry:
${entry("sea", ", engine: all")}${entry("land", ", engine: all")}${entry("air", ", engine: wind")}${entry("coast", ", engine: all")}  engines:
    all:
      type: multi
      engines:
        sea: ${stub("waves")}
        land: soil
        coast: soil
    soil: ${stub("earth")}
    wind: ${stub("gusts")}
`;
  expect(await answersOf(yaml, ["land::ask", "sea::ask", "coast::ask", "air::ask", "sea::ask"])).toEqual([
    "earth",
    "waves",
    "earth",
    "gusts",
    "waves",
  ]);
});

test("F0.58 a multi engine alone answers for every entry that names none, each by its namespace", async () => {
  const yaml = `tools:
  registry:
${entry("sea")}${entry("land")}${entry("moon")}  engines:
    all: { type: multi, engines: { sea: ${stub("waves")}, land: ${stub("earth")} } }
`;
  expect(await answersOf(yaml, ["land::ask", "sea::ask", "moon::ask"])).toEqual(["earth", "waves", "not_executable"]);
});

test.each([
  ["a file", "    - { type: file, path: x.yaml, engine: all }\n"],
  ["a file under the only engine", "    - { type: file, path: x.yaml }\n"],
  [
    "a list",
    "    - { type: inline, engine: all, tools: [{ name: ask, namespace: sea }, { name: ask, namespace: land }, { name: ask, namespace: moon }] }\n",
  ],
])("F0.58 issue 18 a multi engine routes the tools of %s by the namespaces that they say themselves", async (_what, line) => {
  const folder = configFolder({
    "haft.yaml": `tools:\n  registry:\n${line}  engines:\n    all: { type: multi, engines: { sea: ${stub("waves")}, land: ${stub("earth")} } }\n`,
    "x.yaml": "- { name: ask, namespace: sea }\n- { name: ask, namespace: land }\n- { name: ask, namespace: moon }\n",
  });
  expect(await answersIn(folder, ["land::ask", "sea::ask", "moon::ask"])).toEqual(["earth", "waves", "not_executable"]);
});

test("F0.58 a multi engine that says no routes leaves its entries to the only other engine", async () => {
  const yaml = `tools:
  registry:
${entry("sea", ", engine: all")}  engines:
    all: { type: multi }
    soil: ${stub("earth")}
`;
  expect(await answersOf(yaml, ["sea::ask"])).toEqual(["earth"]);
});

test.each([
  [
    "a namespace that it does not route",
    entry("moon", ", engine: all"),
    "{ sea: soil }",
    /tools\.registry\[0\]\.engine: .*"all".*sea.*"moon"/u,
  ],
  [
    "an entry that says no namespace",
    "    - { type: mcp, command: [x], engine: all }\n",
    "{ sea: soil }",
    /tools\.registry\[0\]\.engine: .*namespace/u,
  ],
  ["an engine that is not there", entry("sea", ", engine: all"), "{ sea: sand }", /tools\.engines\.all\.engines\.sea: no engine "sand"/u],
  ["another multi", entry("sea", ", engine: all"), "{ sea: all }", /tools\.engines\.all\.engines\.sea: .*multi/u],
  ["a route that is neither a name nor an engine", entry("sea", ", engine: all"), "{ sea: 5 }", /tools\.engines\.all\.engines\.sea/u],
  [
    "an engine of its own with a wrong key",
    entry("sea", ", engine: all"),
    "{ sea: { type: stub } }",
    /tools\.engines\.all\.engines\.sea.*stubs/u,
  ],
])("F0.53 F0.57 a multi engine with %s is refused with its place", async (_what, registry, routes, problem) => {
  const yaml = `tools:
  registry:
${registry}  engines:
    all: { type: multi, engines: ${routes} }
    soil: ${stub("earth")}
`;
  expect(await problemsOf("haft.yaml", yaml)).toEqual([expect.stringMatching(problem)]);
});
