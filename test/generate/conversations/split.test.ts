import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { generateConversations, type GenerateOptions } from "../../../src/generate/conversations/generate-conversations.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { SAMPLED, generated } from "./generated.ts";
import { linesOf, shop, unevenAnswer } from "./shop.ts";

const ARTICLES = Array.from({ length: 20 }, (_, index) => `article ${index + 1}`);
const SCRIPTED = {
  kind: "scripted",
  count: 100,
  templates: ARTICLES.map((article) => ({
    messages: [
      { role: "user", content: `I want ${article}.` } as const,
      { role: "assistant", calls: [{ name: "shop::create_order", input: { article, count: 1 } }] } as const,
    ],
  })),
} as const;

/** The two files of a generation, and its summary. */
async function divided(options: Partial<GenerateOptions> & { readonly out: string }) {
  const runtime = shop(unevenAnswer);
  const summary = await generateConversations({ runtime, plan: SAMPLED, split: 0.3, ...options });
  await runtime.close();
  const test = options.out.replace(".jsonl", ".test.jsonl");
  return {
    summary,
    train: linesOf(options.out),
    test: linesOf(test),
    text: readFileSync(options.out, "utf8") + readFileSync(test, "utf8"),
  };
}

const newFile = (): string => join(temporaryFolder(), "train.jsonl");
const indices = (lines: readonly { readonly index: number }[]): readonly number[] => lines.map(({ index }) => index);

describe("issue 16.4 split into training and test files", () => {
  test("each conversation is in one of the files, and all of one template are in the same file", async () => {
    const { summary, train, test } = await divided({ out: newFile(), plan: SCRIPTED });
    const all = [...indices(train), ...indices(test)].sort((one, other) => one - other);
    expect(all).toEqual(Array.from({ length: 100 }, (_, index) => index));
    const asked = (lines: typeof train): Set<string> => new Set(lines.map(({ messages }) => messages[0].content));
    expect(asked(train).size + asked(test).size).toBe(20);
    expect(asked(test).size).toBeGreaterThan(2);
    expect(asked(test).size).toBeLessThan(12);
    expect(summary).toMatchObject({ written: 100, split: { train: train.length, test: test.length }, notes: [] });
  });

  test("conversations that call the same tools in the same order are in the same file", async () => {
    const { train, test } = await divided({ out: newFile(), plan: { ...SAMPLED, count: 80, calls: 3, sample: "random" } });
    const chain = ({ messages }: (typeof train)[number]): string =>
      messages.flatMap(({ role, name }: { readonly role: string; readonly name: string }) => (role === "tool" ? [name] : [])).join();
    const trained = new Set(train.map(chain));
    expect([train.length > 0, test.length > 0]).toEqual([true, true]);
    expect(test.filter((line) => trained.has(chain(line)))).toEqual([]);
  });

  test("the seed determines both files, at any concurrency", async () => {
    const plan = SCRIPTED;
    const { text } = await divided({ out: newFile(), plan, concurrency: 1 });
    expect((await divided({ out: newFile(), plan, concurrency: 32 })).text).toBe(text);
    expect((await divided({ out: newFile(), plan, seed: 8 })).text).not.toBe(text);
  });

  test("a generation killed at any point continues with both files", async () => {
    const whole = newFile();
    const plan = { ...SCRIPTED, count: 40 };
    const { text, train, test } = await divided({ out: whole, plan });
    const random = seededRandom("kills");
    for (const kept of Array.from({ length: 8 }, () => Math.floor(random.next() * 40))) {
      const out = newFile();
      const [first, second] = [train, test].map((lines) => lines.filter(({ index }) => index < kept).map((line) => JSON.stringify(line)));
      writeFileSync(out, [...(first ?? []), ""].join("\n"));
      writeFileSync(out.replace(".jsonl", ".test.jsonl"), [...(second ?? []), ""].join("\n"));
      const next = [...train, ...test].find(({ index }) => index === kept);
      const cut = JSON.stringify(next).slice(0, 100);
      writeFileSync(train.includes(next) ? out : out.replace(".jsonl", ".test.jsonl"), cut, { flag: "a" });
      const again = await divided({ out, plan });
      expect(again.summary).toMatchObject({ existing: kept, written: 40 - kept, split: { train: train.length, test: test.length } });
      expect(again.text).toBe(text);
    }
  });

  test("files that do not belong together are rejected and stay unchanged", async () => {
    const out = newFile();
    const { text } = await divided({ out, plan: SCRIPTED });
    const testFile = out.replace(".jsonl", ".test.jsonl");
    await expect(divided({ out, plan: SCRIPTED, split: 0.5 })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(generated({ out, plan: SCRIPTED })).rejects.toMatchObject({ code: "invalid_argument" });
    expect(readFileSync(out, "utf8") + readFileSync(testFile, "utf8")).toBe(text);
    truncateSync(testFile, readFileSync(testFile, "utf8").indexOf("\n") + 1);
    await expect(divided({ out, plan: SCRIPTED })).rejects.toMatchObject({
      message: expect.stringMatching(
        /train\.jsonl and .*train\.test\.jsonl were changed after they were written: only the first \d+ conversations/u,
      ),
    });
    rmSync(testFile);
    await expect(divided({ out, plan: SCRIPTED })).rejects.toMatchObject({ code: "invalid_argument" });
    expect((await divided({ out, plan: SCRIPTED, overwrite: true })).text).toBe(text);
  });

  test("an empty part is named in the notes", async () => {
    const plan = { ...SCRIPTED, templates: SCRIPTED.templates.slice(0, 1), count: 4 };
    const { summary } = await divided({ out: newFile(), plan, split: 0.0001 });
    expect(summary.split).toMatchObject({ train: 4, test: 0 });
    expect(summary.notes).toEqual([expect.stringMatching(/^There is nothing for tests: .* another seed\.$/u)]);
  });

  test("without split there is no second file, and a sink cannot be split", async () => {
    const out = newFile();
    await generated({ plan: SAMPLED, out });
    expect(existsSync(out.replace(".jsonl", ".test.jsonl"))).toBe(false);
    await expect(generated({ plan: SAMPLED, split: 0.1 })).rejects.toMatchObject({ message: expect.stringContaining("second file") });
    await expect(generated({ plan: SAMPLED, out, split: 1.5 })).rejects.toMatchObject({ message: expect.stringContaining("split of") });
  });
});
