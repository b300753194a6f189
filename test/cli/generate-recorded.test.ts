import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync, statSync } from "node:fs";
import { expect, describe, test } from "vitest";
import { PRIVATE_LINES, SECRET_LINES, plainLines, recordingText, type Line } from "../generate/conversations/desk.ts";
import { SessionProject, jsonLines } from "./session-project.ts";
import { chatProject } from "./chat-project.ts";

async function project(recordings: Readonly<Record<string, readonly Line[]>>, files: Readonly<Record<string, string>> = {}) {
  const made = new SessionProject(files);
  for (const [name, lines] of Object.entries(recordings)) writeFileSync(made.path(name), await recordingText(lines, name));
  return made;
}

const NO_CONFIG = { "haft.toml": "" };

describe("issue 16.4 haft generate of recordings", () => {
  test("recordings given with --from become lines, redacted as requested, and the card says so", async () => {
    const here = await project({ "a.jsonl": PRIVATE_LINES, "b.jsonl": plainLines(3), "cut.jsonl": plainLines(4).slice(0, 2) }, NO_CONFIG);
    const out = here.path("train.jsonl");
    const recordings = ["--from", here.path("a.jsonl"), here.path("b.jsonl"), here.path("cut.jsonl")];
    const args = ["generate", ...recordings, "--redact", "all", "--out", out, "--format", "openai"];
    const { exitCode, stdout, stderr } = await here.haft(args);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Redacted where they were found: secrets, emails, phones, names, ids.");
    expect(stdout).toContain("Left out: 1 recording cut off before the last answer.");
    const text = readFileSync(out, "utf8");
    expect(jsonLines(text)).toHaveLength(2);
    expect(text).not.toMatch(/grace|hopper|navy|48213/iu);
    const card = readFileSync(here.path("train.card.md"), "utf8");
    expect(statSync(here.path("train.card.md")).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(card).toContain("| texts | recorded sessions |");
    expect(card).toContain("- Redacted where they were found: secrets, emails, phones, names, ids.");
    expect(card).not.toContain("synthetic");
    const again = await here.haft(args);
    expect(again.stdout).toContain("conversations 0");
    expect(readFileSync(out, "utf8")).toBe(text);
  });

  test("text that looks like a secret is refused until --redact is given, and no file is created", async () => {
    const here = await project({ "settings.jsonl": SECRET_LINES }, NO_CONFIG);
    const args = ["generate", "--from", here.path("settings.jsonl"), "--out", here.path("train.jsonl")];
    const { exitCode, stderr, stdout } = await here.haft(args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('settings.jsonl: "api_key" in message 3');
    expect(stderr).toContain("--redact all");
    expect(stderr + stdout).not.toMatch(/9f8e7d6c5b4a|hunter22/u);
    expect(existsSync(here.path("train.jsonl"))).toBe(false);
    expect((await here.haft([...args, "--redact", "none"])).exitCode).toBe(0);
  });

  test("sessions of the store are converted, all or only the named ones, with definitions from the configuration", async () => {
    const here = new SessionProject();
    await here.play("one");
    await here.play("two");
    const all = await here.haft(["generate", "--from-store", "--redact", "all", "--out", "-"]);
    expect(all.stderr).toContain("conversations 2  to standard output");
    const [line] = jsonLines(all.stdout) as readonly { readonly tools: readonly { readonly name: string }[]; readonly messages: object }[];
    expect(line?.tools.map(({ name }) => name)).toContain("files::edit");
    const other = await here.haft(["generate", "--from-store", "three", "--redact", "all", "--out", "-"]);
    expect([other.exitCode, other.stderr]).toEqual([4, expect.stringContaining('"three"')]);
    const named = await here.haft(["generate", "--from-store", "two", "--redact", "all", "--out", "-"]);
    expect(jsonLines(named.stdout)).toHaveLength(1);
  });

  test("a damaged recording is refused with file and line", async () => {
    const here = await project({ "a.jsonl": plainLines(1), "b.jsonl": plainLines(2) }, NO_CONFIG);
    writeFileSync(here.path("b.jsonl"), readFileSync(here.path("b.jsonl"), "utf8").replace("T-2", "T-3"));
    const { exitCode, stderr } = await here.haft([
      "generate",
      "--from",
      here.path("a.jsonl"),
      here.path("b.jsonl"),
      "--out",
      here.path("t.jsonl"),
    ]);
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(/b\.jsonl: .*line \d/u)]);
    expect(existsSync(here.path("t.jsonl"))).toBe(false);
  });

  test.each([
    ["a symbolic link", symlinkSync],
    ["a second name", linkSync],
  ])("--out that is %s of a recording is refused, and the recording is left unchanged", async (_what, link) => {
    const here = await project({ "a.jsonl": plainLines(1) }, NO_CONFIG);
    const before = readFileSync(here.path("a.jsonl"), "utf8");
    link(here.path("a.jsonl"), here.path("t.jsonl"));
    const { exitCode, stderr } = await here.haft([
      "generate",
      "--from",
      here.path("a.jsonl"),
      "--out",
      here.path("t.jsonl"),
      "--overwrite",
    ]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--out names the recording")]);
    expect(readFileSync(here.path("a.jsonl"), "utf8")).toBe(before);
  });

  test("configured faults apply to the recorded calls, and pauses take no time", async () => {
    const toml =
      '[simulation]\nseed = 3\n[[simulation.faults]]\ntype = "rate_limited"\nprobability = 0.9\nattempts = 2\nretryAfterMs = 3_600_000\n';
    const here = await project(Object.fromEntries([1, 2, 3].map((at) => [`${at}.jsonl`, plainLines(at)])), { "haft.toml": toml });
    const files = [1, 2, 3].map((at) => here.path(`${at}.jsonl`));
    const { exitCode, stdout, stderr } = await here.haft(["generate", "--from", ...files, "--out", here.path("t.jsonl")]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/faults +[1-3] +[1-3] rate_limited/u);
  });

  test("a model completes a cut-off recording, and its cost is reported", async () => {
    const prices = "[model.prices]\ninputPerMillion = 1000\noutputPerMillion = 2000\n";
    const chat = await chatProject({ script: [{ text: "It is open." }], toml: prices });
    writeFileSync(`${chat.folder}/cut.jsonl`, await recordingText(plainLines(4).slice(0, 2)));
    const args = ["generate", "--from", `${chat.folder}/cut.jsonl`, "--out", `${chat.folder}/t.jsonl`, "--model", "openai-chat/gpt-x"];
    const { exitCode, stdout, stderr } = await chat.haft(args);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/texts +1 +by the model/u);
    expect(stdout).toMatch(/model +1 +requests, .*cost 0\.\d+/u);
    expect(readFileSync(`${chat.folder}/t.jsonl`, "utf8")).toContain("It is open.");
  });

  test.each([
    [["--redact", "all"], "--redact is for conversations of recordings"],
    [["--store", "x.db"], "--store is for conversations of recordings"],
    [["a.jsonl", "b.jsonl"], 'does not take the argument "b.jsonl"'],
    [["--from", "a.jsonl", "--from-store"], "cannot be used together"],
    [["--from", "a.jsonl", "--store", "x.db"], "--store needs --from-store"],
    [["--from", "a.jsonl", "--calls", "3"], "--calls is for made-up conversations"],
    [["--from", "a.jsonl", "--tools", "x"], "--tools is for made-up conversations"],
    [["--from", "a.jsonl", "--redact", "email"], "--redact takes one of all, none, secrets"],
    [["--from", "a.jsonl", "--redact", "none,ids"], "cannot be combined with other words"],
    [["--from", "-", "-"], "Standard input is named more than once"],
    [["--from", "x"], "--out names the recording x"],
    [["--from", "none-of-that-name.jsonl"], "none-of-that-name.jsonl"],
  ])("%j is refused", async (args, message) => {
    const here = await project({}, NO_CONFIG);
    const { exitCode, stderr } = await here.haft(["generate", "--out", "x", ...args]);
    expect([exitCode, stderr]).toEqual([expect.toSatisfy((code: number) => code !== 0), expect.stringContaining(message)]);
  });
});
