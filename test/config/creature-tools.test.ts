import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { configuredRuntime, loadConfig } from "../../src/config/config.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { configFolder, load, problemsOf } from "./config-folder.ts";

const CREATURE = `tools:
  - name: read
    type: builtin
    doc: docs/read.md
  - { name: tree, type: builtin }
  - { name: grep }
  - name: bash
    type: builtin
    timeout: 5
  - name: telepathy
    type: builtin
    range: 5
  - { type: trigger }
  - { name: judge, type: custom, module: ./judge.py, class_name: Judge }
  - { name: info, type: builtin }
`;

async function openRuntime(path: string): Promise<Runtime> {
  const runtime = createRuntime(await configuredRuntime(path, { environment: {} }));
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return runtime;
}

describe("the tools of a KohakuTerrarium creature", () => {
  test("F1.64 bash and python become sandboxed toolsets in the folder of the file, with the timeout of the entry", async () => {
    const text = "tools:\n  - { name: bash, type: builtin, timeout: 5 }\n  - { name: python }\n  - { name: bash }\n";
    const { config } = await load("haft.yaml", text);
    expect(config.registry.map(({ namespace, toolset }) => [namespace, toolset])).toEqual([
      ["shell", { type: "shell", enabled: true, root: ".", timeoutMs: 5_000 }],
      ["python", { type: "python", enabled: true, root: "." }],
    ]);
  });

  test("F1.1 F4.10 an entry that is switched off by enabled or enable gives no tool, and another value than a boolean is refused", async () => {
    const text = "tools:\n  - { name: bash, enabled: false }\n  - { name: read, enable: false }\n  - { name: glob, enabled: true }\n";
    const { config } = await load("haft.yaml", text);
    expect(config.registry.map(({ namespace, toolset }) => [namespace, toolset])).toEqual([
      ["files", { type: "files", enabled: true, root: ".", tools: ["glob"] }],
    ]);
    expect(await problemsOf("haft.yaml", 'tools:\n  - { name: bash, enabled: "false" }\n')).toEqual([
      expect.stringContaining("tools[0].enabled: must be a boolean, not a string."),
    ]);
  });

  test("F1.1 known tools run by their bare names without the rest of their toolset, and doc is the text that info returns", async () => {
    const folder = configFolder({ "haft.yaml": CREATURE, "docs/read.md": "Read it twice.", "a.txt": "apples" });
    const runtime = await openRuntime(join(folder, "haft.yaml"));
    expect(runtime.registry.names().filter((name) => !name.startsWith("haft::"))).toEqual([
      "files::grep",
      "files::list",
      "files::read",
      "manual::info",
      "shell::bash",
    ]);
    const [read, unknown, info] = await runtime.execute([
      { name: "read", input: { path: "a.txt" } },
      { name: "telepathy", input: { command: "ls" } },
      { name: "info", input: { name: "read" } },
    ]);
    expect(JSON.stringify(read?.content)).toContain("apples");
    expect([unknown?.error?.code, info?.output]).toEqual(["not_found", "Read it twice."]);
  });

  test("F1.1 unknown tools are reported once each, with their place", async () => {
    const { warnings } = await load("haft.yaml", CREATURE);
    const names = "read, list, glob, grep, json_read, write, edit, multi_edit, json_write, bash, python";
    const lines = warnings.map((line) => line.slice(line.indexOf("haft.yaml")));
    expect(lines).toEqual([
      `haft.yaml:10:5: tools[4]: there is no built-in tool "telepathy" here, only ${names}; it is left out.`,
      "haft.yaml:12:5: tools[4].range: is not used here.",
      "haft.yaml:13:5: tools[5]: a trigger without a name is not one of add_timer, add_schedule, watch_channel; it is left out.",
      'haft.yaml:14:5: tools[6]: a tool of type "custom" is Python code, which is not run here: serve it over MCP, or write it as a module; it is left out.',
      expect.stringMatching(/^haft\.yaml:14:\d+: tools\[6\]\.module: is not used here\.$/u),
      expect.stringMatching(/^haft\.yaml:14:\d+: tools\[6\]\.class_name: is not used here\.$/u),
      'haft.yaml:15:5: tools[7]: the tool "info" is added automatically where tools have documentation.',
    ]);
  });

  test("F1.1 registry entries are allowed next to them, and an array without built-in tools makes no toolset", async () => {
    const { config } = await load(
      "haft.yaml",
      "tools:\n  - { type: trigger }\n  - { type: inline, namespace: shop, tools: [{ name: buy }] }\n",
    );
    expect(config.registry.map(({ namespace, toolset }) => [namespace, toolset.type])).toEqual([["shop", "inline"]]);
    const [problem] = await problemsOf("haft.yaml", "tools:\n  - { type: builtin }\n");
    expect(problem).toContain('haft.yaml:2:5: tools[0]: "name" is missing: the built-in tool that is meant.');
    expect((await problemsOf("haft.yaml", "tools:\n  - { name: read, doc: ../a.md }\n"))[0]).toContain(
      "tools[0].doc: must lie inside the folder",
    );
  });
});

test("a files toolset has only the chosen tools, and an unknown tool name is refused", async () => {
  const folder = configFolder({ "haft.toml": '[toolsets.notes]\ntype = "files"\nroot = "."\ntools = ["write", "read"]\n' });
  const runtime = await openRuntime(join(folder, "haft.toml"));
  expect(runtime.registry.names("notes")).toEqual(["notes::read", "notes::write"]);
  const wrong = configFolder({ "haft.toml": '[toolsets.notes]\ntype = "files"\nroot = "."\ntools = ["reed"]\n' });
  await expect(loadConfig(join(wrong, "haft.toml"))).rejects.toThrow("toolsets.notes.tools[0]: is not one of read, list");
});
