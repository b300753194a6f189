import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { testInCI } from "../test-in-ci.ts";
import { PATIENCE_MS, masked } from "./run-haft.ts";
import { SessionProject, jsonLines, lines, timeless } from "./session-project.ts";

/** What `haft run` tells of a conversation, without what is not part of it. */
const story = (stdout: string): string =>
  stdout
    .slice(stdout.indexOf("\nsystem"))
    .replace(/\nsummary[^]*$/u, "")
    .replaceAll(/^ {2}· .*\n/gmu, "");

describe.concurrent("haft run with a store", { timeout: PATIENCE_MS }, () => {
  test("F1.30 stores messages, calls and results, and haft sessions show prints them as haft run did", async () => {
    const project = new SessionProject();
    const run = await project.play("travel");
    const show = await project.haft(["sessions", "show", "travel"]);
    expect([run.stderr, run.exitCode, show.stderr, show.exitCode]).toEqual(["", 0, "", 0]);
    expect(run.stdout).toContain("  · session travel: new\n");
    expect(run.stdout).toContain("✓ #2  files::edit");
    expect(story(show.stdout)).toBe(story(run.stdout));
    expect(timeless(show.stdout.split("\n", 1)[0] ?? "")).toBe("  · session travel, begun <time>");
  });

  test("an existing session is continued with its state and the files it had read", async () => {
    const project = new SessionProject();
    const events = await project.playAndCount("travel");
    const talk = lines({
      role: "assistant",
      calls: [{ name: "count" }, { name: "files::edit", input: { path: "plan.md", old: "[x] buy", new: "[x] bought" } }],
    });
    const { stdout, exitCode } = await project.haft(["run", "-", "--session", "travel", "--json"], { input: talk });
    expect([exitCode, jsonLines(stdout)]).toEqual([
      0,
      [expect.objectContaining({ name: "shop::count", output: 2 }), expect.objectContaining({ name: "files::edit", status: "ok" })],
    ]);
    const again = await project.haft(["run", "-", "--session", "travel"], { input: "" });
    const after = Number(/session travel: continues after (\d+) events/u.exec(again.stdout)?.[1]);
    expect(after).toBeGreaterThanOrEqual(events + 4);
  });

  test("without --session each run is a new session; --store names another file", async () => {
    const project = new SessionProject({ "haft.toml": "" });
    const place = ["--store", project.path("other.db")];
    await project.haft(["run", "-", ...place], { input: lines({ role: "user", content: "One." }) });
    await project.haft(["run", "-", ...place], { input: lines({ role: "user", content: "Two." }) });
    const { stdout } = await project.haft(["sessions", "list", "--json", ...place]);
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({ sessionId: expect.stringMatching(/^session_/u), length: 2 }),
      expect.objectContaining({ sessionId: expect.stringMatching(/^session_/u), length: 2 }),
    ]);
  });

  test("--session without a store is refused before any toolset is opened", async () => {
    const project = new SessionProject({ "haft.toml": "" });
    expect(await project.play("travel")).toEqual({
      exitCode: 3,
      stdout: "",
      stderr: `haft: invalid_config: No store is named, and ${project.path("haft.toml")} has no [store].
  Name its file with --store haft.db, or in ${project.path("haft.toml")} with a table [store] that has path = "haft.db".
`,
    });
  });
});

describe.concurrent("haft sessions show", { timeout: PATIENCE_MS }, () => {
  testInCI("shows branches, what was committed from one, rolled-back batches, and documents", async () => {
    const project = new SessionProject();
    const fail = () => {
      throw new ToolError("execution_failed", "no luck");
    };
    const tool = {
      name: "fail",
      description: "Fails.",
      inputSchema: { type: "object" },
      effects: { reads: [], writes: [] },
      execute: fail,
    };
    await project.withStore(async (store) => {
      const runtime = createRuntime({ store, tools: [tool], ports: { log: { debug() {}, warn() {} } } });
      const session = runtime.session("main");
      await session.addMessage({ role: "document", title: "Rules", content: [{ type: "text", text: "Be kind." }] });
      await session.execute([{ name: "fail" }], { onError: "throw" }).catch(() => {});
      const branch = session.fork({ id: "twig" });
      await branch.addMessage({ role: "user", content: "From the branch." });
      const other = session.fork({ id: "leaf" });
      await branch.commit();
      await other.close();
      await runtime.close();
    });
    const [main, leaf] = [await project.haft(["sessions", "show", "main"]), await project.haft(["sessions", "show", "leaf"])];
    const beginning = `  · session main, begun <time>

text    Rules
        Be kind.

model
  → #1  fail           {}
  ✗ #1  default::fail # ms  execution_failed
        no luck
  ! the batch was rolled back: a model sees none of it
`;
    expect(timeless(masked(main.stdout))).toBe(`${beginning}  · what follows, 1 event, was done in the branch twig

user    From the branch.
`);
    expect(timeless(masked(leaf.stdout))).toBe(`${beginning}  · here session leaf branches off, <time>\n`);
  });
});

describe.concurrent("haft sessions list", { timeout: PATIENCE_MS }, () => {
  test("D04 shows the newest session first without control characters, with events, branches and the process that has it open", async () => {
    const project = new SessionProject();
    const events = await project.playAndCount("first");
    await project.withStore(async (store) => {
      const runtime = createRuntime({ store });
      const first = await runtime.resume("first");
      const branch = first.fork({ id: "second\u001b[2J\u202e" });
      await branch.addMessage({ role: "user", content: "Go on." });
      const listed = await project.haft(["sessions", "list"]);
      const open = `open in process ${process.pid} on host [^,\n]+`;
      expect(timeless(listed.stdout)).toMatch(
        new RegExp(
          `^second\\\\u\\{202e\\}  <time>  ${events + 2} events  ${open}, branch of first after ${events} events\nfirst           <time>  ${events} events  ${open}\n$`,
          "u",
        ),
      );
      const one = await project.haft(["sessions", "list", "--limit", "1", "--json"]);
      expect(jsonLines(one.stdout)).toEqual([
        {
          sessionId: "second\u001b[2J\u202e",
          openedIn: expect.any(String),
          createdAt: expect.any(Number),
          updatedAt: expect.any(Number),
          length: events + 2,
          parent: { sessionId: "first", length: events },
          openedBy: expect.stringContaining(String(process.pid)),
        },
      ]);
      await runtime.close();
    });
  });

  testInCI("at a terminal says if there are more sessions, or none", async () => {
    const project = new SessionProject();
    await project.withStore(async () => {});
    expect((await project.haft(["sessions", "list"], { columns: 80 })).stdout).toBe("no sessions\n");
    await project.play("a");
    const events = await project.playAndCount("b");
    const { stdout } = await project.haft(["sessions", "list", "--limit", "1"], { columns: 80 });
    expect(timeless(stdout)).toBe(`b  <time>  ${events} events\nthe newest 1; --limit shows more\n`);
  });
});

describe.concurrent("haft sessions export and import", { timeout: PATIENCE_MS }, () => {
  test("I15 an imported recording is the same session in another store, and a second import changes nothing", async () => {
    const project = new SessionProject();
    const events = await project.playAndCount("travel");
    const [file, copy] = [project.path("travel.jsonl"), ["--store", project.path("copy.db")]];
    const exported = await project.haft(["sessions", "export", "travel", file]);
    const imported = await project.haft(["sessions", "import", file, ...copy]);
    const again = await project.haft(["sessions", "import", "-", ...copy, "--json"], { input: readFileSync(file, "utf8") });
    const shown = await project.haft(["sessions", "show", "travel", "--json"]);
    const copied = await project.haft(["sessions", "show", "travel", "--json", ...copy]);
    expect([exported, imported, again]).toEqual([
      { exitCode: 0, stdout: `${file}: ${events} events of session travel\n`, stderr: "" },
      { exitCode: 0, stdout: `session travel: ${events} events\n`, stderr: "" },
      { exitCode: 0, stdout: `{"sessionId":"travel","events":${events},"isNew":false}\n`, stderr: "" },
    ]);
    expect(copied.stdout).toBe(shown.stdout);
    expect(jsonLines(shown.stdout)).toHaveLength(events);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  testInCI("I15 exporting a session during writes yields a snapshot of one moment", async () => {
    const project = new SessionProject();
    await project.withStore(async (store) => {
      const runtime = createRuntime({ store });
      const session = runtime.session("busy");
      const messages = Promise.all(Array.from({ length: 200 }, () => session.addMessage({ role: "user", content: "More." })));
      await session.addMessage({ role: "user", content: "First." });
      const { stdout } = await project.haft(["sessions", "export", "busy"]);
      await messages;
      await runtime.close();
      const copy = ["--store", project.path("copy.db")];
      const imported = await project.haft(["sessions", "import", "-", "--json", ...copy], { input: stdout });
      const [all, part] = await Promise.all([
        project.haft(["sessions", "show", "busy", "--json"]),
        project.haft(["sessions", "show", "busy", "--json", ...copy]),
      ]);
      expect([imported.exitCode, all.stdout.startsWith(part.stdout), jsonLines(all.stdout).length]).toEqual([0, true, 202]);
    });
  });

  testInCI("import under the id of an existing session is refused, and --id sets a new one", async () => {
    const project = new SessionProject();
    const events = await project.playAndCount("travel");
    await project.play("other");
    const { stdout: recording } = await project.haft(["sessions", "export", "travel"]);
    const taken = await project.haft(["sessions", "import", "-", "--id", "other"], { input: recording });
    const free = await project.haft(["sessions", "import", "-", "--id", "copy"], { input: recording });
    expect([taken, free]).toEqual([
      {
        exitCode: 3,
        stdout: "",
        stderr:
          'haft: duplicate: The store already has another session "other"; nothing was imported.\n  Import it under another id with --id.\n',
      },
      { exitCode: 0, stdout: `session copy: ${events} events\n`, stderr: "" },
    ]);
  });

  test("an existing file is replaced only with --force, and no temporary file remains", async () => {
    const project = new SessionProject();
    const events = await project.playAndCount("travel");
    const file = project.path("out.jsonl");
    writeFileSync(file, "mine");
    const refused = await project.haft(["sessions", "export", "travel", file]);
    const kept = readFileSync(file, "utf8");
    const forced = await project.haft(["sessions", "export", "travel", file, "--force", "--json"]);
    expect([refused, kept, forced]).toEqual([
      {
        exitCode: 2,
        stdout: "",
        stderr: `haft: invalid_argument: ${file} already exists; nothing was written.\n  Replace it with --force, or choose another name.\n`,
      },
      "mine",
      { exitCode: 0, stdout: `${JSON.stringify({ file, sessionId: "travel", events })}\n`, stderr: "" },
    ]);
    expect(readdirSync(project.folder).filter((name) => name.startsWith(".") || name.endsWith(".part"))).toEqual([]);
  });

  testInCI("export in a provider's message format is one JSON object", async () => {
    const project = new SessionProject();
    await project.play("travel");
    const as = async (format: string): Promise<unknown> =>
      JSON.parse((await project.haft(["sessions", "export", "travel", "--as", format])).stdout);
    expect(await as("openai")).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Mark the milk as bought." },
        {
          role: "assistant",
          content: "I read it first.",
          tool_calls: [{ id: "r", type: "function", function: { name: "files__read", arguments: '{"path":"plan.md"}' } }],
        },
        { role: "tool", tool_call_id: "r", content: expect.stringContaining("buy milk") },
        { role: "assistant", content: null, tool_calls: [expect.objectContaining({ id: "e" }), expect.objectContaining({ id: "c" })] },
        { role: "tool", tool_call_id: "e", content: expect.stringContaining("Updated plan.md") },
        { role: "tool", tool_call_id: "c", content: "1" },
        { role: "assistant", content: "Done." },
      ],
    });
    expect(await as("anthropic")).toEqual({ system: expect.any(Array), messages: expect.any(Array) });
    expect(await as("gemini")).toEqual({ systemInstruction: expect.any(Object), contents: expect.any(Array) });
    expect(await project.haft(["sessions", "export", "travel", "--as", "opnai"])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: 'haft: invalid_argument: --as takes one of recording, openai, anthropic, gemini, not "opnai".\n  For example: --as openai\n',
    });
  });

  test("D04 a recording is printed to a terminal without control characters", async () => {
    const project = new SessionProject();
    await project.haft(["run", "-", "--session", "odd"], { input: lines({ role: "user", content: "\u202e\u001b[2J" }) });
    const [shown, piped] = [
      await project.haft(["sessions", "export", "odd"], { columns: 80 }),
      await project.haft(["sessions", "export", "odd"]),
    ];
    expect([shown.stdout.includes("\u202e"), piped.stdout.includes("\u202e")]).toEqual([false, true]);
  });
});

describe.concurrent("haft sessions remove", { timeout: PATIENCE_MS }, () => {
  test("asks first, and removes the session only after a yes", async () => {
    const project = new SessionProject();
    const events = await project.playAndCount("travel");
    const nobody = await project.haft(["sessions", "remove", "travel"]);
    const no = await project.haft(["sessions", "remove", "travel"], { ask: async () => "" });
    const yes = await project.haft(["sessions", "remove", "travel"], { ask: async () => "y" });
    const gone = await project.haft(["sessions", "remove", "travel", "--yes"]);
    expect([nobody, no, yes, gone].map(({ exitCode, stdout, stderr }) => ({ exitCode, stdout, stderr: timeless(stderr) }))).toEqual([
      {
        exitCode: 6,
        stdout: "",
        stderr:
          'haft: approval_required: Removing the session "travel" must be approved, and there is no terminal.\n  Approve it with --yes.\n',
      },
      {
        exitCode: 6,
        stdout: "",
        stderr: `\n  ? Remove session travel, ${events} events, the last of <time>, for good?\nhaft: approval_denied: The session "travel" was not removed.\n`,
      },
      {
        exitCode: 0,
        stdout: "removed session travel\n",
        stderr: `\n  ? Remove session travel, ${events} events, the last of <time>, for good?\n`,
      },
      { exitCode: 4, stdout: "", stderr: 'haft: not_found: The store has no session "travel".\n  It has no sessions at all.\n' },
    ]);
  });

  test("refuses to remove a session that is open elsewhere, and prints how to take it over", async () => {
    const project = new SessionProject();
    await project.play("it's mine");
    await project.withStore(async (store) => {
      const log = await store.claim("it's mine");
      const { exitCode, stderr } = await project.haft(["sessions", "remove", "it's mine", "--yes"]);
      expect([exitCode, stderr]).toEqual([
        7,
        expect.stringContaining(String.raw`take it over with haft sessions resume 'it'\''s mine' --take-over`),
      ]);
      await log.close();
    });
  });
});

describe.concurrent("haft sessions", { timeout: PATIENCE_MS }, () => {
  test.for(["show", "export", "check", "resume", "remove"])("%s of an unknown session suggests the nearest name", async (command) => {
    const project = new SessionProject();
    await project.play("travel");
    expect(
      await project.haft(["sessions", command, "travle", "--yes"].slice(0, command === "remove" || command === "resume" ? 4 : 3)),
    ).toEqual({
      exitCode: 4,
      stdout: "",
      stderr: 'haft: not_found: The store has no session "travle".\n  Did you mean "travel"?\n',
    });
  });

  test("an unknown command is refused with the nearest, and haft sessions alone prints its help", async () => {
    const project = new SessionProject();
    const [near, far, none, bare, help] = await Promise.all([
      project.haft(["sessions", "lst"]),
      project.haft(["sessions", "fo"]),
      project.haft(["sessions", "dance"]),
      project.haft(["sessions"]),
      project.haft(["help", "sessions"]),
    ]);
    expect([near, far, none].map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
      [2, 'haft: invalid_argument: There is no command "sessions lst".\n  Did you mean "haft sessions list"?\n'],
      ...["fo", "dance"].map((word) => [
        2,
        `haft: invalid_argument: There is no command "sessions ${word}".\n  Commands: list, show, resume, export, import, artifact, check, remove. See haft sessions --help.\n`,
      ]),
    ]);
    expect([bare.exitCode, bare.stdout, help.exitCode, help.stderr]).toEqual([2, "", 0, ""]);
    expect(masked(bare.stderr)).toBe(masked(help.stdout));
    expect(help.stdout).toContain("Usage: haft sessions <command>");
  });
});

describe.concurrent("haft sessions artifact", { timeout: PATIENCE_MS }, () => {
  const PICTURE = Buffer.from("a picture");
  const ADDRESS = `artifact:${createHash("sha256").update(PICTURE).digest("hex")}`;
  const SHOW = `export const show = { name: "show", description: "Shows.", inputSchema: { type: "object" }, effects: { reads: [] },
    execute: () => ({ picture: "data:image/png;base64,${PICTURE.toString("base64")}${"A".repeat(8)}" }) };`;
  const config = (artifacts: string): string =>
    `[runtime]\nartifacts = "${artifacts}"\n[store]\npath = "haft.db"\n[toolsets.t]\ntype = "module"\npath = "./t.mjs"\n`;

  test.each([["store"], ["./files"]])("F1.19 an artifact is written to a file, from %s", async (place) => {
    const project = new SessionProject({ "haft.toml": config(place), "t.mjs": SHOW });
    const call = lines({ role: "assistant", calls: [{ name: "t::show" }] });
    const run = await project.haft(["run", "-", "--session", "s", "--json"], { input: call });
    const [result] = jsonLines(run.stdout) as [{ output: { picture: string } }];
    const { picture } = result.output;
    expect(picture).toMatch(/^artifact:[0-9a-f]{64}$/u);

    const to = project.path("out.png");
    const written = await project.haft(["sessions", "artifact", picture, to]);
    expect([written.exitCode, written.stdout]).toEqual([0, `wrote ${to}: image/png, ${readFileSync(to).length} bytes\n`]);
    expect(readFileSync(to).subarray(0, PICTURE.length)).toEqual(PICTURE);
    const again = await project.haft(["sessions", "artifact", picture.replace("artifact:", ""), to]);
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining("already exists; nothing was written")]);
    const forced = await project.haft(["sessions", "artifact", picture, to, "--force", "--json"]);
    expect(jsonLines(forced.stdout)).toEqual([{ artifact: picture.slice(9), file: to, mediaType: "image/png", bytes: expect.any(Number) }]);
  });

  test("F1.19 a malformed artifact address, and an unknown artifact, are refused", async () => {
    const project = new SessionProject({ "haft.toml": config("store"), "t.mjs": SHOW });
    await project.haft(["run", "-", "--session", "s"], { input: lines({ role: "user", content: "Hi." }) });
    const wrong = await project.haft(["sessions", "artifact", "picture", "out.png"]);
    const gone = await project.haft(["sessions", "artifact", ADDRESS, "out.png"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("picture is not the address of an artifact")]);
    expect(gone.stderr).toContain(`There is no artifact ${ADDRESS.slice(9)}.`);
    expect(readdirSync(project.path("."))).not.toContain("out.png");
  });
});
