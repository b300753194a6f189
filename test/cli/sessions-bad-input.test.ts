import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { inCI } from "../ci.ts";
import { ToolError } from "../../src/core/error.ts";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";
import { SessionProject, jsonLines } from "./session-project.ts";

/** Runs SQL behind the back of the store. */
function tamper(project: SessionProject, statement: string): void {
  const database = new DatabaseSync(project.path("haft.db"));
  database.exec(statement);
  database.close();
}

/** A session of which the event behind the first answer is damaged, and how many events come before that. */
async function damagedProject(): Promise<{ readonly project: SessionProject; readonly sound: number }> {
  const project = new SessionProject();
  await project.play("other");
  await project.play("travel");
  const { stdout } = await project.haft(["sessions", "show", "travel", "--json"]);
  const types = jsonLines(stdout).map((event) => (event as { readonly type: string }).type);
  const sound = types.indexOf("call-end") + 1;
  tamper(
    project,
    `update haft_event set body = replace(body, '"at":1', '"at":2') where session like '%travel%' and position = ${sound + 1}`,
  );
  return { project, sound };
}

describe.concurrent("I01 a damaged session", { timeout: PATIENCE_MS }, () => {
  test("is shown up to the damage, reported by check, and cannot be continued; other sessions remain usable", async () => {
    const { project, sound } = await damagedProject();
    const reason = "its checksum is wrong";
    const [check, one, show, resume, run, simulate, other] = [
      await project.haft(["sessions", "check"]),
      await project.haft(["sessions", "check", "travel", "--json"]),
      await project.haft(["sessions", "show", "travel"]),
      await project.haft(["sessions", "resume", "travel"]),
      await project.play("travel"),
      await project.haft(["run", project.path("talk.jsonl"), "--session", "travel", "--simulate"]),
      await project.haft(["sessions", "show", "other"]),
    ];
    expect([check.exitCode, check.stdout]).toEqual([
      3,
      expect.stringMatching(
        new RegExp(
          `^✗ travel {2}${sound} events before the damage\n {4}event ${sound + 1}: ${reason}\n✓ other {2}\\d+ events\n2 sessions, \\d+ events: 1 damaged\n$`,
          "u",
        ),
      ),
    ]);
    expect([one.exitCode, jsonLines(one.stdout)]).toEqual([
      3,
      [{ sessionId: "travel", events: sound, damage: `event ${sound + 1}: ${reason}` }],
    ]);
    const error = `haft: corrupt_record: The log of session "travel" is damaged at event ${sound + 1}: ${reason}\n  The ${sound} events before it can be read and exported.\n`;
    expect([show, resume, run, simulate].map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(
      Array.from({ length: 4 }, () => [3, error]),
    );
    expect(show.stdout).toContain("✓ #1  files::read");
    expect(show.stdout).not.toContain("#2");
    expect([other.exitCode, other.stdout.includes("✓ #2  files::edit")]).toEqual([0, true]);
  });

  test("exports the events before the damage as a complete recording, and reports what was left out", async () => {
    const { project, sound } = await damagedProject();
    const file = project.path("rest.jsonl");
    const exported = await project.haft(["sessions", "export", "travel", file]);
    const imported = await project.haft(["sessions", "import", file, "--id", "rest"]);
    const replayed = await project.haft(["replay", file]);
    expect([exported.exitCode, exported.stdout, imported]).toEqual([
      3,
      `${file}: ${sound} events of session travel\n`,
      { exitCode: 0, stdout: `session rest: ${sound} events\n`, stderr: "" },
    ]);
    expect(replayed.stdout).toBe("✓ 1 call made again: every result is the recorded one; no tool was run\n");
  });

  test("with calls without a result is exported with a warning that they may have run", async () => {
    const project = new SessionProject();
    await project.play("travel");
    const { stdout } = await project.haft(["sessions", "show", "travel", "--json"]);
    const start = jsonLines(stdout).findIndex((event) => (event as { readonly type: string }).type === "call-start") + 1;
    tamper(project, `update haft_event set body = replace(body, '"at":1', '"at":2') where position = ${start + 1}`);
    const { stderr } = await project.haft(["sessions", "export", "travel", project.path("rest.jsonl")]);
    expect(stderr.split("\n")[0]).toBe(
      "haft: 1 call of it has no result and may have run: where it is imported, it ends as outcome_unknown.",
    );
  });
});

describe.concurrent("a file that is not a store", { timeout: PATIENCE_MS }, () => {
  const commands = [
    ["sessions", "list"],
    ["sessions", "check"],
    ["sessions", "import", "-"],
    ["run", "-"],
  ] as const;

  test.for(inCI ? commands : commands.slice(0, 1))("I13 a store of a newer version is refused by %j and left unchanged", async (args) => {
    const project = new SessionProject();
    await project.play("travel");
    tamper(project, "insert into haft_migration values (1000, 'later'); pragma wal_checkpoint(truncate);");
    const before = readFileSync(project.path("haft.db"));
    const { exitCode, stdout, stderr } = await project.haft(args);
    expect([exitCode, stdout, stderr.replace(/ up to \d+\./u, " up to N.")]).toEqual([
      3,
      "",
      `haft: corrupt_record: The store ${project.path("haft.db")} has format version 1000; this version of Haft supports versions up to N.\n  Nothing was changed. Open it with the version of Haft that wrote it, or with a newer one.\n`,
    ]);
    expect(readFileSync(project.path("haft.db")).equals(before)).toBe(true);
  });

  test("a foreign database, a text file or a folder is refused as a store", async () => {
    const project = new SessionProject({ "text.db": "This is a letter, and quite a long one.\n".repeat(50) });
    tamper(project, "create table letters (body)");
    const [foreign, text, folder] = [
      await project.haft(["sessions", "list"]),
      await project.haft(["sessions", "list", "--store", project.path("text.db")]),
      await project.haft(["sessions", "list", "--store", project.path("notes")]),
    ];
    expect([foreign, text, folder].map(({ exitCode, stderr }) => [exitCode, stderr.split("\n")[0]])).toEqual([
      [3, `haft: corrupt_record: The store ${project.path("haft.db")} is not a store of Haft: it contains the tables letters.`],
      [3, expect.stringContaining("file is not a database (SQLITE_NOTADB).")],
      [7, expect.stringContaining("it is a folder, not a file.")],
    ]);
    expect(readFileSync(project.path("text.db"), "utf8")).toMatch(/^This is a letter/u);
  });

  test("a missing store file is created only by commands that write", async () => {
    const project = new SessionProject();
    const read = await Promise.all(["list", "check"].map((name) => project.haft(["sessions", name])));
    const one = await Promise.all(["show", "export", "resume", "remove"].map((name) => project.haft(["sessions", name, "travel"])));
    expect([...read, ...one].map(({ exitCode, stdout, stderr }) => [exitCode, stdout, stderr])).toEqual(
      Array.from({ length: 6 }, () => [
        4,
        "",
        `haft: not_found: There is no store ${project.path("haft.db")}.\n  haft run and haft sessions import create it.\n`,
      ]),
    );
    expect(existsSync(project.path("haft.db"))).toBe(false);
  });
});

describe.concurrent("no store", { timeout: PATIENCE_MS }, () => {
  test("a configuration without [store] and a folder without a configuration are errors that say how to name a store", async () => {
    const project = new SessionProject({ "haft.toml": "" });
    const config = project.path("haft.toml");
    const [bare, none] = [await project.haft(["sessions", "list"]), await haft(["sessions", "list"], { folder: folderWith({}) })];
    expect([bare, none].map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
      [
        3,
        `haft: invalid_config: No store is named, and ${config} has no [store].\n  Name its file with --store haft.db, or in ${config} with a table [store] that has path = "haft.db".\n`,
      ],
      [
        3,
        "haft: invalid_config: No store is named, and there is no configuration in this folder.\n  Name its file with --store haft.db.\n",
      ],
    ]);
  });
});

describe.concurrent("I15 an incomplete recording", { timeout: PATIENCE_MS }, () => {
  let whole: Promise<readonly string[]> | undefined;
  const recording = (): Promise<readonly string[]> => (whole ??= exported(new SessionProject()));
  const exported = async (project: SessionProject): Promise<readonly string[]> => {
    await project.play("travel");
    return (await project.haft(["sessions", "export", "travel"])).stdout.split("\n");
  };

  const damages = [
    [
      "cut short",
      (text: readonly string[]) => text.slice(0, 5).join("\n"),
      "line 6: the recording was cut short: it has no last line after ",
    ],
    [
      "cut short in the middle of a line",
      (text: readonly string[]) => text.slice(0, 3).join("\n").slice(0, -9),
      "\n  The file was cut short or changed: export it again.\n",
    ],
    ["edited", (text: readonly string[]) => text.join("\n").replace("brief", "BRIEF"), "line 3: the checksum is wrong"],
    ["without a line", (text: readonly string[]) => text.toSpliced(4, 1).join("\n"), "line 5: the checksum is wrong"],
    ["with something behind its end", (text: readonly string[]) => `${text.join("\n")}{}\n`, "something follows the end of the recording"],
    [
      "of a newer version",
      () => '{"haft":"recording","version":2,"sessionId":"a","exportedAt":0,"sum":""}',
      "line 1: the recording is of version 2",
    ],
    ["empty", () => "", "line 1: the recording is empty"],
    ["something else", () => '{"role": "user", "content": "Hello."}\n', "line 1: this is not a recording of Haft"],
    ["no JSON", () => "<html>", '\n  The first line of a recording begins {"haft":"recording".\n'],
  ] as const;
  const NOTHING = { exitCode: 0, stdout: "", stderr: "" };
  test.for(damages.filter((_, index) => inCI || index % 9 === 0))(
    "%s is refused by import and replay, and nothing is imported",
    async ([, change, message]) => {
      const project = new SessionProject();
      const input = change(await recording());
      const place = ["--store", project.path("copy.db")];
      const imported = await project.haft(["sessions", "import", "-", ...place], { input });
      writeFileSync(project.path("bad.jsonl"), input);
      const replayed = await project.haft(["replay", project.path("bad.jsonl")]);
      const listed = existsSync(project.path("copy.db")) ? await project.haft(["sessions", "list", ...place]) : NOTHING;
      expect([imported, replayed].map(({ exitCode, stdout }) => [exitCode, stdout])).toEqual([
        [3, ""],
        [3, ""],
      ]);
      expect(imported.stderr).toContain("haft: corrupt_record: standard input: ");
      expect(imported.stderr).toContain(message);
      expect(replayed.stderr).toContain(`haft: corrupt_record: ${project.path("bad.jsonl")}: `);
      expect(listed).toEqual(NOTHING);
    },
  );

  test("an import of what is no recording does not make the file of a store", async () => {
    const project = new SessionProject({ "other.jsonl": '{"role": "user"}\n', "empty.jsonl": "" });
    const results = [];
    for (const file of ["missing.jsonl", ".", "other.jsonl", "empty.jsonl"]) {
      const { exitCode, stderr } = await project.haft(["sessions", "import", project.path(file)]);
      results.push([exitCode, stderr.split("\n")[0]]);
    }
    expect(results).toEqual([
      [2, expect.stringContaining("there is no such file")],
      [2, expect.stringContaining("it is a folder")],
      [3, expect.stringMatching(/other\.jsonl: line 1: this is not a recording of Haft/u)],
      [3, expect.stringMatching(/empty\.jsonl: line 1: the recording is empty/u)],
    ]);
    expect(existsSync(project.path("haft.db"))).toBe(false);
  });

  test("an import interrupted by Ctrl-C leaves nothing behind", async () => {
    const project = new SessionProject();
    const text = await recording();
    const stop = new AbortController();
    async function* half(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text.slice(0, 8).join("\n"));
      stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C."));
      await new Promise(() => {});
    }
    const place = ["--store", project.path("copy.db")];
    const imported = await project.haft(["sessions", "import", "-", ...place], { input: half(), signal: stop.signal });
    expect([imported.exitCode, imported.stderr]).toEqual([130, "haft: cancelled: Stopped by Ctrl-C.\n"]);
    expect((await project.haft(["sessions", "list", ...place])).stdout).toBe("");
  });

  test("a file that is not UTF-8, a missing file and a folder are refused", async () => {
    const project = new SessionProject();
    writeFileSync(project.path("latin.jsonl"), Buffer.from([0x7b, 0xe9, 0x7d]));
    const [latin, gone, folder] = [
      await project.haft(["sessions", "import", project.path("latin.jsonl")]),
      await project.haft(["replay", project.path("gone.jsonl")]),
      await project.haft(["sessions", "import", project.path("notes")]),
    ];
    expect([latin, gone, folder].map(({ exitCode, stderr }) => [exitCode, stderr.split("\n")[0]])).toEqual([
      [2, `haft: invalid_argument: Cannot read the file ${project.path("latin.jsonl")}: it is not valid UTF-8.`],
      [2, `haft: invalid_argument: Cannot read the file ${project.path("gone.jsonl")}: there is no such file.`],
      [2, `haft: invalid_argument: Cannot read the file ${project.path("notes")}: it is a folder.`],
    ]);
  });
});
