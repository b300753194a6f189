import { testInCI } from "../test-in-ci.ts";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readRecording } from "haft/recording";
import { describe, expect, test } from "vitest";
import { HAFT } from "../bundled-program.ts";
import { lines } from "./session-project.ts";
import { PATIENCE_MS, PROJECT, folderWith, haft, masked } from "./run-haft.ts";

const adding = (a: number): object => ({ role: "assistant", calls: [{ name: "math::add", input: { a } }] });
const TALK = lines(adding(1), { role: "assistant", calls: [{ name: "math::forget" }, { name: "math::gone" }] });

describe.concurrent("issue 6.5 --record and --replay", { timeout: PATIENCE_MS }, () => {
  test("live results are recorded, and replayed without running a tool; the summary counts calls that never ran separately", async () => {
    const folder = folderWith({ ...PROJECT, "talk.jsonl": TALK });
    const live = await haft(["run", "talk.jsonl", "--record", "calls.jsonl", "--yes"], { folder });
    expect([live.exitCode, live.stderr]).toEqual([0, "recorded 2 calls in calls.jsonl\n"]);
    expect(live.stdout).toContain("origins      3  2 live (2 math), 1 never run\n");
    writeFileSync(join(folder, "math.mjs"), PROJECT["math.mjs"].replace('"forgotten"', '"this was real"'));
    const again = await haft(["run", "talk.jsonl", "--replay", "calls.jsonl"], { folder });
    expect([again.exitCode, again.stderr]).toEqual([0, ""]);
    expect(masked(again.stdout)).toContain("replay  forgotten");
    expect(again.stdout.slice(again.stdout.indexOf("  origins"))).toBe(
      "  origins      3  2 replayed (2 math), 1 never run\n  not live     2  2 observed by replay\n",
    );
  });

  test("with --simulate, calls missing in the recording are simulated and reported as such, and notes of engines are not shown", async () => {
    const folder = folderWith({
      ...PROJECT,
      "talk.jsonl": TALK,
      "more.jsonl": lines(adding(1), adding(2), { role: "assistant", calls: [{ name: "gone" }] }),
    });
    await haft(["run", "talk.jsonl", "--record", "calls.jsonl", "--yes"], { folder });
    const { exitCode, stdout } = await haft(["run", "more.jsonl", "--replay", "calls.jsonl", "--simulate"], { folder });
    expect([exitCode, stdout.slice(stdout.indexOf("  origins"))]).toEqual([
      0,
      `  origins      3  1 replayed, 1 simulated (2 math), 1 never run
  not live     2  1 observed by replay, 1 schema-valid by example; made up, never observed

Nothing was changed. Nothing was run.
`,
    ]);
  });

  test("an input that was not recorded fails with a hint at --nearest, which answers it", async () => {
    const folder = folderWith({ ...PROJECT, "talk.jsonl": TALK });
    await haft(["run", "talk.jsonl", "--record", "calls.jsonl", "--yes"], { folder });
    const call = ["call", "math::add", '{"a": 5}', "--replay", "calls.jsonl"];
    const strict = await haft(call, { folder });
    expect([strict.exitCode, strict.stderr]).toEqual([4, expect.stringContaining("(--nearest on the command line)")]);
    const nearest = await haft([...call, "--nearest"], { folder });
    expect([nearest.exitCode, nearest.stderr]).toEqual([0, expect.stringMatching(/^origin: replay \(similar\)$/mu)]);
  });

  test.for([
    ["no/such/calls.jsonl", "Cannot write no/such/calls.jsonl: the folder does not exist."],
    ["talk.jsonl", "talk.jsonl already exists"],
    [".", "Cannot write .: it is a folder"],
    ["-", "--record writes a file"],
  ] as const)("a recording that cannot be written to %s is refused before anything runs", async ([path, problem]) => {
    const folder = folderWith({
      ...PROJECT,
      "talk.jsonl": TALK,
      "math.mjs": PROJECT["math.mjs"].replaceAll('execute: () => "forgotten"', 'execute: () => process.stderr.write("this was real")'),
    });
    const { exitCode, stdout, stderr } = await haft(["call", "math::forget", "--yes", "--record", path], { folder });
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(problem);
    expect(stderr).not.toContain("this was real");
  });

  testInCI("a command that fails to start leaves no recording behind", async () => {
    const folder = folderWith({ ...PROJECT, "talk.jsonl": TALK, "bad.toml": "[toolset]\n" });
    await haft(["run", "talk.jsonl", "--record", "calls.jsonl", "--yes"], { folder });
    const [twice, wrong, missing] = await Promise.all([
      haft(["run", "talk.jsonl", "--replay", "calls.jsonl", "--record", "new.jsonl"], { folder }),
      haft(["run", "talk.jsonl", "--config", "bad.toml", "--record", "new.jsonl"], { folder }),
      haft(["run", "talk.jsonl", "--replay", "none.jsonl"], { folder }),
    ]);
    expect([twice.exitCode, wrong.exitCode, missing.exitCode]).toEqual([2, 3, 2]);
    expect(missing.stderr).toContain("Cannot read the recording none.jsonl: there is no such file.");
    expect(readdirSync(folder).filter((name) => name === "new.jsonl" || name.endsWith(".part"))).toEqual([]);
  });

  testInCI("Ctrl-C ends the run, and live results until then are recorded", async () => {
    const folder = folderWith({ ...PROJECT, "talk.jsonl": lines(adding(1), { role: "assistant", calls: [{ name: "math::hang" }] }) });
    let isStopped = false;
    const { exitCode, stderr } = await haft(["run", "talk.jsonl", "--record", "calls.jsonl"], {
      folder,
      onOutput: (output, control) => {
        if (output.stderr.includes("hanging") && !isStopped) control.signal("SIGINT");
        isStopped ||= output.stderr.includes("hanging"); // a second signal would end it at once
      },
    });
    expect([exitCode, stderr]).toEqual([
      130,
      expect.stringMatching(/recorded 2 calls in calls\.jsonl\nhaft: cancelled: Stopped by Ctrl-C\.\n$/u),
    ]);
    const replayed = await haft(["replay", "calls.jsonl", "--json"], { folder });
    expect(replayed.stdout).toContain('"math::add"');
    expect(existsSync(join(folder, "calls.jsonl"))).toBe(true);
    expect(readFileSync(join(folder, "calls.jsonl"), "utf8").endsWith("\n")).toBe(true);
  });
});

test(
  "every help page fits a terminal of 80 columns, and the program's help explains the exit codes",
  { timeout: PATIENCE_MS },
  async () => {
    const folder = folderWith({});
    const { stdout: program } = await haft(["--help"], { folder });
    const listed = program.slice(0, program.indexOf("\nOptions:"));
    const commands = [...listed.matchAll(/^ {2}([a-z]+) /gmu)].map(([, name = ""]) => [name]);
    const sessions = ["list", "show", "resume", "check", "export", "import", "remove"].map((name) => ["sessions", name]);
    const pages = await Promise.all([...commands, ...sessions].map((words) => haft([...words, "--help"], { folder })));
    expect(commands.length).toBeGreaterThan(10);
    expect(pages.every(({ exitCode }) => exitCode === 0)).toBe(true);
    const wide = [program, ...pages.map(({ stdout }) => stdout)].flatMap((page) => page.split("\n").filter((line) => line.length > 80));
    expect(wide).toEqual([]);
    for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 130]) expect(program).toMatch(new RegExp(`^ +${code}  \\w`, "mu"));
  },
);

describe.skipIf(process.platform === "win32")("a recording on a full disk", { timeout: PATIENCE_MS }, () => {
  test("F0.41 every call has its result, the error names the file, and the recorded part is kept", async () => {
    const many = Array.from({ length: 400 }, (_, a) => adding(a));
    const folder = folderWith({ ...PROJECT, "talk.jsonl": lines(...many) });
    const limited = 'ulimit -f 160; exec "$0" "$@"'; // blocks of 512 bytes: less than the recording, which is written in pieces of 256 kB
    const run = () =>
      spawnSync("sh", ["-c", limited, process.execPath, HAFT, "run", "talk.jsonl", "--record", "calls.jsonl", "--yes"], {
        cwd: folder,
        encoding: "utf8",
        env: { ...process.env, HAFT_TRUST: "all" },
      });
    const { status, stdout, stderr } = run();
    expect([status, stdout.slice(stdout.indexOf("\nsummary"))]).toEqual([7, expect.stringContaining("calls      400  400 ok")]);
    expect(stderr).toContain("store_failed: Cannot write calls.jsonl: a file may not be larger there.\n");
    expect(stderr).toContain(`What was written before that is in ${realpathSync(folder)}/calls.jsonl.part.`);
    const kept = readFileSync(join(folder, "calls.jsonl.part"), "utf8");
    expect(statSync(join(folder, "calls.jsonl.part")).size).toBe(160 * 512);
    expect(existsSync(join(folder, "calls.jsonl"))).toBe(false);
    expect(run().stderr).toContain(`What was written before that is in ${realpathSync(folder)}/calls.jsonl.2.part.`);
    expect(readFileSync(join(folder, "calls.jsonl.part"), "utf8")).toBe(kept);
    const { events } = await readRecording(kept);
    const read: string[] = [];
    const reading = (async () => {
      for await (const { type } of events) read.push(type);
    })();
    await expect(reading).rejects.toMatchObject({ code: "corrupt_record" });
    expect(read.filter((type) => type === "call-end").length).toBeGreaterThan(50);
  });
});
