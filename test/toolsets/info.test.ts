import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { documentationOf } from "../../src/registry/documentation.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { infoToolset, readOverrides, type InfoOptions } from "../../src/toolsets/info.ts";

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", description: "The file.\nIn the workspace." },
    mode: { enum: ["replace", "append"], default: "replace" },
    lines: { type: "array", items: { type: "object", properties: { at: { type: "integer", minimum: 1 } }, required: ["at"] } },
    id: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
  required: ["path"],
} as const;

function make(name: string, more: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object" }, execute: () => name, ...more };
}

function withInfo(tools: readonly Tool[], options?: InfoOptions): Runtime {
  const runtime = createRuntime({ tools });
  runtime.registry.addToolset(infoToolset(options));
  return runtime;
}

const info = (name: string): { readonly name: string; readonly input: { readonly name: string } } => ({ name: "info", input: { name } });

describe("info", () => {
  test("F1.45 an unknown tool is an error with near names", async () => {
    const runtime = withInfo([make("edit"), make("read")]);
    const { error } = await runtime.execute(info("edti"));
    expect([error?.code, error?.message]).toEqual(["not_found", 'No tool "edti". Did you mean "edit"?']);
  });

  test("F1.45 F3.37 a hidden tool has no documentation, and no error names it", async () => {
    const runtime = withInfo([make("edit", { documentation: "Secret." }), make("read")]);
    const allow = { deny: ["*::edit"] };
    const [hidden, misspelt] = await runtime.execute([info("edit"), info("edti")], { allow });
    expect([hidden?.error?.code, misspelt?.error?.message]).toEqual(["permission_denied", 'No tool "edti".']);
    expect(JSON.stringify([hidden, misspelt])).not.toContain("Secret");
  });

  test("F1.5 F1.45 returns an override before the tool's own documentation, and that before the description", async () => {
    const tools = [make("a", { documentation: "Own a." }), make("b", { documentation: "Own b." }), make("c")];
    const runtime = withInfo(tools, { overrides: new Map([["default::a", "Ours a."]]) });
    const results = await runtime.execute([info("a"), info("b"), info("c")]);
    expect(results.map(({ output }) => output)).toEqual(["Ours a.", "Own b.", "Does c.\n\nIt takes no particular parameters."]);
  });

  test("F1.45 an override for the qualified name takes precedence over one for the bare name", async () => {
    const overrides = new Map([
      ["a", "Any a."],
      ["default::a", "This a."],
    ]);
    const { output } = await withInfo([make("a")], { overrides }).execute(info("a"));
    expect(output).toBe("This a.");
  });

  test("F1.45 F1.7 overrides can depend on the data of the session, and reading one unlocks the tool in that session", async () => {
    const overrides = new Map([["gated", "For agent one."]]);
    const runtime = withInfo([make("gated", { documentation: "For all.", requiresReading: true })], {
      overrides: ({ data }) => (data["agent"] === "one" ? overrides : undefined),
    });
    const [one, two] = [runtime.session(), runtime.session()];
    const [first] = await one.execute([info("gated")], { data: { agent: "one" } });
    const [other] = await two.execute([info("gated")]);
    const [unlocked] = await one.execute([{ name: "gated", input: {} }]);
    expect([first?.output, other?.output, unlocked?.output]).toEqual(["For agent one.", "For all.", "gated"]);
  });

  test("F1.45 accepts the provider name of a tool", async () => {
    const runtime = createRuntime({ toolsets: [{ name: "files", tools: [make("edit", { documentation: "How." })] }] });
    await runtime.open();
    runtime.registry.addToolset(infoToolset());
    expect((await runtime.execute(info("files__edit"))).output).toBe("How.");
  });

  test("F1.45 runs in a simulation, where it unlocks nothing outside of it", async () => {
    const runtime = withInfo([make("gated", { requiresReading: true })]);
    const session = runtime.session();
    const { results } = await session.simulate([info("gated")]);
    const [after] = await session.execute([{ name: "gated", input: {} }]);
    expect([results[0]?.status, after?.error?.code]).toEqual(["ok", "permission_denied"]);
  });
});

describe("the documentation of a definition", () => {
  test("F1.45 is the description, with the schemas as lines", () => {
    const { registry } = createRuntime({ tools: [make("edit", { inputSchema: SCHEMA, outputSchema: { type: "integer" } })] });
    expect(documentationOf(registry, "edit")).toEqual({
      name: "default::edit",
      text: [
        "Does edit.",
        "",
        "Parameters:",
        "- path (string, required): The file. In the workspace.",
        '- mode ("replace" | "append", default "replace")',
        "- lines (array of object)",
        "  - at (integer, required, at least 1)",
        "- id (string | null)",
        "",
        "Result:",
        'JSON Schema: {"type":"integer"}',
      ].join("\n"),
    });
  });

  test("F1.45 of overloads does not depend on the order of registration", () => {
    const tools = ["x", "y", "z"].map((key) =>
      make("find", { inputSchema: { type: "object", properties: { [key]: { type: "string" } } } }),
    );
    const texts = [tools, tools.toReversed()].map((list) => {
      const { registry } = createRuntime();
      for (const one of list) registry.register(one, "default", { overload: true });
      return documentationOf(registry, "find").text;
    });
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]?.match(/^- [xyz] /gmu)).toEqual(["- x ", "- y ", "- z "]);
  });

  test("F1.45 of a schema with thousands of properties is cut, and each name stays on its line", () => {
    const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}\n## System`, { type: "string" }]));
    const { registry } = createRuntime({ tools: [make("wide", { inputSchema: { type: "object", properties } })] });
    const lines = documentationOf(registry, "wide").text.split("\n");
    expect([lines.length, lines.at(-1), lines.filter((line) => line.startsWith("##"))]).toEqual([
      404,
      "- … and more that is not shown here.",
      [],
    ]);
  });
});

describe("override files", () => {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  async function temporary(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "haft-info-"));
    folders.push(folder);
    return folder;
  }

  test("F1.45 a missing folder and a file that is not text are rejected", async () => {
    const folder = await temporary();
    await expect(readOverrides(join(folder, "none"))).rejects.toMatchObject({ code: "invalid_config" });
    await writeFile(join(folder, "a.md"), new Uint8Array([0xff, 0xfe, 0x00]));
    await expect(readOverrides(folder)).rejects.toMatchObject({ code: "invalid_config" });
  });

  test("F1.45 info returns the text of a file, for a tool by its bare name or by its toolset", async () => {
    const folder = await temporary();
    await mkdir(join(folder, "files"));
    await mkdir(join(folder, "files", "deep"));
    await writeFile(join(folder, "edit.md"), "Every edit.\n");
    await writeFile(join(folder, "files", "edit.md"), "Edits of files.\n");
    await writeFile(join(folder, "files", "deep", "edit.md"), "Not looked at.");
    await writeFile(join(folder, "notes.txt"), "Not looked at.");
    await symlink(join(folder, "edit.md"), join(folder, "linked.md"));
    const overrides = await readOverrides(folder);
    expect([...overrides]).toEqual([
      ["edit", "Every edit."],
      ["files::edit", "Edits of files."],
      ["linked", "Every edit."],
    ]);
    const { output } = await withInfo([make("edit", { documentation: "Own." })], { overrides }).execute(info("edit"));
    expect(output).toBe("Every edit.");
  });
});
