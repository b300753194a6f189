import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { jsonLines } from "./session-project.ts";
import { CTRL_C, calling, chatProject, type Keys } from "./chat-project.ts";

/** Does something once, when the output holds a text. */
function when(text: RegExp, act: (keys: Keys) => void): (shown: string, keys: Keys) => void {
  let done = false;
  return (shown, keys) => {
    if (done || !text.test(shown)) return;
    done = true;
    act(keys);
  };
}

/** Calls start when the message is whole, so that their order is always the same. */
const NOT_EARLY = "\n[loop]\nearlyDispatch = false\n";

describe("output", () => {
  test("shows text, calls and results as they arrive, then a summary", async () => {
    const project = await chatProject({
      script: [
        { reasoning: "Where is it?", text: "I look.", ...calling("shop__look") },
        calling("files__list"),
        { text: "On the shelf.\n\n" },
      ],
      model: "[model.prices]\ninputPerMillion = 100\noutputPerMillion = 1000\n",
    });
    expect(await project.haft(["chat"], { types: ["Where is the milk?"], columns: 80 })).toEqual({
      exitCode: 0,
      stdout: `  · openai-chat/gpt-x, 16 tools. /help says more; Ctrl-D ends

model   (thinks) Where is it?
        I look.
  → #1  shop::look  {}
  ✓ #1  shop::look # ms  milk on the shelf

model
  → #2  files::list  {}
  ✓ #2  files::list # ms  plan.md

model   On the shelf.
  · 3 rounds, 2 calls, 30 tokens in, 15 out, 0.0180 USD
`,
      stderr: "",
    });
  });

  test("F1.37 shows text while the model is still streaming", async () => {
    const { promise: seen, resolve } = Promise.withResolvers<void>();
    const project = await chatProject({
      script: [
        {
          text: "The milk is on the shelf, at the very back of it.",
          delivery: { gate: (piece) => (piece < 6 ? Promise.resolve() : seen) },
        },
      ],
    });
    const { stdout } = await project.haft(["chat"], { types: ["Where?"], onOutput: when(/The milk is/u, () => resolve()) });
    expect(stdout).toContain("\nmodel   The milk is on the shelf, at the very back of it.\n");
  });

  test("lines fit the terminal and break between words; colours are used only at a terminal", async () => {
    const text = "A word, and many more of them than one line of a narrow terminal holds, so that they go on below it.";
    const project = await chatProject({ script: [{ text }] });
    const { stdout } = await project.haft(["chat"], { types: ["Go."], columns: 40, colours: true });
    expect(stdout).toContain(
      "\n\u001b[1mmodel \u001b[22m  A word, and many more of them\n        than one line of a narrow\n        terminal holds, so that they go\n        on below it.\n",
    );
    expect((await project.haft(["chat"], { input: "Go.", colours: true })).stdout).toContain(`\nuser    Go.\n\nmodel   ${text}\n`);
  });

  test("H10 control characters from a model or provider do not reach the terminal", async () => {
    const text = "\u001b[2J\u001b]0;owned\u0007Hi\u202e \u009b31m.";
    const project = await chatProject({
      script: [
        { text, reasoning: "\u001b[8mhm" },
        { status: 400, message: "no\u001b[2J \u0007" },
      ],
    });
    const { stdout, stderr } = await project.haft(["chat"], { types: ["Go.", "Again."], columns: 80 });
    expect(stdout + stderr).toContain("Hi\\u{202e}");
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/u);
  });

  test("replies in the wire format of every provider are decoded", async () => {
    for (const [format, provider] of [
      ["anthropic-messages", "anthropic"],
      ["openai-responses", "openai"],
      ["gemini", "gemini"],
      ["ollama", "ollama"],
    ] as const) {
      const project = await chatProject({ format, provider, script: [{ text: "I look.", ...calling("shop__look") }, { text: "There." }] });
      const { stdout } = await project.haft(["chat"], { types: ["Where?"] });
      expect([provider, stdout.split("\n").slice(1, -2)]).toEqual([
        provider,
        ["", "model   I look.", "  → #1  shop::look  {}", "  ✓ #1  shop::look # ms  milk on the shelf", "", "model   There."],
      ]);
    }
  });

  test("F3.31 with a text format, calls are read from the model's text and the request offers no tools", async () => {
    const call = '<tool_call>\n{"name": "shop__look", "arguments": {"at": "door"}}\n</tool_call>';
    const project = await chatProject({ script: [{ text: `I look.\n${call}` }, { text: "There." }], model: 'textFormat = "hermes"\n' });
    const { stdout } = await project.haft(["chat"], { types: ["Where?"] });
    expect(stdout).toContain('  → #1  shop::look  {"at":"door"}\n  ✓ #1  shop::look # ms  milk on the door\n');
    expect(stdout).toContain("\nmodel   There.\n");
    expect(project.server.requests.map(({ refused, body }) => [refused, "tools" in body])).toEqual([
      [undefined, false],
      [undefined, false],
    ]);
  });
});

test("F0.3 F1.38 a bracket call by its bare name runs like a native call, and an ambiguous one is logged as a warning", async () => {
  const script = [
    { text: "I look.\n[/look]\n@@at=door\n@@at=door\nbehind it\n[look/]" },
    { text: "[/look]\n\n@@ at = door\n[look/]" },
    { text: "There." },
  ];
  const project = await chatProject({ script, model: 'textFormat = "bracket"\nbodyArguments = { look = "at" }\n' });
  const { stdout, stderr } = await project.haft(["chat"], { types: ["Where?"] });
  expect(stdout).toContain('  → #2  shop::look  {"at":"door"}\n  ✓ #2  shop::look # ms  milk on the door\n');
  expect(stderr).toContain('The call of "look" has both a body and the argument "at"; the body is kept as "body".');
  expect(stdout).toContain("\nmodel   There.\n");
});

test("F1.37 F1.38 a call between custom delimiters runs like any other, and its body becomes the argument that bodyArguments names", async () => {
  const script = [{ text: "I look.\n{{look}}\n- at: door\n{{/look}}" }, { text: "{{look}}cellar{{/look}}" }, { text: "There." }];
  const model =
    'textFormat = { start = "{{", end = "}}", slash = "closes", arguments = "lines", prefix = "- ", separator = ": " }\nbodyArguments = { "shop::look" = "at" }\n';
  const project = await chatProject({ script, model });
  const { stdout } = await project.haft(["chat"], { types: ["Where?"] });
  expect(stdout).toContain('  → #1  shop::look  {"at":"door"}\n  ✓ #1  shop::look # ms  milk on the door\n');
  expect(stdout).toContain('  → #2  shop::look  {"at":"cellar"}\n  ✓ #2  shop::look # ms  milk on the cellar\n');
});

describe("approval", () => {
  const script = [calling("shop__wipe"), calling("shop__wipe"), { text: "Done." }];

  test("F1.50 yes allows one call, no refuses it, and always allows later calls as well", async () => {
    const answers = async (...types: readonly string[]): Promise<readonly string[]> => {
      const project = await chatProject({ script });
      const { stdout } = await project.haft(["chat"], { types: ["Wipe.", ...types] });
      return [...stdout.matchAll(/^ {2}[✓✗] #\d +shop::wipe # ms {2}(\w+)/gmu)].map(([, what = ""]) => what);
    };
    expect(await answers("y", "n")).toEqual(["wiped", "approval_denied"]);
    expect(await answers("what?", "", "yes")).toEqual(["approval_denied", "wiped"]);
    expect(await answers("a")).toEqual(["wiped", "wiped"]);
  });

  test("F1.50 without a person the run ends and lists the pending calls; a later chat at a terminal asks and continues", async () => {
    const project = await chatProject({ script: [{ text: "I wipe.", ...calling("shop__wipe") }, { text: "Done." }] });
    const kept = ["--session", "s", "--store", project.path("haft.db")];
    const first = await project.haft(["chat", ...kept], { input: "Wipe.\nAnd then?\n" });
    expect(first.exitCode).toBe(6);
    expect(first.stdout).toContain(
      `  ! Calls wait for approval.\n  · shop::wipe {}\n  · At a terminal this asks you and continues: haft chat --session s --store ${project.path("haft.db")}\n`,
    );
    expect(first.stdout).not.toContain("And then?");
    const second = await project.haft(["chat", ...kept], { types: ["y"] });
    expect(second.stdout.split("\n").slice(2)).toEqual([
      "",
      "model",
      "  → #2  shop::wipe  {}",
      "  ✓ #2  shop::wipe # ms  wiped",
      "",
      "model   Done.",
      "  · 1 round, 1 call, 10 tokens in, 5 out",
      "",
    ]);
    expect(project.server.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
    const third = await project.haft(["chat", ...kept], { types: [] });
    expect([third.exitCode, project.server.requests.length]).toEqual([0, 2]);
  });

  test("F1.50 a pending call can be allowed for its input", async () => {
    const project = await chatProject({ script: [{ text: "I wipe.", ...calling("shop__wipe") }, { text: "Done." }] });
    const kept = ["--session", "s", "--store", project.path("haft.db")];
    await project.haft(["chat", ...kept], { input: "Wipe." });
    expect(await project.haft(["chat", ...kept], { types: ["i"] })).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("model   Done."),
    });
  });

  test("without a store, pending calls are not kept, and the chat says so", async () => {
    const project = await chatProject({ script });
    const { stdout } = await project.haft(["chat"], { input: "Wipe." });
    expect(stdout).toContain("  · Approval needs a terminal. With --store the calls wait for one; --yes allows everything.\n");
  });

  test("F1.72 a tool's question is asked at the terminal; without a person it is cancelled", async () => {
    const asking = [calling("shop__question"), { text: "Fine." }];
    const attended = await (await chatProject({ script: asking })).haft(["chat"], { types: ["Order.", "y", "corner"] });
    expect(attended.stdout).toContain("  ✓ #1  shop::question # ms  corner\n");
    const alone = await (await chatProject({ script: asking })).haft(["chat"], { input: "Order." });
    expect(alone.stdout).toContain("  ✓ #1  shop::question # ms  nobody said\n");
  });
});

describe.each([
  ["openai-chat", "openai-chat"],
  ["anthropic-messages", "anthropic"],
] as const)("Ctrl-C, with %s", (format, provider) => {
  test("while the model is streaming, stops the message; the next message is sent", async () => {
    const project = await chatProject({
      format,
      provider,
      script: [{ text: "One two three four five", delivery: { after: { pieces: 5, then: "stall" } } }, { text: "Yes?" }],
    });
    const onOutput = when(/One two/u, ({ interrupt }) => interrupt());
    const { exitCode, stdout } = await project.haft(["chat"], { types: ["Count.", "Again."], onOutput });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("  ! Stopped. Completed calls stay done.\n");
    expect(stdout).toContain("\nmodel   Yes?\n");
    expect(project.server.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
  });

  test("while tools run, cancels them, each with a result; the stored session can continue", async () => {
    const project = await chatProject({
      format,
      provider,
      script: [calling("shop__look", "shop__hang"), { text: "Yes?" }],
      toml: NOT_EARLY,
    });
    const kept = ["--session", "s", "--store", project.path("haft.db")];
    const onOutput = when(/→ #2 [^]*milk on the|milk on the[^]*→ #2 /u, ({ interrupt }) => interrupt());
    const first = await project.haft(["chat", ...kept], { types: ["Wait."], onOutput });
    expect(first.exitCode).toBe(0);
    expect(first.stdout).toMatch(/✓ #1 {2}shop::look # ms {2}milk on the shelf\n[^]*✗ #2 {2}shop::hang # ms {2}cancelled\n/u);
    const second = await project.haft(["chat", ...kept], { types: ["Again."] });
    expect(second.stdout).toContain("\nmodel   Yes?\n");
    expect(project.server.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
    expect(JSON.stringify(project.server.requests[1]?.body)).toContain("milk on the shelf");
  });

  test("during an approval prompt, cancels the call as well; a second Ctrl-C ends the program", async () => {
    const project = await chatProject({ format, provider, script: [calling("shop__look", "shop__wipe"), { text: "Yes?" }] });
    const { exitCode, stdout, stderr } = await project.haft(["chat"], { types: ["Wipe.", CTRL_C, "Again.", CTRL_C] });
    expect(exitCode).toBe(130);
    expect(stdout).toMatch(/✗ #2 {2}shop::wipe # ms {2}cancelled\n[^]*\nmodel {3}Yes\?\n/u);
    expect(stderr.trimEnd().split("\n").at(-1)).toBe("haft: cancelled: Stopped by Ctrl-C.");
    expect(project.server.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
  });
});

test("a second Ctrl-C during one message ends the program and closes the store", async () => {
  const project = await chatProject({ script: [calling("shop__hang"), { text: "Yes?" }] });
  const kept = ["--session", "s", "--store", project.path("haft.db")];
  const onOutput = when(/shop::hang/u, ({ interrupt }) => (interrupt(), interrupt()));
  expect((await project.haft(["chat", ...kept], { types: ["Wait."], onOutput })).exitCode).toBe(130);
  expect((await project.haft(["chat", ...kept], { types: ["Again."] })).stdout).toContain("\nmodel   Yes?\n");
});

describe("input lines", () => {
  test("each line is one message, empty lines are skipped, and the exit code is that of the last message", async () => {
    const project = await chatProject({ script: [{ text: "One." }, { status: 400 }, { text: "Three." }, { status: 401 }] });
    expect((await project.haft(["chat"], { input: "a\n\n  \nb\r\nc" })).exitCode).toBe(0);
    expect(project.asked.at(-1)).toEqual([
      { role: "user", content: "a" },
      { role: "assistant", content: "One." },
      { role: "user", content: "b" },
      { role: "user", content: "c" },
    ]);
    expect((await project.haft(["chat"], { input: "d" })).exitCode).toBe(6);
  });

  test("a byte order mark is not part of the first line", async () => {
    const project = await chatProject({ script: [] });
    const { exitCode, stdout } = await project.haft(["chat"], { input: "\uFEFF/usage\n" });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("No requests have been made yet.")]);
    expect(project.asked).toEqual([]);
  });

  test("with --json each message is one line, and nothing else is written to standard output", async () => {
    const project = await chatProject({ script: [calling("shop__look"), { text: "There." }, { status: 404, message: "No gpt-x." }] });
    const { exitCode, stdout } = await project.haft(["chat", "--json"], { input: "Where?\nAgain?\n/usage\n" });
    expect([exitCode, jsonLines(stdout)]).toEqual([
      4,
      [
        expect.objectContaining({ text: "There.", reason: "answered", rounds: 2, usage: { inputTokens: 20, outputTokens: 10 } }),
        expect.objectContaining({ text: "", reason: "model-error", error: expect.objectContaining({ code: "not_found" }) }),
      ],
    ]);
  });

  test("a stored session is continued", async () => {
    const project = await chatProject({ script: [{ text: "Ada." }, { text: "Yes." }] });
    const kept = ["--session", "s", "--store", project.path("haft.db")];
    expect((await project.haft(["chat", ...kept], { input: "Who?" })).stdout).toContain("  · session s: new\n");
    expect((await project.haft(["chat", ...kept], { input: "Sure?" })).stdout).toMatch(/^ {2}· session s: continues after \d+ events\n/u);
    expect(project.asked.at(-1)).toEqual([
      { role: "user", content: "Who?" },
      { role: "assistant", content: "Ada." },
      { role: "user", content: "Sure?" },
    ]);
  });
});

test("calls of a continued chat are numbered after the earlier ones, as in the log of the session", async () => {
  const project = await chatProject({ script: [calling("shop__look"), { text: "One." }, calling("shop__look"), { text: "Two." }] });
  const kept = ["--session", "s", "--store", project.path("haft.db")];
  expect((await project.haft(["chat", ...kept], { input: "Look." })).stdout).toContain("✓ #1  shop::look");
  const { stdout } = await project.haft(["chat", ...kept], { input: "Again." });
  expect([stdout.includes("✓ #2  shop::look"), stdout.includes("#1")]).toEqual([true, false]);
});

describe("limits", () => {
  test("H05 a model that repeats one call endlessly is stopped, with the reason", async () => {
    const project = await chatProject({ script: [calling("shop__look")] });
    const { exitCode, stdout } = await project.haft(["chat"], { input: "Look." });
    expect([exitCode, stdout]).toEqual([
      6,
      expect.stringContaining("  ! The model made the same call again and again, with the same result."),
    ]);
  });

  test("F1.51 a budget is reported once when it runs low, and refuses calls when it is used up", async () => {
    const looks = Array.from({ length: 3 }, (_, at) => ({ calls: [{ name: "shop__look", input: { at: `place ${at}` } }] }));
    const project = await chatProject({ script: [...looks, { text: "Enough." }], toml: "\n[loop.budget.calls]\nsoft = 1\nhard = 2\n" });
    const { stdout } = await project.haft(["chat"], { types: ["Look.", "/go"] });
    expect(stdout.match(/! note for the model: /gu)).toHaveLength(2);
    expect([...stdout.matchAll(/[✓✗] #\d {2}shop::look # ms {2}(\w+)/gu)].map(([, what]) => what)).toEqual([
      "milk",
      "milk",
      "limit_exceeded",
    ]);
    expect(stdout).toContain("  ! The budget was used up. 2 of 2 tool calls\n  · /go lets it continue.\n");
    expect(stdout).toContain("\nmodel   Enough.\n");
  });

  test("F3.31 the rounds per message are limited; /go allows as many again", async () => {
    const looks = Array.from({ length: 4 }, (_, at) => ({ calls: [{ name: "shop__look", input: { at: `place ${at}` } }] }));
    const project = await chatProject({ script: [...looks, { text: "There." }], toml: "\n[loop]\nmaxRounds = 3\n" });
    const { stdout } = await project.haft(["chat"], { types: ["Look.", "/go"] });
    expect(stdout).toContain(
      "  ! The loop reached its maximum number of rounds. 3 rounds\n  · /go lets it continue.\n  · 3 rounds, 3 calls,",
    );
    expect(stdout).toContain("\nmodel   There.\n  · 2 rounds, 1 call,");
  });

  test("F3.35 consecutive failed calls stop all calls until /clear", async () => {
    const fails = Array.from({ length: 5 }, (_, at) => ({ calls: [{ name: "shop__fail", input: { at } }] }));
    const project = await chatProject({ script: [...fails, { text: "Better." }] });
    const { stdout } = await project.haft(["chat"], { types: ["/clear", "Try.", "Again.", "/clear", "Again."] });
    expect(stdout.split("\n").filter((line) => /Nothing is stopped|Too many|Calls run|\/clear lets|Better/u.test(line))).toEqual([
      "Nothing is stopped.",
      "  ! Too many calls failed in a row; nothing runs until the stop is cleared. 5 calls failed in a row, the last one shop::fail: no luck",
      "  · /clear lets calls run again.",
      "  ! Too many calls failed in a row; nothing runs until the stop is cleared. 5 calls failed in a row, the last one shop::fail: no luck",
      "  · /clear lets calls run again.",
      "Calls run again. 5 calls failed in a row, the last one shop::fail: no luck.",
      "model   Better.",
    ]);
  });
});

describe("slash commands", () => {
  test("print usage, tools and help; an unknown command suggests a similar one", async () => {
    const project = await chatProject({ script: [{ text: "Hm." }] });
    const { exitCode, stdout } = await project.haft(["chat"], {
      types: ["/usage", "/tools", "/help", "/tols\u001b[2J", " /path", "/exit", "no"],
    });
    const lines = stdout.split("\n");
    expect(exitCode).toBe(0);
    expect(lines.slice(1, 3)).toEqual(["No requests have been made yet.", expect.stringMatching(/^ {2}files::edit {8}Replaces/u)]);
    expect(lines.filter((line) => line.startsWith("  /"))).toHaveLength(6);
    expect(stdout).toContain(
      "There is no command /tols. Did you mean /tools? To send a message that begins with a slash, put a space before it.\n",
    );
    expect(project.asked).toEqual([[{ role: "user", content: "/path" }]]);
  });
});

describe("system prompt", () => {
  const MANUAL = `export const mow = {
    name: "mow", description: "Mows.", documentation: "Mow in rows.", requiresReading: true,
    promptContribution: { text: "Mow only when it is dry." },
    inputSchema: { type: "object" }, effects: { reads: [], writes: [] }, execute: () => "mown",
  };`;
  const GARDEN = '\n[toolsets.garden]\ntype = "module"\npath = "./garden.mjs"\n';

  test("--system overrides the configuration, and without either there is no system message", async () => {
    const systems = async (toml: string, ...args: readonly string[]): Promise<unknown> => {
      const project = await chatProject({ script: [{ text: "Yes." }], toml });
      await project.haft(["chat", ...args], { input: "Go." });
      return project.asked[0];
    };
    const user = { role: "user", content: "Go." };
    expect(await systems("")).toEqual([user]);
    expect(await systems('\n[loop]\nsystem = "Be brief."\n')).toEqual([{ role: expect.any(String), content: "Be brief." }, user]);
    expect(await systems('\n[loop]\nsystem = "Be brief."\n', "--system", "Be kind.")).toEqual([
      { role: expect.any(String), content: "Be kind." },
      user,
    ]);
  });

  test("F1.39 contains the hints of tools, and info returns documentation that must be read first", async () => {
    const script = [
      calling("garden__mow"),
      { calls: [{ name: "manual__info", input: { name: "garden__mow" } }] },
      calling("garden__mow"),
      { text: "Done." },
    ];
    const project = await chatProject({ script, toml: GARDEN, files: { "garden.mjs": MANUAL } });
    const { stdout } = await project.haft(["chat", "--system", "Be brief."], { input: "Mow." });
    expect(stdout).toMatch(
      /✗ #1 [^]*permission_denied[^]*✓ #2 {2}manual::info # ms {2}Mow in rows\.\n[^]*✓ #3 {2}garden::mow # ms {2}mown\n/u,
    );
    const [first] = project.server.requests;
    expect(JSON.stringify(first?.body["messages"])).toMatch(/Be brief\.[^]*- `garden__mow`: Mows\.[^]*Mow only when it is dry\./u);
  });
});

test("a chat without a store creates no store file", async () => {
  const project = await chatProject({ script: [{ text: "Yes." }] });
  await project.haft(["chat"], { input: "Go." });
  expect(existsSync(project.path("haft.db"))).toBe(false);
});
