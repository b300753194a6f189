import { describe, expect, test } from "vitest";
import { folderWith, haft, PATIENCE_MS } from "./run-haft.ts";

const CONFIG = `
[toolsets.shop]
type = "inline"
engine = "replies"
tools = [
  { name = "find", description = "Finds books.", parameters = { type = "object", properties = { title = { type = "string" } }, required = ["title"] }, effects = { reads = ["books"], writes = [] } },
  { name = "order", description = "Orders a book.", parameters = { type = "object", properties = { id = { type = "integer" }, copies = { type = "integer" } }, required = ["id"] } },
]

[engines.replies]
type = "stub"
stubs = [{ tool = "find", output = { books = [{ id = 7 }] } }, { tool = "order", output = { order = "o-1" } }]

[toolsets.trips]
type = "chains"

[toolsets.trips.chains.book]
description = "Finds a book and orders it."
answerKey = "receipt"
[[toolsets.trips.chains.book.steps]]
tool = "shop::find"
inputMapping = { title = "title" }
outputKey = "found"
[[toolsets.trips.chains.book.steps]]
tool_name = "shop::order"
input_mapping = { id = "found.books[0].id", copies = { path = "copies", default = 2 } }
output_key = "receipt"
`;
const BROKEN = `${CONFIG}
[toolsets.trips.chains.broken]
description = "Cannot be run."
[[toolsets.trips.chains.broken.steps]]
tool = "shop::fnd"
[[toolsets.trips.chains.broken.steps]]
tool = "shop::order"
inputMapping = { copies = "found" }
`;

describe.concurrent("haft chain", { timeout: PATIENCE_MS }, () => {
  test("F2.26 run shows the steps and prints the context; --json prints the whole result", async () => {
    const folder = folderWith({ "haft.toml": CONFIG });
    const { exitCode, stdout, stderr } = await haft(["chain", "run", "book", '{"title": "Emma"}'], { folder });
    expect({ exitCode, context: JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      context: { title: "Emma", found: { books: [{ id: 7 }] }, receipt: { order: "o-1" } },
    });
    expect(stderr).toMatch(/✓ #1 {2}shop::find .*\n.*→ #2 {2}shop::order {2}\{"id":7,"copies":2\}/u);
    const whole = await haft(["chain", "run", "trips::book", "-", "--json"], { folder, input: '{"title": "Emma", "copies": 5}' });
    expect(JSON.parse(whole.stdout)).toMatchObject({ success: true, errors: [], stepResults: [{ status: "ok" }, { status: "ok" }] });
    expect(whole.stderr).toBe("");
  });

  test("a chain is listed, called and simulated like any other tool", async () => {
    const folder = folderWith({ "haft.toml": CONFIG });
    const called = await haft(["call", "trips::book", '{"title": "Emma"}'], { folder });
    expect(called).toMatchObject({ exitCode: 0, stdout: '{\n  "order": "o-1"\n}\n' });
    const tried = await haft(["call", "trips::book", '{"title": "Emma"}', "--simulate"], { folder });
    expect(tried).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("Nothing was changed.") });
    expect((await haft(["list"], { folder })).stdout).toContain("trips::book");
  });

  test("F2.27 a failed step is reported with its position and determines the exit code", async () => {
    const folder = folderWith({ "haft.toml": CONFIG });
    const { exitCode, stderr } = await haft(["chain", "run", "book", "{}"], { folder });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 5,
      stderr:
        'Step 0 of the chain (shop::find): the argument "title" comes from "title", which does not exist: "title" is not in the context, an empty object.\n',
    });
  });

  test("F2.25 haft chain check and haft check report every step that cannot run; haft chain run then runs no step", async () => {
    const folder = folderWith({ "haft.toml": BROKEN });
    const { exitCode, stdout } = await haft(["chain", "check"], { folder });
    expect({ exitCode, stdout }).toEqual({
      exitCode: 3,
      stdout: `✓ trips::book  2 steps
✗ trips::broken  2 steps
    Step 0 of the chain: No tool "shop::fnd". Did you mean "shop::find"?
    Step 1 of the chain (shop::order): $.id: required field missing
`,
    });
    expect(await haft(["check"], { folder })).toMatchObject({
      exitCode: 3,
      stdout: expect.stringContaining('broken: Step 0 of the chain: No tool "shop::fnd"'),
    });
    const run = await haft(["chain", "run", "broken"], { folder });
    expect(run).toMatchObject({ exitCode: 5, stderr: expect.not.stringContaining("→ #1") });
  });

  test("haft chain check reports a chain that calls itself", async () => {
    const own = '[toolsets.trips.chains.own]\ndescription = "Calls itself."\nsteps = [{ tool = "shop::find" }, { tool = "own" }]\n';
    const { exitCode, stdout } = await haft(["chain", "check", "own", "--json"], {
      folder: folderWith({ "haft.toml": `${CONFIG}${own}` }),
    });
    expect({ exitCode, problems: JSON.parse(stdout).problems }).toMatchObject({
      exitCode: 3,
      problems: [{ step: 1, message: expect.stringContaining("a chain calls itself: trips::own → trips::own.") }],
    });
  });

  test("a run in a session continues after its completed steps, and refuses a different input", async () => {
    const folder = folderWith({ "haft.toml": CONFIG });
    const args = ["chain", "run", "book", '{"title": "Emma"}', "--session", "s", "--store", "haft.db"];
    const first = await haft(args, { folder });
    const again = await haft(args, { folder });
    expect(again.stdout).toBe(first.stdout);
    expect(again.stderr).not.toContain("→ #1");
    const other = await haft(args.with(3, '{"title": "Persuasion"}'), { folder });
    expect(other).toMatchObject({
      stderr: expect.stringContaining('conflict: The session "s" has a run of the chain "trips::book" with another input'),
    });
    expect(other.stderr).toContain("another --session to begin a new run");
    expect(other.exitCode).not.toBe(0);
  });

  test.each([
    [["run", "nope"], 4, 'There is no chain "nope" in haft.toml.'],
    [["run", "bok"], 4, "Known chains: trips::book"],
    [["run", "book", "[1]"], 5, "The input of the chain is not an object."],
    [["run", "book", "{"], 5, "The input of the chain: "],
    [["run"], 2, "haft chain run"],
  ])("%j exits with %i and says why", async (args, code, said) => {
    const folder = folderWith({ "haft.toml": CONFIG });
    const { exitCode, stderr } = await haft(["chain", ...args], { folder });
    expect({ exitCode, stderr }).toEqual({ exitCode: code, stderr: expect.stringContaining(said) });
  });
});
