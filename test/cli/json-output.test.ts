import { describe, expect, test } from "vitest";
import { hasTerminals, runAt } from "./chat-terminal.ts";
import { SessionProject, lines } from "./session-project.ts";
import { PATIENCE_MS, PROJECT, folderWith, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const LISTS = [
  "sessions list",
  "jobs list",
  "approvals list",
  "approvals rules",
  "keys list",
  "schedules list",
  "fleet",
  "audit",
  "audit --limit 1",
  "audit --principal nobody",
];

describe("--json", { timeout: PATIENCE_MS }, () => {
  testInCI("prints only JSON on standard output, whatever tools and their modules print", async () => {
    const noisy = `console.log("loading");
export const noisy = { name: "noisy", description: "Makes a noise.", inputSchema: {}, execute: () => { process.stdout.write("half a line"); console.log("and more"); return 7; } };`;
    const folder = folderWith({ "haft.toml": `[toolsets.n]\ntype = "module"\npath = "./n.mjs"\n`, "n.mjs": noisy });
    const call = await haft(["call", "n::noisy", "--json"], { folder, ownProcess: true });
    expect(JSON.parse(call.stdout)).toMatchObject({ status: "ok", output: 7 });
    expect(call.stderr).toContain("loading\nhalf a lineand more\n");
    const list = await haft(["list", "--json"], { folder, ownProcess: true });
    expect(JSON.parse(list.stdout).map(({ name }: { readonly name: string }) => name)).toContain("n::noisy");
    expect((await haft(["call", "n::noisy"], { folder, ownProcess: true })).stdout).toBe("loading\nhalf a lineand more\n7\n");
  });

  test("prints only JSON at a terminal as well, whether a command finds nothing, everything or a part", async () => {
    const project = new SessionProject();
    const valuesOf = async (line: string): Promise<readonly Record<string, unknown>[]> => {
      const { stdout } = await project.haft([...line.split(" "), "--json"], { columns: 80 });
      return stdout
        .split("\n")
        .filter(Boolean)
        .map((text): Record<string, unknown> => JSON.parse(text));
    };
    const talk = lines({ role: "user", content: "Soft\u00adhyphen." }, { role: "assistant", calls: [{ name: "shop::mail" }] });
    await project.haft(["run", "-", "--session", "one"], { input: talk });
    await project.haft(["keys", "add", "page", "--scope", "read"]);
    const counts: Record<string, number> = {};
    for (const line of LISTS) counts[line] = (await valuesOf(line)).length;
    expect(counts).toEqual({
      ...Object.fromEntries(LISTS.map((line) => [line, 0])),
      "sessions list": 1,
      "keys list": 1,
      audit: 2,
      "audit --limit 1": 1,
    });
    const [rule] = await valuesOf("approvals rules --add shop::*");
    expect(await valuesOf(`approvals rules --revoke ${String(rule?.["id"])}`)).toEqual([{ id: rule?.["id"], revoked: true }]);
    for (const format of ["recording", "openai"]) {
      const { stdout } = await project.haft(["sessions", "export", "one", "--as", format], { columns: 80 });
      expect(stdout).toContain("Soft\\u00adhyphen.");
    }
  });

  test.each([[[]], [["sessions"]], [["store"]]])("a missing command after %j is reported as a JSON error", async (words) => {
    const { exitCode, stdout } = await haft([...words, "--json"], { folder: folderWith(PROJECT) });
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([2, { error: { code: "invalid_argument", message: "A command is missing." } }]);
  });
});

describe.skipIf(!hasTerminals)("at a terminal (needs script of util-linux)", { timeout: PATIENCE_MS }, () => {
  test("an approval prompt can be answered after the input was typed and ended with Ctrl-D", async () => {
    const folder = folderWith({ ...PROJECT, "haft.toml": `${PROJECT["haft.toml"]}\n[approval]\nalways = ["files::write"]\n` });
    const { end } = await runAt(folder, "call files::write -", {
      columns: 80,
      steps: [
        { when: /^/u, keys: '{"path": "new.md", "content": "x"}\n\u0004' },
        { when: "[y]es, [n]o", keys: "y\n" },
      ],
    });
    expect(end).toContain("Created new.md");
    expect(end).toMatch(/exit 0$/u);
  });
});
