import { describe, expect, test } from "vitest";
import { extractDataUrls } from "../../src/policy/results/extract-data-urls.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import { omitUndefined } from "../../src/core/base/omit-undefined.ts";
import { resultText } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { toAnthropicMessages } from "../../src/wire/anthropic-conversation.ts";
import { toOpenAiMessages } from "../../src/wire/openai-conversation.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const URL = `data:image/png;base64,${PIXEL}`;
const IMAGE = { type: "image", mediaType: "image/png", data: PIXEL };

describe("F1.19 an image in a data URL", () => {
  test("in a string, in JSON or in text content becomes an image part, with a placeholder in its place", () => {
    expect(extractDataUrls(`Here: ![plot](${URL})!`, undefined)).toEqual([{ type: "text", text: "Here: ![plot]([image 1])!" }, IMAGE]);
    expect(extractDataUrls({ a: 1, shots: [URL, { url: URL }] }, undefined)).toEqual([
      { type: "text", text: '{"a":1,"shots":["[image 1]",{"url":"[image 2]"}]}' },
      IMAGE,
      IMAGE,
    ]);
    expect(
      extractDataUrls({}, [
        { type: "text", text: URL },
        { type: "text", text: "and" },
      ]),
    ).toEqual([{ type: "text", text: "[image 1]" }, { type: "text", text: "and" }, IMAGE]);
  });

  test("that is not a data URL, or is too short, stays text", () => {
    for (const text of ["data:image/png;base64,AAA", "see data:image/png", "no image"])
      expect(extractDataUrls(text, undefined)).toBeUndefined();
  });

  test.each([
    ["of a type that some providers do not take", "data:image/svg+xml;base64,PHN2Zy8+PHN2Zy8+PHN2Zy8+"],
    ["of another type than it says", `data:image/jpeg;base64,${PIXEL}`],
    ["that is no image", "data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"],
    ["that is cut", URL.slice(0, -5)],
  ])("%s becomes a placeholder, because a provider would reject it and every later request with it", (_, url) => {
    expect(extractDataUrls(`see ${url}!`, undefined)).toEqual([{ type: "text", text: "see [image]!" }]);
    expect(extractDataUrls(undefined, [{ type: "text", text: url }])).toEqual([{ type: "text", text: "[image]" }]);
  });

  test("is lifted at most 16 times, even among 20,000 of them", () => {
    const lifted = extractDataUrls(Array.from({ length: 20_000 }, () => URL).join(" "), undefined);
    expect(lifted).toHaveLength(17);
    expect(resultText({ status: "ok", content: lifted } as never).match(/\[image\]/gu)).toHaveLength(19_984);
  });

  test("reaches a model as an image or a placeholder, never as base64 text, and a program unchanged", async () => {
    const runtime = createRuntime({
      tools: [{ name: "plot", description: "Plots.", inputSchema: { type: "object" }, execute: () => ({ chart: URL }) }],
    });
    const session = runtime.session();
    const result = await session.execute({ id: "one", name: "plot", input: {} });
    expect(result.output).toEqual({ chart: URL });
    expect(resultText(result)).toBe('{"chart":"[image 1]"}\n[image image/png]');
    const anthropic = toAnthropicMessages(session.messages()).messages.at(-1);
    expect(anthropic).toMatchObject({
      content: [{ type: "tool_result", content: [{ type: "text" }, { type: "image", source: { type: "base64", data: PIXEL } }] }],
    });
    const openAi = toOpenAiMessages(session.messages()).messages;
    expect(openAi.find(({ role }) => role === "tool")).toMatchObject({ content: expect.not.stringContaining(PIXEL) });
    expect(JSON.stringify(openAi.at(-1))).toContain(`"image_url":{"url":"${URL}"}`);
    await runtime.close();
  });

  test("of many megabytes becomes a part of the answer like any other", async () => {
    const data = `/9j/${"A".repeat(6_000_000 - 4)}`;
    const execute = (): unknown => ({ photo: `data:image/jpeg;base64,${data}` });
    const runtime = createRuntime({ tools: [{ name: "photo", description: "", inputSchema: {}, execute }] });
    const { status, content } = await runtime.execute({ name: "photo" });
    expect({ status, types: content?.map(({ type }) => type) }).toEqual({ status: "ok", types: ["text", "image"] });
  });
});

describe("F1.19 wrapped base64 in a data URL", () => {
  const JPEG = `/9j/${"A".repeat(996)}`;
  const WHOLE = { type: "image", mediaType: "image/jpeg", data: JPEG };

  function wrap(text: string, width: number, lineEnd = "\n"): string {
    return (text.match(new RegExp(`.{1,${width}}`, "gu")) ?? []).join(lineEnd);
  }

  test.each([
    ["as by the command base64", `data:image/jpeg;base64,${wrap(JPEG, 76)}`],
    ["into 64 characters, with CRLF", `data:image/jpeg;base64,${wrap(JPEG, 64, "\r\n")}`],
    ["with its head", wrap(`data:image/jpeg;base64,${JPEG}`, 76)],
  ])("%s becomes one whole image, and the text around it stays", (_, url) => {
    expect(extractDataUrls(`${url}\nThis is the plot.`, undefined)).toEqual([
      { type: "text", text: "[image 1]\nThis is the plot." },
      WHOLE,
    ]);
    expect(extractDataUrls(`![plot](${url}) and ${url}`, undefined)?.[0]).toEqual({
      type: "text",
      text: "![plot]([image 1]) and [image 2]",
    });
  });

  test("ends before a line that is no data", () => {
    const line = JPEG.slice(0, 76);
    for (const next of ["done, and more", "a", "12345", "x".repeat(80)])
      expect(extractDataUrls(`data:image/jpeg;base64,${line}\n${next}`, undefined)?.[0]).toEqual({
        type: "text",
        text: `[image 1]\n${next}`,
      });
  });
});

describe("F1.19 a data URL in an error or a question", () => {
  const FILE = `data:image/jpeg;base64,/9j/${"A".repeat(2_000)}`;
  const LINE = { description: "", inputSchema: {}, effects: { reads: [], writes: [] } } as const;

  test.each<[string, Partial<Tool>, string]>([
    [
      "thrown as an Error",
      { execute: () => Promise.reject(new Error(`Shot: ${FILE}`)) },
      "Error (execution_failed): Shot: [file image/jpeg]",
    ],
    [
      "of a message that is cut",
      { execute: () => Promise.reject(new Error(`Shot: ${FILE}${"A".repeat(9_000)}`)) },
      "Error (execution_failed): Shot: [file image/jpeg]…",
    ],
    [
      "in the details and the hint",
      { execute: () => Promise.reject(new ToolError("execution_failed", "No.", { details: [FILE, "b"], hint: FILE })) },
      "Error (execution_failed): No.\n- [file image/jpeg]\n- b\nHint: [file image/jpeg]",
    ],
    [
      "of a rule of the tool",
      { execute: () => 1, validate: () => [`not ${FILE}`] },
      "Error (invalid_input): The input of default::shoot does not fit its schema.\n- not [file image/jpeg]",
    ],
    [
      "of a failure that has an output",
      { execute: () => new ToolOutput({ output: { success: false, shot: FILE }, error: `Bad ${FILE}` }) },
      'Error (execution_failed): Bad [file image/jpeg]\n{"success":false,"shot":"[image 1]"}\n[image image/jpeg]',
    ],
  ])("%s is shown as the type of the file", async (_, fields, text) => {
    for (const artifacts of [undefined, false] as const) {
      await using runtime = createRuntime({ tools: [{ name: "shoot", ...LINE, ...fields }], ...omitUndefined({ artifacts }) });
      const session = runtime.session();
      const result = await session.execute({ name: "shoot" });
      expect(JSON.stringify(result.error)).not.toContain("AAAA");
      expect(JSON.stringify(toOpenAiMessages(session.messages()).messages.find(({ role }) => role === "tool"))).not.toContain("AAAA");
      if (artifacts === undefined) expect(resultText(result)).toBe(text);
    }
  });

  test("that a hook writes is shown as the type of the file", async () => {
    const hook: Hook = {
      name: "explain",
      afterCall: (result) => ({ ...result, status: "error", error: { ...failed, message: FILE } }),
    };
    const failed = { code: "execution_failed", retryable: false, outcome: "failed" } as const;
    await using runtime = createRuntime({ tools: [{ name: "shoot", ...LINE, execute: () => 1 }], hooks: [hook] });
    expect(resultText(await runtime.execute({ name: "shoot" }))).toBe("Error (execution_failed): [file image/jpeg]");
  });

  test("of a background job is shown as type and size to the model, and whole to the program", async () => {
    const execute = async function* (): AsyncGenerator {
      yield `Read this: ${FILE}`;
    };
    await using runtime = createRuntime({ tools: [{ name: "captcha", ...LINE, mode: "stateful", execute }] });
    const session = runtime.session();
    const { id } = await session.submit({ name: "captcha" });
    expect((await runtime.jobs.wait(id, { untilAsked: true })).question).toContain(FILE);
    expect(runtime.jobs.read(id).text).toContain(FILE);
    const [asked] = session.messages().filter(({ role }) => role === "job");
    expect(asked).toMatchObject({ question: "Read this: [file image/jpeg, 1503 bytes]" });
    expect(JSON.stringify(toAnthropicMessages(session.messages()))).not.toContain("AAAA");
  });
});

describe("F1.19 any other file in a data URL", () => {
  const ZIP = Buffer.alloc(300, 7).toString("base64");
  const PDF = Buffer.from(`%PDF-1.7${" ".repeat(200)}`).toString("base64");

  test("is shown to the model as its type and size, anywhere in the answer, and the output has its bytes", async () => {
    const answer = { note: "see", files: [`data:application/zip;base64,${ZIP}`] };
    const runtime = createRuntime({ tools: [{ name: "get", description: "", inputSchema: { type: "object" }, execute: () => answer }] });
    const result = await runtime.execute({ name: "get", input: {} });
    expect(resultText(result)).toBe('{"note":"see","files":["[file application/zip, 300 bytes]"]}');
    expect(result.output).toEqual(answer);
    await runtime.close();
  });

  test("is shown with the name in its URL, and is recognized in any spelling of the URL", () => {
    for (const head of ["data:application/zip;name=a.zip;base64,", "DATA:Application/ZIP;charset=x;filename=a.zip;BASE64,"])
      expect(extractDataUrls(`[it](${head}${ZIP})`, undefined)).toEqual([
        { type: "text", text: "[it]([file a.zip: application/zip, 300 bytes])" },
      ]);
    expect(extractDataUrls(`data:;base64,${ZIP}`, undefined)).toEqual([{ type: "text", text: "[file text/plain, 300 bytes]" }]);
  });

  test("is added as a file part where the result would otherwise lose its bytes", () => {
    expect(extractDataUrls(undefined, [{ type: "text", text: `data:application/zip;base64,${ZIP}` }])).toEqual([
      { type: "text", text: "[file application/zip, 300 bytes]" },
      { type: "file", uri: `data:application/zip;base64,${ZIP}`, mediaType: "application/zip" },
    ]);
  });

  test("is added as a file part when it is a PDF, but not when only its type says so", () => {
    const size = Buffer.from(PDF, "base64").length;
    expect(extractDataUrls({ plan: `data:application/pdf;base64,${PDF}` }, undefined)).toEqual([
      { type: "text", text: `{"plan":"[file application/pdf, ${size} bytes]"}` },
      { type: "file", uri: `data:application/pdf;base64,${PDF}`, mediaType: "application/pdf" },
    ]);
    expect(extractDataUrls(`data:application/pdf;base64,${ZIP}`, undefined)).toEqual([
      { type: "text", text: "[file application/pdf, 300 bytes]" },
    ]);
  });

  test("that is short or not base64 stays text", () => {
    for (const text of [`data:text/plain;base64,${"QUJD".repeat(20)}`, `data:text/html,${"a".repeat(500)}`, `metadata:${ZIP}`, "base64,"])
      expect(extractDataUrls(text, undefined)).toBeUndefined();
  });

  test("hundreds of thousands of data URL prefixes without data are read in linear time", () => {
    for (const head of ["data:", "data:a/b;", "data:;base64,", "data:a/b;x=y;base64 ,", "data: ; ; ;"])
      expect(extractDataUrls(`${head.repeat(100_000)}base64,`, undefined)).toBeUndefined();
  });
});
