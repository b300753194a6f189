import { describe, expect, test } from "vitest";
import { liftImages } from "../../src/policy/lift-images.ts";
import { resultText } from "../../src/core/result.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { toAnthropicMessages } from "../../src/wire/anthropic-conversation.ts";
import { toOpenAiMessages } from "../../src/wire/openai-conversation.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const URL = `data:image/png;base64,${PIXEL}`;
const IMAGE = { type: "image", mediaType: "image/png", data: PIXEL };

describe("F1.19 an image that comes as a data URL", () => {
  test("in a text, in JSON and in text content becomes an image, and a word where it stood", () => {
    expect(liftImages(`Here: ![plot](${URL})!`, undefined)).toEqual([{ type: "text", text: "Here: ![plot]([image 1])!" }, IMAGE]);
    expect(liftImages({ a: 1, shots: [URL, { url: URL }] }, undefined)).toEqual([
      { type: "text", text: '{"a":1,"shots":["[image 1]",{"url":"[image 2]"}]}' },
      IMAGE,
      IMAGE,
    ]);
    expect(
      liftImages({}, [
        { type: "text", text: URL },
        { type: "text", text: "and" },
      ]),
    ).toEqual([{ type: "text", text: "[image 1]" }, { type: "text", text: "and" }, IMAGE]);
  });

  test("that is none, or too short to be one, stays text", () => {
    for (const text of ["data:image/png;base64,AAA", "see data:image/png", "no image"]) expect(liftImages(text, undefined)).toBeUndefined();
  });

  test.each([
    ["of a type that some providers do not take", "data:image/svg+xml;base64,PHN2Zy8+PHN2Zy8+PHN2Zy8+"],
    ["of another type than it says", `data:image/jpeg;base64,${PIXEL}`],
    ["that is no image", "data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"],
    ["that is cut", URL.slice(0, -5)],
  ])("%s is a word: a provider would refuse it, and every later request with it", (_, url) => {
    expect(liftImages(`see ${url}!`, undefined)).toEqual([{ type: "text", text: "see [image]!" }]);
    expect(liftImages(undefined, [{ type: "text", text: url }])).toEqual([{ type: "text", text: "[image]" }]);
  });

  test("a million of them take linear time and sixteen places", () => {
    const lifted = liftImages(Array.from({ length: 20_000 }, () => URL).join(" "), undefined);
    expect(lifted).toHaveLength(17);
    expect(resultText({ content: lifted } as never).match(/\[image\]/gu)).toHaveLength(19_984);
  });

  test("reaches a model as an image or as a word, never as base64 text, and a program as it was", async () => {
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

  test("of many megabytes is part of the answer like any other", async () => {
    const data = `/9j/${"A".repeat(6_000_000 - 4)}`;
    const execute = (): unknown => ({ photo: `data:image/jpeg;base64,${data}` });
    const runtime = createRuntime({ tools: [{ name: "photo", description: "", inputSchema: {}, execute }] });
    const { status, content } = await runtime.execute({ name: "photo" });
    expect({ status, types: content?.map(({ type }) => type) }).toEqual({ status: "ok", types: ["text", "image"] });
  });
});
