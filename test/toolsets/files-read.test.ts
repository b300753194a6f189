import { spawnSync } from "node:child_process";
import { mkdirSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { pdfOf } from "./pdf-document.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";
import { testInCI } from "../test-in-ci.ts";

/** Where it is missing, the one test that needs it is skipped. */
const PIPE_MAKER = "mkfifo";
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const JPEG_END = Buffer.from([0xff, 0xd9]);
/** A photo of a camera whose preview is whole, while the image itself has no end. */
const CUT_PHOTO = Buffer.concat([
  Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, 104]),
  Buffer.alloc(100, 1),
  JPEG_END,
  Buffer.from([0xff, 0xff, 0xda, 0, 2]),
  Buffer.alloc(300, 2),
]);
const TEN_LINES = Array.from({ length: 10 }, (_none, index) => `line ${index + 1}\n`).join("");

describe("F1.65 read", () => {
  test("F1.65 a missing file is an error with a hint how to find it", async () => {
    const workspace = new TemporaryWorkspace();
    expect((await workspace.refusal("read", { path: "a/none.txt" })).toJSON()).toEqual({
      code: "execution_failed",
      message: 'Cannot open "a/none.txt": it does not exist.',
      retryable: false,
      outcome: "failed",
      hint: "List the folder, or look for the name with a glob such as **/name.*.",
    });
  });

  test("F1.65 a folder, a socket, and a path below a file are rejected", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a" });
    mkdirSync(workspace.path("folder"));
    const server = createServer().listen(workspace.path("socket"));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const messages = await Promise.all(
      ["folder", "socket", "a.txt/b"].map(async (path) => (await workspace.refusal("read", { path })).message),
    );
    expect(messages).toEqual([
      '"folder" is a folder.',
      'Cannot open "socket": it is a socket or device, not a regular file.',
      'Cannot open "a.txt/b": a part of the path is a file, not a folder.',
    ]);
  });

  test("F1.65 a pipe without a writer is rejected at once, where the system can create one", async (context) => {
    const workspace = new TemporaryWorkspace();
    if (spawnSync(PIPE_MAKER, [workspace.path("pipe")]).status !== 0) return context.skip("no mkfifo");
    expect((await workspace.refusal("read", { path: "pipe" })).message).toBe('"pipe" is not a regular file but a pipe, socket or device.');
  });

  test("F1.65 an offset past the end is an error with the number of lines", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": TEN_LINES });
    expect((await workspace.refusal("read", { path: "a.txt", offset: 11 })).message).toBe('"a.txt" has 10 lines; line 11 is past its end.');
  });

  test("F1.65 lines are numbered correctly, also with offset and limit", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": TEN_LINES });
    expect(await workspace.call("read", { path: "a.txt", offset: 9 })).toMatchObject({
      text: "     9\tline 9\n    10\tline 10\n(lines 9–10 of 10)",
      output: { path: "a.txt", firstLine: 9, lastLine: 10, totalLines: 10, text: "line 9\nline 10" },
    });
    expect(await workspace.say("read", { path: "a.txt", offset: 2, limit: 2 })).toBe(
      "     2\tline 2\n     3\tline 3\n(lines 2–3 of 10; continue with offset 4)",
    );
  });

  test.each([
    ["nothing", "", "(the file is empty)"],
    ["no last line end", "a\nb", "     1\ta\n     2\tb"],
    ["empty lines", "\n\nx\n", "     1\t\n     2\t\n     3\tx"],
    ["Windows line ends", "a\r\nb\r\n", "     1\ta\n     2\tb"],
    ["letters of several bytes", "žluťoučký\n日本語 🎉", "     1\tžluťoučký\n     2\t日本語 🎉"],
  ])("F1.65 a file with %s is read correctly", async (_what, content, text) => {
    const workspace = new TemporaryWorkspace({ "a.txt": content });
    expect(await workspace.say("read", { path: "a.txt" })).toBe(text);
  });

  test("F1.65 bytes that are not UTF-8 are noted, but not a character that the cut of a long line divides", async () => {
    const note = "(bytes that are not UTF-8 are shown as \ufffd; if this text is written back, they are lost)";
    const workspace = new TemporaryWorkspace({
      "latin.txt": Buffer.from("caf\u00e9\nb\n", "latin1"),
      "utf8.txt": `\ufffd é\n${"x".repeat(7999)}é\n`,
    });
    expect(await workspace.say("read", { path: "latin.txt" })).toBe(`     1\tcaf\ufffd\n     2\tb\n${note}`);
    expect(await workspace.say("read", { path: "latin.txt", offset: 2 })).toBe("     2\tb\n(lines 2–2 of 2)");
    expect(await workspace.say("read", { path: "utf8.txt" })).not.toContain(note);
  });

  test("F1.65 long lines are cut at 2,000 characters and marked as cut", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": `${"x".repeat(2000)}\n${"ž".repeat(600_000)}\nshort` });
    expect(await workspace.say("read", { path: "a.txt" })).toBe(
      `     1\t${"x".repeat(2000)}\n     2\t${"ž".repeat(2000)}… (line cut; 1200000 bytes in all)\n     3\tshort`,
    );
  });

  test("F1.65 at most 200 kB of whole lines are returned, with the offset to continue from", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": `${"x".repeat(999)}\n`.repeat(1000) });
    const first = await workspace.call("read", { path: "a.txt" });
    expect(Buffer.byteLength(first.text)).toBeLessThan(200_200);
    expect(first.text.slice(-70)).toContain("(lines 1–198 of 1000; stopped at 200 kB; continue with offset 199)");
    expect(await workspace.say("read", { path: "a.txt", offset: 199, limit: 1 })).toMatch(/^ {3}199\tx/);
  });

  test("F1.65 the beginning of a huge file is read without reading all of it", async () => {
    const workspace = new TemporaryWorkspace({ "big.log": `first\nsecond\n${"text\n".repeat(2000)}` });
    truncateSync(workspace.path("big.log"), 8 * 1024 * 1024 * 1024); // a sparse file: takes no room, and minutes to read
    expect(await workspace.say("read", { path: "big.log", limit: 2 })).toBe(
      "     1\tfirst\n     2\tsecond\n(lines 1–2 of a file over 10 MiB; continue with offset 3)",
    );
  });

  testInCI("an endless line is read up to 256 MiB, shown from its beginning, and the rest is reported as hidden", async () => {
    const workspace = new TemporaryWorkspace({ "big.log": `first\n${"x".repeat(9000)}`, "small.log": `${"x".repeat(9000)}\nlast\n` });
    truncateSync(workspace.path("big.log"), 100 * 1024 ** 3);
    const cut = `     1\tfirst\n     2\t${"x".repeat(2000)}… (line cut; total length unknown)\n`;
    const hint = "Read a part of the file with a command such as tail -c, or ask the user to split it.";
    const said = await workspace.say("read", { path: "big.log" });
    expect(said).toBe(
      `${cut}(lines 1–2 of a file over 10 MiB; line 2 is longer than 256 MiB, and what follows it cannot be read. ${hint})`,
    );
    expect((await workspace.refusal("read", { path: "big.log", offset: 3 })).toJSON()).toMatchObject({
      message: 'Line 2 of "big.log" is longer than 256 MiB; line 3 after it cannot be read.',
      hint,
    });
    expect(await workspace.say("read", { path: "small.log", offset: 2 })).toBe("     2\tlast\n(lines 2–2 of 2)");
  });

  test("F1.65 a cancelled call stops the read", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a" });
    const reason = new Error("enough");
    await expect(workspace.callWith("read", { path: "a.txt" }, workspace.session.context(AbortSignal.abort(reason)))).rejects.toThrow(
      "enough",
    );
  });

  test("F1.65 images and PDFs are returned as content parts, recognized by their content", async () => {
    const workspace = new TemporaryWorkspace({ "a.png": PNG, "named.txt": PNG, "a.pdf": "%PDF-1.7 … %%EOF" });
    const image = { content: [{ type: "image", mediaType: "image/png", data: PNG.toString("base64") }] };
    expect(await workspace.call("read", { path: "a.png" })).toMatchObject({
      ...image,
      output: { path: "a.png", mediaType: "image/png", bytes: PNG.length },
    });
    expect(await workspace.call("read", { path: "named.txt" })).toMatchObject(image);
    expect((await workspace.call("read", { path: "a.pdf" })).content).toEqual([
      {
        type: "file",
        uri: `data:application/pdf;base64,${Buffer.from("%PDF-1.7 … %%EOF").toString("base64")}`,
        mediaType: "application/pdf",
        name: "a.pdf",
      },
    ]);
  });

  test.each([
    ["a.png", PNG, 3_500_000, "image/png", "3.5 MB, the largest image"],
    ["a.pdf", "%PDF-1.7 … %%EOF", 4_500_000, "application/pdf", "4.5 MB, the largest PDF"],
  ])("F1.65 %s is shown up to its limit; above it, only type and size are reported", async (path, content, limit, mediaType, largest) => {
    const workspace = new TemporaryWorkspace({ [path]: content });
    truncateSync(workspace.path(path), limit);
    expect((await workspace.call("read", { path })).content?.map(({ type }) => type)).toEqual([path === "a.png" ? "image" : "file"]);

    truncateSync(workspace.path(path), limit + 1);
    expect(await workspace.call("read", { path })).toMatchObject({
      content: [
        { type: "text", text: `[file ${path}: ${mediaType}, ${limit + 1} bytes]\n(not shown: it is larger than ${largest} that is shown)` },
      ],
      output: { path, mediaType, bytes: limit + 1, tooLarge: true },
    });
  });

  test.each<[string, Uint8Array | string, string]>([
    ["a.png", PNG.subarray(0, 8), "image/png"],
    ["a.png", PNG.subarray(0, 60), "image/png"],
    ["a.jpg", Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(500)]), "image/jpeg"],
    ["a.jpg", CUT_PHOTO, "image/jpeg"],
    ["a.gif", "GIF89a", "image/gif"],
    ["a.webp", Buffer.from("RIFF\xff\xff\0\0WEBPVP8 0123456789012345", "latin1"), "image/webp"],
    ["a.pdf", "%PDF-1.4\n1 0 obj", "application/pdf"],
  ])("F1.65 a damaged file is not shown, because every later request with it would fail: %s %j", async (path, bytes, mediaType) => {
    const workspace = new TemporaryWorkspace({ [path]: bytes });
    const text = `[file ${path}: ${mediaType}, ${bytes.length} bytes]\n(not shown: it is damaged or incomplete)`;
    expect(await workspace.call("read", { path })).toMatchObject({
      content: [{ type: "text", text }],
      output: { path, mediaType, bytes: bytes.length, damaged: true },
    });
  });

  test.each(["/Encrypt 12 0 R", "/Encrypt<</Filter /Standard>>"])(
    "F1.65 an encrypted PDF is not shown, because providers refuse it: %s",
    async (entry) => {
      const pdf = (dictionary: string): string =>
        `%PDF-1.7\n… /EncryptMetadata true /Encrypt no\ntrailer <</Root 1 0 R ${dictionary}>>\nstartxref\n0\n%%EOF`;
      const workspace = new TemporaryWorkspace({ "a.pdf": pdf(entry), "b.pdf": pdf("") });
      const bytes = Buffer.byteLength(pdf(entry));
      expect(await workspace.call("read", { path: "a.pdf" })).toMatchObject({
        text: `[file a.pdf: application/pdf, ${bytes} bytes]\n(not shown: it is encrypted; ask the user for a copy that is not)`,
        output: { path: "a.pdf", mediaType: "application/pdf", bytes, encrypted: true },
      });
      expect((await workspace.call("read", { path: "b.pdf" })).content).toMatchObject([{ type: "file" }]);
    },
  );

  test.each([
    ["a table", (entry: string) => `xref\n0 1\n0000000000 65535 f \ntrailer <</Root 1 0 R ${entry}>>`],
    ["a stream", (entry: string) => `9 0 obj\n<</Type /XRef ${entry}>>\nstream\n…\nendstream\nendobj`],
  ])(
    "F1.65 a PDF with %s as its references is encrypted only if its trailer says so, not a page about PDF files",
    async (_, references) => {
      const page = "%PDF-1.7\n2 0 obj\n<</Length 35>>\nstream\n(A trailer has /Encrypt 12 0 R) Tj\nendstream\nendobj\n";
      const pdf = (entry: string): string => `${page}${references(entry)}\nstartxref\n${page.length}\n%%EOF`;
      const workspace = new TemporaryWorkspace({ "open.pdf": pdf(""), "locked.pdf": pdf("/Encrypt 12 0 R") });
      expect((await workspace.call("read", { path: "open.pdf" })).content).toMatchObject([{ type: "file" }]);
      expect((await workspace.call("read", { path: "locked.pdf" })).output).toMatchObject({ encrypted: true });
    },
  );

  test("F1.65 a photo with an end is shown, also with bytes after it", async () => {
    const workspace = new TemporaryWorkspace({ "a.jpg": Buffer.concat([CUT_PHOTO, JPEG_END, Buffer.alloc(9)]) });
    expect(await workspace.say("read", { path: "a.jpg" })).toBe("[image]");
  });

  test.each(["a.txt", "a.png", "a.pdf", "a.docx"])("F1.65 an empty file is reported as empty, whatever its name says: %s", async (path) => {
    const workspace = new TemporaryWorkspace({ [path]: "" });
    expect(await workspace.say("read", { path })).toBe("(the file is empty)");
  });

  test("F1.65 a huge image is reported without being read", async () => {
    const workspace = new TemporaryWorkspace({ "a.png": PNG });
    truncateSync(workspace.path("a.png"), 8 * 1024 * 1024 * 1024); // a sparse file: takes no room
    expect(await workspace.say("read", { path: "a.png" })).toMatch(/^\[file a\.png: image\/png, 8589934592 bytes\]/u);
  });
});

describe("text in UTF-16 and UTF-32", () => {
  const swapped = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();
  const FILES: readonly (readonly [string, string, Uint8Array])[] = [
    ["with a byte order mark", "UTF-16", Buffer.from("\ufeffhello\r\n", "utf16le")],
    ["big-endian, with a byte order mark", "UTF-16", swapped("\ufeffhello\n")],
    ["without a letter of ASCII", "UTF-16", Buffer.from("\ufeff日本語🎉", "utf16le")],
    ["of more than is looked at", "UTF-16", Buffer.from(`\ufeffa${"🎉".repeat(9000)}`, "utf16le")],
    ["without a mark", "UTF-16LE", Buffer.from("hello\n", "utf16le")],
    ["big-endian, without a mark", "UTF-16BE", swapped("hello\n")],
    ["of four bytes each", "UTF-32", Buffer.from("\ufeff\0h\0i\0", "utf16le")],
  ];

  test.each(FILES)(
    "a file %s is rejected with its encoding and a way to convert it, and grep lists it as not searched",
    async (_what, encoding, bytes) => {
      const workspace = new TemporaryWorkspace({ "a.txt": bytes, "b.txt": "hello\n" });
      expect((await workspace.refusal("read", { path: "a.txt" })).toJSON()).toMatchObject({
        message: `"a.txt" is in ${encoding}, and text is read in UTF-8 only.`,
        hint: `Convert it with a command such as iconv -f ${encoding} -t UTF-8, or ask the user to save it as UTF-8.`,
      });
      expect(await workspace.say("grep", { pattern: "hello" })).toBe(
        `b.txt:1: hello\n(not searched, as text is searched in UTF-8 only: a.txt (${encoding}))`,
      );
    },
  );

  test("a file that only begins like UTF-16 is a binary file", async () => {
    const binary = [
      Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x00, 0xd8]),
      Buffer.from([1, 0, 2, 0, 3, 0, 4, 0]),
      Buffer.from([0xfe, 0xff, 0, 0]),
    ];
    for (const bytes of binary) {
      const workspace = new TemporaryWorkspace({ "a.txt": bytes });
      expect((await workspace.refusal("read", { path: "a.txt" })).message).toBe('"a.txt" is a binary file: it contains NUL bytes.');
    }
  });
});

describe("F1.35 the binary guard", () => {
  test.each([
    ["its extension", "a.zip", "text all the same", "its extension is .zip"],
    ["a NUL byte", "a.txt", "text\u0000text", "it contains NUL bytes"],
    ["control bytes over a tenth", "a.txt", "\u0001".repeat(11) + "x".repeat(89), "more than a tenth of it is control bytes"],
  ])("F1.35 text tools reject a file because of %s", async (_what, path, content, reason) => {
    const workspace = new TemporaryWorkspace({ [path]: content });
    for (const [name, input] of [
      ["read", {}],
      ["json_read", {}],
    ] as const) {
      expect((await workspace.refusal(name, { ...input, path })).message).toBe(`"${path}" is a binary file: ${reason}.`);
    }
    expect(await workspace.say("grep", { pattern: "x" })).toBe("(no line matches x)");
  });

  test("F1.35 text cannot be written over an image that was read, nor to a path with the extension of an image", async () => {
    const workspace = new TemporaryWorkspace({ "a.png": PNG, "b.txt": PNG });
    await workspace.call("read", { path: "a.png" });
    await workspace.call("read", { path: "b.txt" });
    for (const [name, input] of [
      ["write", { path: "a.png", content: "x" }],
      ["write", { path: "new.jpg", content: "x" }],
      ["edit", { path: "b.txt", old: "PNG", new: "x" }],
    ] as const) {
      expect((await workspace.refusal(name, input)).message).toContain("is a binary file");
    }
  });

  test.each([
    ["a tenth of control bytes", "\u0001".repeat(10) + "x".repeat(90)],
    ["terminal colours", "\u001b[31mred\u001b[0m ".repeat(50)],
    ["control bytes after the first 8 KiB", "x".repeat(8192) + "\u0001".repeat(5000)],
  ])("F1.35 a file with %s is text", async (_what, content) => {
    const workspace = new TemporaryWorkspace({ "a.txt": content });
    expect((await workspace.say("read", { path: "a.txt" })).slice(0, 7)).toBe("     1\t");
  });
});

describe("F1.36 unchanged reads", () => {
  const SHORT = "(a.txt is unchanged since you read this part of it; see the earlier result)";

  test("F1.36 are off by default: a second read returns the text again", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a" });
    await workspace.call("read", { path: "a.txt" });
    expect(await workspace.say("read", { path: "a.txt" })).toBe("     1\ta");
  });

  test("F1.36 a second identical read of an unchanged file returns one line", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a\nb\n" }, { unchangedReads: true });
    await workspace.call("read", { path: "a.txt" });
    expect(await workspace.call("read", { path: "./a.txt" })).toMatchObject({
      text: SHORT,
      output: { path: "a.txt", unchanged: true, text: "a\nb" },
    });
    expect(await workspace.say("read", { path: "a.txt", offset: 2 })).toBe("     2\tb\n(lines 2–2 of 2)");
  });

  test("F1.36 a changed file is returned again, even with the same size and time, and also after the session's own change", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one" }, { unchangedReads: true });
    const time = new Date("2026-01-01");
    utimesSync(workspace.path("a.txt"), time, time);
    await workspace.call("read", { path: "a.txt" });
    workspace.put("a.txt", "two");
    utimesSync(workspace.path("a.txt"), time, time);
    expect(await workspace.say("read", { path: "a.txt" })).toBe("     1\ttwo");
    await workspace.call("write", { path: "a.txt", content: "six" });
    expect(await workspace.say("read", { path: "a.txt" })).toBe("     1\tsix");
    expect(await workspace.say("read", { path: "a.txt" })).toBe(SHORT);
  });
});

describe("F1.65 pdfText", () => {
  test("F1.65 the text of a PDF is returned in numbered lines, selected by offset and limit, and it counts as a read", async () => {
    const workspace = new TemporaryWorkspace({ "f.pdf": pdfOf("Ferries of May") }, { pdfText: true });
    expect(await workspace.say("read", { path: "f.pdf" })).toBe("     1\t--- page 1 of 1 ---\n     2\tFerries of May");
    expect(await workspace.say("read", { path: "f.pdf", offset: 2 })).toMatch(/^ {5}2\tFerries of May/u);
    expect((await workspace.refusal("read", { path: "f.pdf", offset: 9 })).message).toBe('"f.pdf" has 2 lines; line 9 is past its end.');
  });

  test("F1.65 a PDF is converted once for the reads of its parts, and again when it has changed", async () => {
    const workspace = new TemporaryWorkspace({ "f.pdf": pdfOf("Ferries of May") }, { pdfText: true });
    let conversions = 0;
    const count = (): void => void conversions++; // each conversion has a thread of its own
    process.on("worker", count);
    onTestFinished(() => void process.off("worker", count));
    for (const offset of [1, 2, 1]) await workspace.call("read", { path: "f.pdf", offset });
    expect(conversions).toBe(1);
    writeFileSync(workspace.path("f.pdf"), pdfOf("Ferries of June"));
    expect(await workspace.say("read", { path: "f.pdf", offset: 2 })).toMatch(/Ferries of June/u);
  });

  test("F1.65 a damaged PDF is rejected with an error that says so", async () => {
    const workspace = new TemporaryWorkspace({ "f.pdf": "%PDF-1.7 nonsense" }, { pdfText: true });
    expect((await workspace.refusal("read", { path: "f.pdf" })).message).toMatch(/^The PDF document cannot be converted: /u);
  });
});
