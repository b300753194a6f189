/** The tool files, loader shapes and tasks of the project of seed 000. Figures are printed, caps are generous. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { fileSource } from "../../src/config/tools/file-source.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { configError } from "./config-folder.ts";
import { loadSource, namesOf } from "./source-context.ts";
import { testInCI } from "../test-in-ci.ts";

const CASES = process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../shared/cases");
const FOLDER = join(CASES, "fms-dgt");

describe.skipIf(!existsSync(FOLDER))("the files of the fms-dgt project (skipped without the case folder)", () => {
  const shapes: Readonly<Record<string, readonly string[]>> = {
    "atis.yaml": ["default: atis_abbreviation atis_aircraft atis_flight atis_airfare"],
    "glaive.yaml": ["default: add add_calendar_event add_contact add_contacts"],
    "multiwoz.yaml": ["default: book_hotel find_hotel book_restaurant find_train"],
    "sgd.yaml": ["default: AddEvent BookAppointment BookHouse BuyBusTicket"],
    "shape1_multi.yaml": ["api: tool_a tool_b tool_c"],
    "shape1_single.json": ["json_api: lookup"],
    "shape1_single.yaml": ["my_api: search"],
    "shape2_list.json": ["default: lookup"],
    "shape2_list.yaml": ["default: lookup search"],
    "shape3_with_tool_namespace.yaml": ["tool_ns: search"],
  };

  test("F0.14 every file shape has an expectation in this test", () => {
    expect(readdirSync(join(FOLDER, "loader-shapes")).sort()).toEqual(Object.keys(shapes).sort());
  });

  test.each(Object.entries(shapes))(
    "F0.14 F0.15 %s loads with the namespaces, names and schemas in its content",
    async (name, expected) => {
      const path = join(FOLDER, "loader-shapes", name);
      const { toolsets, warnings } = await loadSource(fileSource({ path }));

      expect(namesOf(toolsets)).toEqual(expected);
      expect(warnings).toEqual([]);
      expect(toolsets.flatMap((toolset) => toolset.tools ?? []).map((tool) => tool.inputSchema)).toEqual(
        definitionsIn(path).map((definition) => definition.parameters),
      );
    },
  );

  testInCI("F0.14 L22 all large tool files load completely, with the same result each time", { timeout: 240_000 }, async () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith("-query_tools.yaml"));
    const startedAt = performance.now();
    const loaded = [];
    for (const file of files) loaded.push(await loadSource(fileSource({ path: join(FOLDER, file), namespace: basename(file, ".yaml") })));
    const ms = performance.now() - startedAt;
    const tools = loaded.flatMap(({ toolsets }) => toolsets.flatMap((toolset) => toolset.tools ?? []));
    console.log(`${tools.length} tools of ${files.length} files in ${Math.round(ms)} ms`);

    expect(loaded.flatMap(({ warnings }) => warnings)).toEqual([]);
    expect(tools.map(({ name }) => name)).toEqual(files.flatMap((file) => definitionsIn(join(FOLDER, file)).map(({ name }) => name)));
    expect(await loadSource(fileSource({ path: join(FOLDER, files[0] ?? ""), namespace: basename(files[0] ?? "", ".yaml") }))).toEqual(
      loaded[0],
    );
  });

  const tasks = existsSync(FOLDER) ? readdirSync(join(FOLDER, "tasks")) : [];

  test.each(tasks)("F0.56 J05 the tools of the task %s are read, with its path variable expanded once it is allowed", async (name) => {
    const path = join(FOLDER, "tasks", name);
    const environment = { DGT_DATA_DIR: "/data" };
    const { config } = await loadConfig(path, { foreignKeys: true, environment, allowVariables: ["DGT_DATA_DIR"] });
    const task: Task = parse(readFileSync(path, "utf8"));

    expect(config.registry.map(({ toolset, namespace }) => ({ ...toolset, namespace }))).toEqual(
      task.tools.registry.map(({ path: file, ...entry }) => ({ ...entry, enabled: true, path: file.replace("${DGT_DATA_DIR}", "/data") })),
    );
    const { type, model_id_or_path, base_url, n, temperature, max_new_tokens, ...others } =
      task.tools.engines["lm_simulator"]?.lm_config ?? {};
    expect([type, others]).toEqual(["openai", {}]);
    expect(config.engines.get("lm_simulator")).toMatchObject({
      type: "lm",
      model: { name: `openai-compatible/${String(model_id_or_path)}`, baseUrl: base_url },
      settings: { candidates: n, temperature, maxOutputTokens: max_new_tokens },
    });
    expect(config.enrichments).toMatchObject([
      { type: "output_parameters", lm: { model: { name: "openai-compatible/openai/gpt-oss-20b" } } },
      { type: "other", enrichmentType: "embeddings" },
      { type: "neighbors" },
    ]);

    const refused = await configError(loadConfig(path, { foreignKeys: true, environment }));
    expect(refused.details[0]).toMatch(
      /tools\.registry\[0\]\.path: the variable DGT_DATA_DIR is not allowed in a path; name it under allow in variables\.$/u,
    );
  });
});

interface Task {
  readonly tools: {
    readonly registry: readonly { readonly path: string; readonly namespace: string }[];
    readonly engines: Readonly<Record<string, { readonly lm_config: Readonly<Record<string, unknown>> }>>;
    readonly enrichments: readonly object[];
  };
}

interface Definition {
  readonly name: string;
  readonly parameters: object;
}

/** As another reader of YAML has them, whatever the shape. */
function definitionsIn(path: string): readonly Definition[] {
  const value: Readonly<Record<string, Definition | readonly Definition[]>> | readonly Definition[] = parse(readFileSync(path, "utf8"));
  return Array.isArray(value) ? value : Object.values(value).flat();
}
