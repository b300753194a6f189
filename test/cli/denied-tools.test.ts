/** Tools that the permission rules deny: shown to those who write the rules, and marked. */
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, PROJECT, folderWith, haft } from "./run-haft.ts";

const DENIED = 'The permission rules deny math::fail by the pattern "math::fail".';
const folder = folderWith({ ...PROJECT, "haft.toml": `${PROJECT["haft.toml"]}\n[permission]\ndeny = ["math::fail"]\n` });
const run = (...args: readonly string[]) => haft(args, { folder });

const lineOf = (text: string, name: string): string | undefined => text.split("\n").find((line) => line.startsWith(name));

describe.concurrent("denied tools", { timeout: PATIENCE_MS }, () => {
  test.for([["list"], ["list", "math"], ["search", "fail"]])("haft %j marks denied tools only", async (args) => {
    const { exitCode, stdout, stderr } = await run(...args);
    expect({ exitCode, stderr, fail: lineOf(stdout, "math::fail")?.split(/ +/u)[1] }).toEqual({ exitCode: 0, stderr: "", fail: "denied" });
    expect(stdout.split("\n").filter((line) => / denied /u.test(line))).toHaveLength(1);
  });

  test.for([["list"], ["search", "fail"]])("haft %j --json gives the reason for denied tools only", async (args) => {
    const { stdout } = await run(...args, "--json");
    const tools: { readonly name: string; readonly denied?: string }[] = JSON.parse(stdout);
    expect(tools.filter(({ denied }) => denied !== undefined).map(({ name, denied }) => [name, denied])).toEqual([["math::fail", DENIED]]);
  });

  test("haft info says that a tool is denied, and why", async () => {
    const [text, json] = await Promise.all([run("info", "math::fail"), run("info", "math::fail", "--json")]);
    expect([text.exitCode, lineOf(text.stdout, "Denied")?.replace(/^Denied +/u, "")]).toEqual([0, DENIED]);
    expect(JSON.parse(json.stdout)).toMatchObject({ name: "math::fail", denied: DENIED });
  });

  test("haft call does not run it", async () => {
    const { exitCode, stderr } = await run("call", "math::fail");
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining("permission_denied")]);
  });
});
