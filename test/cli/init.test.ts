import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { parseToml } from "../../src/documents/parse-toml.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { initCommand } from "../../src/cli/commands/init-command.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";

const schema = compileSchema(JSON.parse(readFileSync(new URL("../../haft.schema.json", import.meta.url), "utf8")));

/** Types these answers at the questions. */
async function answered(folder: string, answers: readonly string[]): Promise<{ readonly asked: readonly string[]; readonly said: string }> {
  const asked: string[] = [];
  let said = "";
  const screen = screenFor({ write: (text: string) => void (said += text) }, {});
  await initCommand.run({
    args: [],
    options: { out: join(folder, "haft.toml") },
    out: screen,
    err: screen,
    stdin: [] as never,
    environment: {},
    signal: new AbortController().signal,
    ask: async (question: string) => {
      asked.push(question);
      return answers[asked.length - 1];
    },
  } as never);
  return { asked, said };
}

describe("haft init", { timeout: PATIENCE_MS }, () => {
  test("requires approval for every tool that changes files", async () => {
    const folder = folderWith({});
    await haft(["init", "--yes"], { folder });
    const { config } = await loadConfig(join(folder, "haft.toml"));
    const reading = new Set(filesToolset({ root: folder, readOnly: true }).tools?.map(({ name }) => name));
    const { tools = [] } = filesToolset({ root: folder });
    const changing = tools.filter(({ name }) => !reading.has(name)).map(({ name }) => `files::${name}`);
    expect(config.approval.always?.toSorted()).toEqual(changing.toSorted());
  });

  test("--yes writes a working, commented configuration that names its schema", async () => {
    const folder = folderWith({});
    const { exitCode, stdout } = await haft(["init", "--yes"], { folder });
    expect([exitCode, stdout]).toEqual([0, "haft.toml: written\n\nhaft list    the tools\nhaft check   whether everything opens\n"]);
    expect(statSync(join(folder, "haft.toml")).mode & 0o777).toBe(0o666 & ~process.umask());
    const text = readFileSync(join(folder, "haft.toml"), "utf8");
    expect(text).toMatch(/^#:schema file:.*haft\.schema\.json\n# /u);
    const listed = await haft(["list"], { folder });
    expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringContaining("files::read")]);
    expect(await haft(["init", "--yes"], { folder })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("haft.toml already exists."),
    });
    expect(await haft(["init", "--yes", "--overwrite", "--json", "--model", "ollama/qwen3"], { folder })).toMatchObject({
      exitCode: 0,
      stdout: `{"file":"haft.toml","folder":".","model":"ollama/qwen3","shell":false}\n`,
    });
  });

  test("the next steps name the written configuration if it is not one that is found by default", async () => {
    const folder = folderWith({});
    const { stdout } = await haft(["init", "--yes", "--out", "my tools.toml", "--model", "ollama/qwen3"], { folder });
    expect(stdout).toBe(
      "my tools.toml: written\n\nhaft list --config 'my tools.toml'    the tools\nhaft chat --config 'my tools.toml'    talk with the model\nhaft check --config 'my tools.toml'   whether everything opens\n",
    );
    expect((await haft(["list", "--config", "my tools.toml"], { folder })).exitCode).toBe(0);
  });

  test("without a terminal, or next to another configuration, it fails with a hint", async () => {
    const folder = folderWith({ "haft.yaml": "{}" });
    expect((await haft(["init", "--yes"], { folder })).stderr).toContain("There is a configuration here already: haft.yaml.");
    expect((await haft(["init"], { folder: folderWith({}) })).stderr).toContain("Give --yes to take the defaults.");
    expect((await haft(["init", "--yes", "--model", "antropic/x"], { folder: folderWith({}) })).stderr).toContain(
      'Did you mean "anthropic"',
    );
  });

  test("asks three questions, and repeats a question whose answer is invalid", async () => {
    const folder = folderWith({ "work/a.txt": "", "node_modules/haft/haft.schema.json": "{}" });
    const { asked, said } = await answered(folder, ["nowhere", "work", "qwen3", "ollama/qwen3", "perhaps", "y"]);
    expect([asked.length, new Set(asked).size]).toEqual([6, 3]);
    expect(said).toContain('There is no folder "nowhere" here.');
    const { config } = await loadConfig(join(folder, "haft.toml"), { environment: {} });
    expect([...config.toolsets].map(([name, { type }]) => [name, type])).toEqual([
      ["files", "files"],
      ["shell", "shell"],
    ]);
    expect([config.model?.name, config.toolsets.get("shell")]).toEqual(["ollama/qwen3", expect.objectContaining({ root: "./work" })]);
    expect(readFileSync(join(folder, "haft.toml"), "utf8")).toMatch(/^#:schema \.\/node_modules\/haft\/haft\.schema\.json\n/u);
  });

  test("asks for the address of a model server that has no default, and writes it", async () => {
    const folder = folderWith({});
    const { asked, said } = await answered(folder, [
      "",
      "openai-compatible/qwen3",
      "localhost:8000",
      "http://me:pw@localhost:8000",
      "http://localhost:8000/v1",
      "n",
    ]);
    expect([asked.length, new Set(asked).size]).toEqual([6, 4]);
    expect(said).toContain("Type an address that begins with http:// or https://, without a name or password.");
    const { config } = await loadConfig(join(folder, "haft.toml"), { environment: {} });
    expect(config.model).toMatchObject({ name: "openai-compatible/qwen3", baseUrl: "http://localhost:8000/v1" });
    expect((await haft(["check"], { folder })).exitCode).toBe(0);
  });

  test.each([
    ["", "", ""],
    [".", "anthropic/claude-sonnet-5", "yes"],
  ])("for the answers (%j, %j, %j) the file fits its schema, also with all its commented-out settings", async (...answers) => {
    const folder = folderWith({});
    await answered(folder, answers);
    const text = readFileSync(join(folder, "haft.toml"), "utf8");
    expect(schema.problems(parseToml(text, "haft.toml").value)).toEqual([]);
    const all = text.replaceAll(/^# (?=[\w[]+[\w.\]]* ?(?:=|\]|$))/gmu, "");
    const whole = folderWith({ "haft.toml": all });
    expect((await loadConfig(join(whole, "haft.toml"), { environment: {} })).config.toolsets.size).toBe(4);
  });
});
