import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { decodePieces, readTextPieces } from "../../src/documents/read-text-file.ts";
import { configFolder } from "../config/config-folder.ts";

const TARGET = { what: "file", code: "invalid_argument", hint: "Name the file itself." } as const;

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

async function* cutInto(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

describe("a text in pieces", () => {
  test.for([1, 2, 3, 5])("joins to the whole text when cut into pieces of %d bytes inside characters", async (size) => {
    const text = "a é — 😀\u202e\0\n".repeat(3);
    expect(await textOf(decodePieces({ ...TARGET, path: "x" }, cutInto(Buffer.from(text), size)))).toBe(text);
  });

  test("is read from a file larger than a piece, without its byte order mark", async () => {
    const text = `${"x".repeat(262_143)}é${"y".repeat(300_000)}`;
    const folder = configFolder({ "long.txt": `\uFEFF${text}` });
    expect(await textOf(readTextPieces({ ...TARGET, path: join(folder, "long.txt") }))).toBe(text);
  });

  test.for([
    ["half a character at its end", [0x61, 0xc3]],
    ["a byte of another encoding", [0x61, 0xe9, 0x62]],
  ] as const)("with %s is refused", async ([, bytes]) => {
    const folder = configFolder({ "odd.txt": Buffer.from(bytes) });
    await expect(textOf(readTextPieces({ ...TARGET, path: join(folder, "odd.txt") }))).rejects.toThrow(
      new ToolError("invalid_argument", `Cannot read the file ${join(folder, "odd.txt")}: it is not valid UTF-8.`, {
        hint: "Save it as UTF-8.",
      }),
    );
  });

  test("of a folder, or of a missing file, is refused before the first piece", async () => {
    const folder = configFolder();
    await expect(textOf(readTextPieces({ ...TARGET, path: folder }))).rejects.toThrow("it is a folder.");
    await expect(textOf(readTextPieces({ ...TARGET, path: join(folder, "gone") }))).rejects.toThrow("there is no such file.");
  });

  test("passes on an error of its source", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("a");
      throw new ToolError("cancelled", "Stopped.");
    }
    await expect(textOf(decodePieces({ ...TARGET, path: "x" }, broken()))).rejects.toThrow("Stopped.");
  });
});
