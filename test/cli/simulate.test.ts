import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, folderWith, haft, masked } from "./run-haft.ts";
import { SessionProject, jsonLines, lines } from "./session-project.ts";

const PLAN = "# Plan\n\n- buy milk\n";
const CALLS = lines(
  { role: "assistant", content: "I read it.", calls: [{ name: "files::read", input: { path: "plan.md" } }] },
  {
    role: "assistant",
    calls: [
      { name: "files::edit", input: { path: "plan.md", old: "- buy", new: "- [x] buy" } },
      { name: "mail", input: {} },
      { name: "order", input: {} },
      { name: "count", input: {} },
    ],
  },
);

describe.concurrent("haft run --simulate", { timeout: PATIENCE_MS }, () => {
  test("C06 runs reads, simulates everything else, shows what would differ, and changes nothing", async () => {
    const project = new SessionProject();
    const { exitCode, stdout, stderr } = await project.haft(["run", "-", "--simulate"], { input: CALLS });
    const [story = "", end = ""] = masked(stdout).split("\nstate that would differ\n");
    expect({
      exitCode,
      stderr,
      plan: readFileSync(project.path("notes/plan.md"), "utf8"),
      store: existsSync(project.path("haft.db")),
    }).toEqual({
      exitCode: 0,
      stderr: "",
      plan: PLAN,
      store: false,
    });
    expect(
      story
        .split("\n")
        .filter((line) => line.startsWith("  ✓"))
        .map((line) => line.replace(/(?<=simulated {2}\{).*$/u, "…"))
        .toSorted(),
    ).toEqual([
      "  ✓ #1  files::read # ms",
      "  ✓ #2  files::edit # ms  simulated  {…",
      "  ✓ #3  shop::mail # ms  simulated  {…",
      "  ✓ #4  shop::order # ms  simulated  {…",
      "  ✓ #5  shop::count # ms  1",
    ]);
    expect(story).toMatch(/shop::order # ms {2}simulated {2}\{"id":"\w{3,}","items":\[\{"count":\d+\}/u);
    expect(story).toContain("origins      5  3 simulated, 2 live (3 shop, 2 files)");
    expect(story).toContain("not live     3  2 unchecked by example, 1 schema-valid by example; made up, never observed");
    expect(end).toMatch(/^ {2}files read:.*plan\.md: nothing → \{.*\n/u);
    expect(end.slice(end.indexOf("\n") + 1)).toBe(`  shop n: nothing → 1

writes that were only simulated
  file:${project.path("notes/plan.md")}
  mailbox:out
  orders:all

Nothing was changed. Reads were run; all else was simulated, or done on a branch that is dropped.
`);
  });

  test("C06 continues from a stored session, even one that is open elsewhere, and leaves it unchanged", async () => {
    const project = new SessionProject();
    await project.play("travel");
    const before = await project.haft(["sessions", "show", "travel", "--json"]);
    await project.withStore(async (store) => {
      const log = await store.claim("travel");
      const input = lines({ role: "assistant", calls: [{ name: "count" }, { name: "mail" }] });
      const { exitCode, stdout, stderr } = await project.haft(["run", "-", "--simulate", "--session", "travel"], { input });
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/ {2}· simulation: continues after the \d+ events of session travel, which is not changed\n/u);
      expect(stdout).toContain("\n  shop n: 1 → 2\n");
      await log.close();
    });
    expect((await project.haft(["sessions", "show", "travel", "--json"])).stdout).toBe(before.stdout);
  });

  test("starts with empty state for an unknown session, and does not create it", async () => {
    const project = new SessionProject();
    const run = () =>
      project.haft(["run", "-", "--simulate", "--session", "new"], { input: lines({ role: "assistant", calls: [{ name: "count" }] }) });
    const noFile = await run();
    await project.play("travel");
    const noSession = await run();
    expect([noFile, noSession].map(({ exitCode, stdout }) => [exitCode, stdout.includes("  shop n: nothing → 1\n")])).toEqual([
      [0, true],
      [0, true],
    ]);
    expect((await project.haft(["sessions", "list", "--json"])).stdout).not.toContain('"new"');
  });

  test("prints the simulated changes as the last line with --json", async () => {
    const project = new SessionProject();
    const input = lines({ role: "assistant", calls: [{ name: "count" }, { name: "mail" }] });
    const { stdout } = await project.haft(["run", "-", "--simulate", "--json"], { input });
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({ name: "shop::count", origin: "live", output: 1 }),
      expect.objectContaining({ name: "shop::mail", origin: "simulated" }),
      {
        simulation: {
          state: [{ toolset: "shop", key: "n", after: 1, patch: expect.any(Array) }],
          pretended: expect.arrayContaining(["mailbox:out"]),
        },
      },
    ]);
  });
});

describe.concurrent("haft call --simulate", { timeout: PATIENCE_MS }, () => {
  test("C06 simulates a write, and prints on standard error what would change", async () => {
    const project = new SessionProject();
    const input = '{"path": "new.md", "content": "A"}';
    const { stdout, ...end } = await project.haft(["call", "files::write", input, "--simulate"]);
    expect(JSON.parse(stdout)).toMatchObject({ path: "new.md", content: "A" });
    expect(end).toEqual({
      exitCode: 0,
      stderr: `origin: simulated by example (unchecked)

writes that were only simulated
  file:${project.path("notes/new.md")}

Nothing was changed. Reads were run; all else was simulated, or done on a branch that is dropped.
`,
    });
    expect(existsSync(project.path("notes/new.md"))).toBe(false);
  });

  test("runs a read, and prints the result and the simulated changes as two lines with --json", async () => {
    const project = new SessionProject();
    const { exitCode, stdout, stderr } = await project.haft(["call", "files::read", '{"path": "plan.md"}', "--simulate", "--json"]);
    expect([exitCode, stderr, jsonLines(stdout)]).toEqual([
      0,
      "",
      [
        expect.objectContaining({ name: "files::read", origin: "live", status: "ok" }),
        { simulation: expect.objectContaining({ pretended: [] }) },
      ],
    ]);
  });

  test("exits with the exit code of the error", async () => {
    const project = new SessionProject();
    const { exitCode, stderr } = await project.haft(["call", "files::read", '{"path": 5}', "--simulate"]);
    expect([exitCode, stderr.includes("haft: invalid_input: "), stderr.includes("Nothing was changed.")]).toEqual([5, true, true]);
  });
});

describe.concurrent("tools without a handler", { timeout: PATIENCE_MS }, () => {
  const tool = (name: string, effects: string): string =>
    `{ name = "${name}", description = "D.", outputSchema = { type = "object", properties = { n = { type = "integer" } }, required = ["n"] }${effects} }`;
  const tools = [tool("undeclared", ""), tool("reads", ', effects = "readOnly"'), tool("pure", ', effects = "pure"')];
  const files = {
    "haft.toml": `[toolsets.plan]\ntype = "inline"\ntools = [${tools.join(", ")}]\n[toolsets.io]\ntype = "descriptors"\npath = "io.toml"\n`,
    "io.toml": '[ensemble]\nname = "io"\n[[invokers]]\nname = "look"\ndescription = "Looks."\neffects = "readOnly"\n',
  };

  test.each(["plan::undeclared", "plan::reads", "plan::pure", "io::look"])(
    "%s is simulated in a simulation, and not_executable otherwise",
    async (name) => {
      const folder = folderWith(files);
      const simulated = await haft(["call", name, "--simulate", "--json"], { folder });
      expect([simulated.exitCode, JSON.parse(simulated.stdout.slice(0, simulated.stdout.indexOf("\n")))]).toMatchObject([
        0,
        { status: "ok", origin: "simulated", answeredBy: "example" },
      ]);
      const live = await haft(["call", name, "--json"], { folder });
      expect([live.exitCode, JSON.parse(live.stdout)]).toMatchObject([4, { error: { code: "not_executable" } }]);
    },
  );
});
