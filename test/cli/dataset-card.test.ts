import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { generateConversations, type GenerateOptions } from "../../src/generate/conversations/generate-conversations.ts";
import { TRAJECTORY_FORMATS } from "../../src/generate/conversations/trajectory-formats.ts";
import { cardFileOf, checkCardFile, datasetCard, writeCard } from "../../src/cli/commands/generate/dataset-card.ts";
import { SAMPLED } from "../generate/conversations/generated.ts";
import { linesOf, shop } from "../generate/conversations/shop.ts";
import { temporaryFolder } from "../generate/temporary-folder.ts";

async function made(options: Partial<GenerateOptions> & { readonly out: string }) {
  const runtime = shop();
  const summary = await generateConversations({ runtime, plan: SAMPLED, ...options });
  await runtime.close();
  return summary;
}

const newFile = (): string => join(temporaryFolder(), "train.jsonl");

describe("issue 16.4 a dataset card", () => {
  test.for(TRAJECTORY_FORMATS)("%s: the counts cover all lines, also after an interrupted file was continued", async (format) => {
    const out = newFile();
    const whole = await made({ out, format });
    const lines = linesOf(out);
    expect(whole.dataset).toMatchObject({
      seed: "0",
      plan: (lines[0].metadata === undefined ? lines[0] : JSON.parse(lines[0].metadata)).plan,
      conversations: 30,
      failed: 0,
      calls: 120,
    });
    expect(Object.values(whole.dataset.tools).reduce((sum, count) => sum + count, 0)).toBe(120);
    expect(whole.dataset.statuses).toEqual(whole.statuses);
    expect(Object.values(whole.dataset.answers)).toEqual(whole.answers.map(({ calls }) => calls));
    truncateSync(out, Math.floor(readFileSync(out).length / 2));
    const again = await made({ out, format });
    expect(again.existing).toBeGreaterThan(10);
    expect(again.dataset).toEqual(whole.dataset);
  });

  test("problems of lines that already existed are counted as well", async () => {
    const templates = [{ messages: [{ role: "user", content: "Hello." } as const] }];
    const plan = { kind: "scripted", templates, count: 3 } as const;
    const out = newFile();
    const { checks, dataset } = await made({ out, plan });
    expect(checks).toMatchObject({ openEnds: 3, duplicates: 2 });
    expect(dataset.checks).toEqual(checks);
    expect((await made({ out, plan })).dataset).toEqual(dataset);
  });

  test.skipIf(spawnSync("mkfifo", ["--version"]).error !== undefined)(
    "J06 a named pipe in place of the card (needs mkfifo) is refused without waiting for its writer",
    async () => {
      const out = newFile();
      spawnSync("mkfifo", [cardFileOf(out)]);
      await expect(checkCardFile(out)).rejects.toMatchObject({
        code: "invalid_argument",
        message: `Cannot read the dataset card ${cardFileOf(out)}: it is not a regular file but a pipe, socket or device.`,
      });
    },
  );

  test("the front matter is YAML that names the files, and the tables have a row for each count", async () => {
    const out = newFile();
    const summary = await made({ out, split: 0.5, seed: 7 });
    const card = datasetCard(summary, { out, format: "neutral", kind: "sampled" });
    const [, head = "", text = ""] = card.split("---\n");
    expect(parseYaml(head)).toEqual({
      pretty_name: "train",
      tags: ["tool-use", "function-calling", "synthetic"],
      configs: [
        {
          config_name: "default",
          data_files: [
            { split: "train", path: "train.jsonl" },
            { split: "test", path: "train.test.jsonl" },
          ],
        },
      ],
    });
    for (const row of [
      "30 conversations with 120 tool calls, made by `haft generate`. One conversation per line, format `neutral`.",
      `| \`train.test.jsonl\` | ${summary.split?.test} |`,
      `| \`shop::get_order\` | ${summary.dataset.tools["shop::get_order"]} |`,
      "| duplicates | 0 |",
      `| plan | sampled, fingerprint \`${summary.dataset.plan}\` |`,
      "| seed | `7` |",
      "## License",
    ])
      expect(text).toContain(row);
  });

  test("explains weights if messages have them, and does not mention them otherwise", async () => {
    const out = newFile();
    const summary = await made({ out });
    const place = { out, format: "openai", kind: "sampled" } as const;
    expect(datasetCard(summary, { ...place, weights: true })).toMatch(
      /^\| weights \| `weight` is 0 in a message with a call that was refused .*loss; else 1 \|$/mu,
    );
    expect(datasetCard(summary, place)).not.toContain("weight");
  });

  test("an existing card of the same file is replaced; the card of another file, or any other file, is refused", async () => {
    const out = newFile();
    const summary = await made({ out });
    const path = cardFileOf(out);
    expect(path).toBe(out.replace(".jsonl", ".card.md"));
    await checkCardFile(out);
    expect(existsSync(path)).toBe(false);
    await writeCard(summary, { out, format: "neutral", kind: "sampled" });
    await checkCardFile(out);
    await writeCard(summary, { out, format: "neutral", kind: "sampled" });
    expect(readFileSync(path, "utf8")).toBe(datasetCard(summary, { out, format: "neutral", kind: "sampled" }));
    await expect(checkCardFile(out.replace(".jsonl", ".json"))).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(`${path} already exists, and describes another file than `),
    });
    writeFileSync(path, "# My notes\n");
    await expect(checkCardFile(out)).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("is not a card") });
  });
});
