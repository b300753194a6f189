import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeFileAtomically } from "../../src/cli/input/write-file.ts";
import { ToolError } from "../../src/core/error.ts";
import { folderWith } from "./run-haft.ts";

const signal = new AbortController().signal;

async function* pieces(...texts: readonly (string | Error)[]): AsyncGenerator<string> {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield text;
  }
}

describe("writeFileWhole writes a complete file or none", () => {
  test("complete text is written whole, and no temporary file remains", async () => {
    const folder = folderWith({});
    await writeFileAtomically(join(folder, "a.txt"), pieces("one ", "", "x".repeat(300_000), " two"), { force: false, signal });
    expect([readdirSync(folder), readFileSync(join(folder, "a.txt"), "utf8")]).toEqual([["a.txt"], `one ${"x".repeat(300_000)} two`]);
  });

  test("text that fails leaves no new file, and an existing file unchanged", async () => {
    const folder = folderWith({ "old.txt": "old" });
    const failure = new ToolError("corrupt_record", "broken");
    const text = (): AsyncGenerator<string> => pieces("x".repeat(300_000), failure);
    await expect(writeFileAtomically(join(folder, "new.txt"), text(), { force: false, signal })).rejects.toBe(failure);
    await expect(writeFileAtomically(join(folder, "old.txt"), text(), { force: true, signal })).rejects.toBe(failure);
    expect([readdirSync(folder), readFileSync(join(folder, "old.txt"), "utf8")]).toEqual([["old.txt"], "old"]);
  });

  test("cancellation leaves no file", async () => {
    const folder = folderWith({});
    const stop = new AbortController();
    async function* endless(): AsyncGenerator<string> {
      for (let count = 0; ; count++) {
        if (count === 3) stop.abort(new ToolError("cancelled", "Stopped."));
        yield "x".repeat(200_000);
      }
    }
    await expect(writeFileAtomically(join(folder, "a.txt"), endless(), { force: false, signal: stop.signal })).rejects.toThrow("Stopped.");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a file that another process creates meanwhile is not replaced", async () => {
    const folder = folderWith({});
    const target = join(folder, "a.txt");
    async function* slow(): AsyncGenerator<string> {
      yield "ours";
      writeFileSync(target, "theirs");
    }
    await expect(writeFileAtomically(target, slow(), { force: false, signal })).rejects.toThrow(
      new ToolError("invalid_argument", `Cannot write ${target}: it already exists.`),
    );
    expect([readdirSync(folder), readFileSync(target, "utf8")]).toEqual([["a.txt"], "theirs"]);
  });

  test("an error contains a hint that fits the command", async () => {
    const folder = folderWith({ "old.txt": "old" });
    symlinkSync(join(folder, "gone.txt"), join(folder, "link.txt"));
    const hintFor = (name: string, options: Partial<Parameters<typeof writeFileAtomically>[2]>): Promise<unknown> =>
      writeFileAtomically(join(folder, name), pieces("new"), { force: false, signal, ...options }).then(
        () => "written",
        ({ message, hint }: ToolError) => `${message.split(": ").at(-1)} ${hint}`,
      );
    expect(await hintFor("old.txt", { forceOption: "--overwrite" })).toMatch(
      /nothing was written\. Replace it with --overwrite, or choose another name\.$/u,
    );
    expect(await hintFor("link.txt", {})).toBe("it is a link that leads nowhere. Choose another name.");
    expect(await hintFor(".", { allowsStdout: true })).toBe(
      "it is a folder, a pipe or a device, not a regular file. Give - to write to standard output.",
    );
  });

  test("a symbolic link is kept, and its target is replaced", async () => {
    const folder = folderWith({ "real.txt": "old" });
    symlinkSync("real.txt", join(folder, "link.txt"));
    await writeFileAtomically(join(folder, "link.txt"), pieces("new"), { force: true, signal });
    expect([readdirSync(folder).toSorted(), readFileSync(join(folder, "real.txt"), "utf8")]).toEqual([["link.txt", "real.txt"], "new"]);
  });

  test.skipIf(!existsSync("/dev/null"))("a device is never replaced", async () => {
    await expect(writeFileAtomically("/dev/null", pieces("x"), { force: true, signal })).rejects.toThrow(
      "Cannot write /dev/null: it is a folder, a pipe or a device, not a regular file.",
    );
  });

  test("a folder in place of the file, and a missing folder, are refused by name", async () => {
    const folder = folderWith({});
    mkdirSync(join(folder, "taken"));
    await expect(writeFileAtomically(join(folder, "taken"), pieces("x"), { force: true, signal })).rejects.toMatchObject({
      code: "invalid_argument",
    });
    await expect(writeFileAtomically(join(folder, "no/a.txt"), pieces("x"), { force: false, signal })).rejects.toThrow(
      new ToolError("invalid_argument", `Cannot write ${join(folder, "no/a.txt")}: the folder does not exist.`),
    );
  });
});
