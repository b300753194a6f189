import { constants, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { inCI } from "../../ci.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { generateConversations } from "../../../src/generate/conversations/generate-conversations.ts";
import { appendFlags } from "../../../src/generate/conversations/trajectory-file.ts";
import { TRAJECTORY_FORMATS } from "../../../src/generate/conversations/trajectory-formats.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { SAMPLED, generated } from "./generated.ts";
import { linesOf, shop } from "./shop.ts";

describe("issue 6.7 a file is continued", () => {
  test.for(inCI ? TRAJECTORY_FORMATS : TRAJECTORY_FORMATS.slice(0, 2))(
    "%s: a file cut off anywhere is completed to the same file",
    async (format) => {
      const path = join(temporaryFolder(), "train.jsonl");
      const runtime = shop();
      const options = { runtime, plan: SAMPLED, out: path, format } as const;
      await generateConversations(options);
      const whole = readFileSync(path);
      const random = seededRandom(format);
      const cuts = [0, 1, whole.indexOf("\n"), whole.indexOf("\n") + 1, whole.length - 1, whole.length];
      for (const cut of [...cuts, ...Array.from({ length: inCI ? 15 : 2 }, () => Math.floor(random.next() * whole.length))]) {
        truncateSync(path, cut);
        const { existing, written } = await generateConversations(options);
        expect(existing + written).toBe(30);
        expect(readFileSync(path).equals(whole)).toBe(true);
      }
      await runtime.close();
    },
  );

  test("a larger count appends conversations, and a smaller one removes none", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    const runtime = shop();
    await generateConversations({ runtime, plan: { ...SAMPLED, count: 10 }, out: path });
    const { existing, written } = await generateConversations({ runtime, plan: SAMPLED, out: path });
    expect([existing, written]).toEqual([10, 20]);
    expect(readFileSync(path, "utf8")).toBe((await generated({ plan: SAMPLED })).text);
    expect(await generateConversations({ runtime, plan: { ...SAMPLED, count: 5 }, out: path })).toMatchObject({ existing: 30, written: 0 });
    expect(linesOf(path).length).toBe(30);
    await runtime.close();
  });

  test("a file of another seed, plan, format or label is rejected and stays unchanged, unless overwrite is set", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    const runtime = shop();
    const made = { runtime, plan: SAMPLED, out: path, seed: 1 } as const;
    await generateConversations(made);
    const before = readFileSync(path, "utf8");
    for (const other of [
      { seed: 2 },
      { plan: { ...SAMPLED, calls: 3 } },
      { format: "openai" },
      { label: "other" },
      { allow: { deny: ["*::fail"] } },
      { parallelCalls: false },
      { maxTools: 2 },
    ] as const) {
      await expect(generateConversations({ ...made, ...other })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringMatching(/was made with (the seed "1"|another plan, other tools or another format or setting)/u),
        hint: "Choose another name, or set overwrite (--overwrite on the command line).",
      });
      expect(readFileSync(path, "utf8")).toBe(before);
    }
    expect(await generateConversations({ ...made, seed: 2, overwrite: true })).toMatchObject({ existing: 0, written: 30 });
    expect(readFileSync(path, "utf8")).not.toBe(before);
    await runtime.close();
  });

  test.for(["notes", "notes\n", '{"a": 1}\n', "[1]\nmore\n", '{"id":"x"'])(
    "a file that contains %j is rejected and stays unchanged",
    async (text) => {
      const path = join(temporaryFolder(), "notes.txt");
      writeFileSync(path, text);
      await expect(generated({ plan: SAMPLED, out: path })).rejects.toMatchObject({ code: "invalid_argument" });
      expect(readFileSync(path, "utf8")).toBe(text);
    },
  );

  test("a removed line is detected", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    await generated({ plan: SAMPLED, out: path });
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, lines.toSpliced(3, 1).join("\n"));
    await expect(generated({ plan: SAMPLED, out: path })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("29 lines"),
    });
  });

  test("duplicate lines are rejected with the number of sound lines, from which the file can be continued", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    await generated({ plan: SAMPLED, out: path });
    const text = readFileSync(path, "utf8");
    const lines = text.split("\n");
    writeFileSync(path, lines.toSpliced(12, 0, lines[11] ?? "").join("\n"));
    await expect(generated({ plan: SAMPLED, out: path })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("only the first 12 of its 31 lines are there in order."),
      hint: expect.stringContaining("head -n 12"),
    });
    writeFileSync(path, `${lines.slice(0, 12).join("\n")}\n`);
    expect((await generated({ plan: SAMPLED, out: path })).summary).toMatchObject({ existing: 12, written: 18 });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test.for(["", "ours"])(
    "a complete line of another program without a line feed is not removed as a cut-off line, after %j",
    async (before) => {
      const path = join(temporaryFolder(), "train.jsonl");
      const plan = { ...SAMPLED, count: 2 };
      if (before !== "") await generated({ plan, out: path, format: "openai" });
      writeFileSync(path, '{"messages":[{"role":"user","content":"precious"}]}', { flag: "a" });
      const text = readFileSync(path, "utf8");
      await expect(generated({ plan, out: path, format: "openai" })).rejects.toMatchObject({ code: "invalid_argument" });
      expect(readFileSync(path, "utf8")).toBe(text);
    },
  );

  test("another process that writes to the same file is detected", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    const meddle = ({ done }: { readonly done: number }): void => {
      if (done === 3) writeFileSync(path, "x", { flag: "a" });
    };
    await expect(generated({ plan: SAMPLED, out: path, onProgress: meddle })).rejects.toMatchObject({ code: "conflict" });
  });

  test.for([".", "no/such/folder/x.jsonl", "/dev/null"])("%s is rejected as a file that cannot be written", async (path) => {
    await expect(generated({ plan: SAMPLED, out: join(path.startsWith("/") ? "/" : temporaryFolder(), path) })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });
});

test("on Windows a file is not opened to append, so that it can be truncated", () => {
  expect(appendFlags("win32") & constants.O_APPEND).toBe(0);
  expect(appendFlags("linux") & constants.O_APPEND).toBe(constants.O_APPEND);
});

test("a file that is not opened to append is continued at the end of its lines", async () => {
  const path = join(temporaryFolder(), "train.jsonl");
  const runtime = shop();
  const options = { runtime, plan: SAMPLED, out: path };
  await generateConversations(options);
  const whole = readFileSync(path);
  const { platform } = process;
  Object.defineProperty(process, "platform", { value: "win32" });
  onTestFinished(() => void Object.defineProperty(process, "platform", { value: platform }));

  truncateSync(path, whole.length - 5);
  await generateConversations(options);

  expect(readFileSync(path).equals(whole)).toBe(true);
  await runtime.close();
});
