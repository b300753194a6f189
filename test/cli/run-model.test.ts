import { describe, expect, test } from "vitest";
import { jsonLines, lines } from "./session-project.ts";
import { calling, chatProject } from "./chat-project.ts";

const WRITE = { calls: [{ name: "files__write", input: { path: "new.md", content: "x" } }] };

describe("haft run with a model", () => {
  test("--prompt is one message; the answer, its calls and a summary are shown", async () => {
    const project = await chatProject({ script: [{ text: "I look.", ...calling("shop__look") }, { text: "There." }] });
    const { exitCode, stdout } = await project.haft(["run", "--prompt", "Where?"]);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `  · open: shop (6 tools), files (9 tools)

user    Where?

model   I look.
  → #1  shop::look  {}
  ✓ #1  shop::look # ms  milk on the shelf

model   There.
  · 2 rounds, 1 call, 20 tokens in, 10 out

summary
  calls        1  1 ok
  attempts     1
  repairs      0
  approvals    0
  orphans      0
  origins      1  1 live (1 shop)
`,
    });
  });

  test("the user lines of a file are sent one after another, and approver lines answer approvals", async () => {
    const project = await chatProject({ script: [calling("shop__wipe"), { text: "Wiped." }, { text: "Bye." }] });
    const input = lines(
      { role: "system", content: "Be brief." },
      { role: "approver", answer: "allow-once" },
      { role: "user", content: "Wipe." },
      { role: "user", content: "Thanks." },
    );
    const { exitCode, stdout } = await project.haft(["run", "-", "--model", "openai-chat/gpt-x"], { input });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("  ✓ #1  shop::wipe # ms  wiped\n");
    expect(stdout).toContain("  approvals    1  1 allowed\n");
    expect(JSON.stringify(project.asked.at(-1))).toMatch(/Be brief\.[^]*Wipe\.[^]*wiped[^]*Wiped\.[^]*Thanks\./u);
  });

  test.each([
    ["a key that is refused", [{ status: 401 }], 6],
    ["a model that is not there", [{ status: 404 }], 4],
    ["a provider that limits", [{ status: 429 }], 7],
    ["a message that is cut", [{ text: "One two", finish: "length" }], 1],
    ["a call nobody may allow", [calling("shop__wipe")], 6],
    ["a loop without end", [calling("shop__look")], 6],
  ] as const)("%s ends the run with its exit code", async (_name, script, expected) => {
    const project = await chatProject({ script: [...script], model: "maxAttempts = 1\n" });
    const input = lines({ role: "user", content: "Go." }, { role: "user", content: "And then?" });
    const { exitCode, stdout } = await project.haft(["run", "-", "--model", "openai-chat/gpt-x"], { input });
    expect([exitCode, stdout.includes("And then?"), stdout.includes("\nsummary\n")]).toEqual([expected, false, true]);
  });

  test("H05 a run that exceeds maxDurationMs exits with 7", async () => {
    const project = await chatProject({ script: [calling("shop__hang")], toml: "\n[loop]\nmaxDurationMs = 50\n" });
    const { exitCode, stdout } = await project.haft(["run", "--prompt", "Wait."]);
    expect([exitCode, stdout]).toEqual([7, expect.stringContaining("The run took longer than # ms.")]);
  });

  test("--json prints one line per message with its outcome", async () => {
    const project = await chatProject({ script: [calling("shop__look"), { text: "There." }] });
    const { stdout } = await project.haft(["run", "--prompt", "Where?", "--json"]);
    expect(jsonLines(stdout)).toEqual([expect.objectContaining({ text: "There.", reason: "answered", rounds: 2 })]);
  });

  test("--simulate writes no file and shows what would be written", async () => {
    const project = await chatProject({ script: [WRITE, { text: "Written." }] });
    const simulated = await project.haft(["run", "--prompt", "Write.", "--simulate"]);
    expect(simulated.exitCode).toBe(0);
    expect(simulated.stdout).toMatch(/✓ #1 {2}files::write # ms {2}simulated[^]*writes that were only simulated\n {2}file:.*new\.md\n/u);
    expect(() => project.read("notes/new.md")).toThrow("ENOENT");
    const live = await project.haft(["run", "--prompt", "Write."]);
    expect([live.exitCode, simulated.stdout.includes("Written.")]).toEqual([0, true]);
  });

  test("a stored session is continued", async () => {
    const project = await chatProject({ script: [{ text: "Ada." }, { text: "Yes." }] });
    const kept = ["--session", "s", "--store", project.path("haft.db")];
    await project.haft(["run", "--prompt", "Who?", ...kept]);
    await project.haft(["run", "--prompt", "Sure?", ...kept]);
    expect(project.asked.at(-1)).toEqual([
      { role: "user", content: "Who?" },
      { role: "assistant", content: "Ada." },
      { role: "user", content: "Sure?" },
    ]);
  });

  test("a file together with --prompt, neither, or lines of the assistant or tool are refused before anything runs", async () => {
    const project = await chatProject({ script: [] });
    const errors = [
      await project.haft(["run", "talk.jsonl", "--prompt", "Go."]),
      await project.haft(["run", "--model", "openai-chat/gpt-x"]),
      await project.haft(["run", "-", "--model", "openai-chat/gpt-x"], { input: lines({ role: "assistant", content: "Hi." }) }),
    ];
    expect(errors.map(({ exitCode, stderr }) => [exitCode, stderr.split("\n")[0]])).toEqual([
      [2, "haft: invalid_argument: haft run takes a file or --prompt, not both."],
      [2, "haft: invalid_argument: haft run needs a file, - for standard input, or --prompt."],
      [
        5,
        "haft: invalid_call: standard input has lines of the role assistant or tool, and with --model the model writes those; nothing was run.",
      ],
    ]);
    expect(project.asked).toEqual([]);
  });
});
