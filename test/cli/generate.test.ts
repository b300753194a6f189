import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { jsonLines, lines } from "./session-project.ts";
import { PATIENCE_MS, PROGRAM, PROJECT, folderWith, haft, masked } from "./run-haft.ts";
import { REAL } from "./generate-project.ts";
import { calling, chatProject } from "./chat-project.ts";
import { testInCI } from "../test-in-ci.ts";

function summaryOf(stdout: string): string {
  return masked(stdout).replace(/[\d,]+ calls\/s, at most \d+ MB/u, "# calls/s, at most # MB");
}

describe.concurrent("issue 6.7 haft generate", { timeout: PATIENCE_MS }, () => {
  test("without file, model and key, calls are simulated and reported as simulated, and no real tool runs", async () => {
    const folder = folderWith(REAL);
    const { exitCode, stdout, stderr } = await haft(["generate", "--out", "train.jsonl", "--calls", "4"], { folder });
    expect({ exitCode, stderr, stdout: summaryOf(stdout) }).toEqual({
      exitCode: 0,
      stderr: "",
      stdout: `conversations 10  in train.jsonl
calls         40  40 ok
parallel       5  messages with several calls
answers       40  40 simulated by example (schema-valid)
checked           0 dangling ids, 0 unresolved references, 0 duplicates
described         in train.card.md
time # ms, # calls/s, at most # MB of memory
At most 3 of 4 tools in a row take what an earlier one returns; where a chain ends, another begins.
`,
    });
    const made = jsonLines(readFileSync(join(folder, "train.jsonl"), "utf8"));
    expect(made.length).toBe(10);
    expect(JSON.stringify(made)).not.toContain("this was real");
  });

  test("--no-parallel-calls generates no message with several calls, and the card says so", async () => {
    const folder = folderWith(REAL);
    const args = ["generate", "--sample", "random", "--calls", "6", "--out"];
    const some = await haft([...args, "some.jsonl"], { folder });
    const none = await haft([...args, "none.jsonl", "--no-parallel-calls"], { folder });
    expect([some.stdout, none.stdout]).toEqual([
      expect.stringMatching(/^parallel +\d+ {2}messages? with several calls$/mu),
      expect.not.stringContaining("several calls"),
    ]);
    expect(readFileSync(join(folder, "none.card.md"), "utf8")).toContain("| messages with several calls | 0 |");
  });

  testInCI("the same seed generates the same file at any concurrency; another seed generates another", async () => {
    const folder = folderWith(REAL);
    const options = ["generate", "--count", "20", "--seed"];
    await Promise.all([
      haft([...options, "7", "--out", "one.jsonl", "--concurrency", "1"], { folder }),
      haft([...options, "7", "--out", "two.jsonl", "--concurrency", "32"], { folder }),
      haft([...options, "8", "--out", "other.jsonl"], { folder }),
    ]);
    const [one, two, other] = ["one", "two", "other"].map((name) => readFileSync(join(folder, `${name}.jsonl`), "utf8"));
    expect(one).toBe(two);
    expect(one).toContain('"id":"conversation-7-000020"');
    expect(other).not.toBe(one);
  });

  test("a tool runs for real only if a rule of the configuration says so", async () => {
    const toml = `${REAL["haft.toml"]}\n[simulation.sources]\n"shop::count_orders" = "live"\n`;
    const folder = folderWith({ ...REAL, "haft.toml": toml });
    const input = lines({ messages: [{ role: "assistant", calls: [{ name: "shop::count_orders" }, { name: "shop::list_orders" }] }] });
    const { exitCode, stdout } = await haft(["generate", "-", "--out", "-"], { folder, input });
    const [{ messages }] = jsonLines(stdout) as readonly [{ readonly messages: readonly object[] }];
    expect(exitCode).toBe(0);
    expect(messages.slice(1)).toEqual([
      expect.objectContaining({ name: "shop::count_orders", output: 7, origin: "live" }),
      expect.objectContaining({ name: "shop::list_orders", status: "ok", origin: "simulated", answeredBy: "example" }),
      { role: "assistant", content: expect.stringContaining("7") },
    ]);
  });

  testInCI("configured faults appear in the trajectories and in the summary, equal for equal seeds, and retries do not wait", async () => {
    const toml = `${REAL["haft.toml"]}\n[simulation]\nfaults = [{ type = "network_error", probability = 0.3, message = "no luck" }]\n`;
    const folder = folderWith({ ...REAL, "haft.toml": toml });
    const { exitCode, stdout } = await haft(["generate", "--out", "train.jsonl", "--count", "20", "--seed", "3", "--json"], { folder });
    expect(exitCode).toBe(0);
    const [summary] = jsonLines(stdout) as readonly {
      readonly calls: number;
      readonly statuses: Readonly<Record<string, number>>;
      readonly faults: object;
    }[];
    const hit = summary?.statuses["error"] ?? 0;
    expect(hit).toBeGreaterThan(5);
    expect(summary).toMatchObject({
      conversations: 20,
      written: 20,
      failed: 0,
      calls: 100,
      statuses: { ok: 100 - hit },
      faults: { network_error: hit },
    });
    await haft(["generate", "--out", "again.jsonl", "--count", "20", "--seed", "3", "--concurrency", "1"], { folder });
    expect(readFileSync(join(folder, "again.jsonl"), "utf8")).toBe(readFileSync(join(folder, "train.jsonl"), "utf8"));
  });

  testInCI("a file with other content is left unchanged without --overwrite", async () => {
    const folder = folderWith({ ...REAL, "notes.txt": "mine\n" });
    const refused = await haft(["generate", "--out", "notes.txt"], { folder });
    expect(refused).toEqual({
      exitCode: 2,
      stdout: "",
      stderr:
        "haft: invalid_argument: notes.txt already exists, and contains something else.\n  Choose another name, or set overwrite (--overwrite on the command line).\n",
    });
    expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("mine\n");
    expect((await haft(["generate", "--out", "notes.txt", "--overwrite"], { folder })).exitCode).toBe(0);
    expect(jsonLines(readFileSync(join(folder, "notes.txt"), "utf8")).length).toBe(10);
  });

  test("--out - writes the conversations to standard output and the rest to standard error", async () => {
    const { exitCode, stdout, stderr } = await haft(["generate", "--out", "-", "--count", "2", "--format", "openai", "--json"], {
      folder: folderWith(REAL),
    });
    expect(exitCode).toBe(0);
    expect(jsonLines(stdout).map((line) => Object.keys(line as object))).toEqual([
      ["messages", "tools", "metadata"],
      ["messages", "tools", "metadata"],
    ]);
    expect(jsonLines(stderr)).toEqual([expect.objectContaining({ conversations: 2, written: 2, peakBytes: expect.any(Number) })]);
  });

  test.skipIf(!existsSync("/dev/full"))("a line that standard output could not take is not counted", () => {
    const output = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, ["--conditions=haft-source", PROGRAM, "generate", "--out", "-", "--json"], {
      cwd: folderWith(REAL),
      env: { ...process.env, HAFT_TRUST: "all" },
      stdio: ["ignore", output, "pipe"],
      encoding: "utf8",
    });
    closeSync(output);
    expect(status).toBe(7);
    expect(stderr).toContain("Standard output cannot be written: ENOSPC");
    expect(stderr).toMatch(/^\{"conversations":10,"existing":0,"written":0,"failed":0,"calls":0,/mu);
  });

  test("--max-tools limits the tools that a conversation offers to those that it needs and others that are drawn", async () => {
    const counts = [];
    for (const most of ["1", "2"]) {
      const args = ["generate", "--out", "-", "--count", "3", "--calls", "1", "--max-tools", most];
      const { stdout } = await haft(args, { folder: folderWith(REAL) });
      counts.push(jsonLines(stdout).map((line) => (line as { readonly tools: readonly unknown[] }).tools.length));
    }
    expect(counts).toEqual([
      [1, 1, 1],
      [2, 2, 2],
    ]);
  });

  testInCI("--split writes a share to a second file, and reports how many", async () => {
    const folder = folderWith(REAL);
    const { exitCode, stdout } = await haft(["generate", "--out", "train.jsonl", "--count", "40", "--split", "0.5"], { folder });
    const [train, forTests] = ["train.jsonl", "train.test.jsonl"].map((name) => jsonLines(readFileSync(join(folder, name), "utf8")).length);
    expect([exitCode, (train ?? 0) + (forTests ?? 0)]).toEqual([0, 40]);
    expect(stdout).toMatch(new RegExp(`^for tests +${forTests} {2}in train\\.test\\.jsonl, and ${train} for training$`, "mu"));
    expect(stdout).toContain("0 duplicates");
  });

  testInCI("it ends without an error when the reader of its output closes the pipe", async () => {
    const { exitCode, stderr } = await haft(["generate", "--out", "-", "--count", "5000"], {
      folder: folderWith(REAL),
      onOutput: (_output, control) => control.stopReading(),
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  });

  test("a tool that would hang for real is answered by simulation", async () => {
    const folder = folderWith(PROJECT);
    const input = lines({ messages: [{ role: "assistant", calls: [{ name: "math::hang" }] }] });
    const { exitCode, stdout } = await haft(["generate", "-", "--out", "x.jsonl"], { folder, input });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("1 simulated by example (unchecked)")]);
  });
});

describe("issue 6.7 haft generate with a model", () => {
  const QUESTION = lines({ id: "q", messages: [{ role: "user", content: "Where is the milk?" }] });

  test("the model answers user messages over simulated tools", async () => {
    const project = await chatProject({ script: [calling("shop__look"), { text: "Found." }] });
    const { exitCode, stdout, stderr } = await project.haft(
      ["generate", "-", "--out", "-", "--concurrency", "1", "--system", "Be brief."],
      { input: QUESTION },
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining("ended") });
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({
        template: "q",
        kind: "played",
        stop: "answered",
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Where is the milk?" },
          { role: "assistant", calls: [{ id: "call_#", name: "shop::look", input: {} }] },
          expect.objectContaining({ role: "tool", id: "call_#", origin: "simulated", answeredBy: "example" }),
          { role: "assistant", content: "Found." },
        ],
      }),
    ]);
  });

  test("one failed conversation exits with 1; a model that fails every time exits with the code of its error", async () => {
    const failing = await chatProject({ script: [{ text: "Yes." }, { status: 401 }, { text: "Yes." }], model: "maxAttempts = 1\n" });
    const some = await failing.haft(["generate", "-", "--out", "-", "--count", "3", "--concurrency", "1"], { input: QUESTION });
    expect([some.exitCode, jsonLines(some.stdout).map((line) => (line as { readonly stop: string }).stop)]).toEqual([
      1,
      ["answered", "model-error", "answered"],
    ]);
    expect(some.stderr).toContain("1 of them failed");
    const gone = await chatProject({ script: [{ status: 401 }], model: "maxAttempts = 1\n" });
    const none = await gone.haft(["generate", "-", "--out", "-", "--count", "50"], { input: QUESTION });
    expect([none.exitCode, none.stdout]).toEqual([6, ""]);
    expect(none.stderr).toContain("10 conversations in a row failed");
  });

  test("user messages without a model are refused with a hint how to name one", async () => {
    const { exitCode, stderr } = await haft(["generate", "-", "--out", "x"], { folder: folderWith(REAL), input: QUESTION });
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining("--model")]);
  });
});

describe("issue 6.7 haft generate refuses, with a hint,", () => {
  const SCRIPT = lines({ messages: [{ role: "assistant", calls: [{ name: "a" }] }] });

  test.for([
    [[], "", "haft generate needs --out"],
    [["--out", "x", "--split", "10%"], "", '--split takes a share from 0 to 1, such as 0.1, not "10%".'],
    [["--out", "-", "--split", "0.1"], "", "--split makes a second file, so --out must name the first."],
    [["--out", "x", "--format", "opnai"], "", '--format takes one of neutral, openai, anthropic, huggingface, sharegpt, not "opnai".'],
    [["--out", "x", "--count", "0"], "", '--count takes an integer from 1, not "0".'],
    [["--out", "x", "--concurrency", "many"], "", '--concurrency takes an integer from 1, not "many".'],
    [["--out", "x", "--model", "a/b"], "", 'No provider "a".'],
    [["--out", "x", "--sample", "chains"], "", '--sample takes one of chain, random, neighbour, not "chains".'],
    [["-", "--out", "x", "--sample", "chain"], SCRIPT, "--sample is for conversations that are drawn"],
    [["--out", "x", "--system", "a"], "", "--system needs a file of templates"],
    [["-", "--out", "x", "--calls", "2"], SCRIPT, "--calls is for conversations that are drawn"],
    [["gone.jsonl", "--out", "x"], "", "there is no such file"],
    [["-", "--out", "x"], "{}\n", 'standard input:1: "messages" must be an array of at least one message.'],
    [["-", "--out", "x", "--model", "openai-chat/gpt-x"], SCRIPT, "Template 1 has messages of the assistant"],
    [["--out", "x", "--tools", "none::*"], "", "There are no tools to draw from."],
    [["--out", "no/such/folder"], "", "Cannot write no/such/folder"],
    [["t.jsonl", "--out", "./t.jsonl", "--overwrite"], "", "--out names the file of the templates t.jsonl, which would be lost."],
  ] as const)("%j with input %j", async ([args, input, problem]) => {
    const project = await chatProject({ script: [] });
    const { exitCode, stdout, stderr } = await project.haft(["generate", ...args], { input });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(problem);
    expect(existsSync("x")).toBe(false);
  });
});
