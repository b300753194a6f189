/** Files that providers refuse are in no request: one of them would have every later request of its conversation refused. */
import { describe, expect, test } from "vitest";
import { ToolOutput, type ContentPart } from "../../src/core/content.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { sendableMessages } from "../../src/policy/results/sendable-content.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = btoa(`%PDF-1.4\n${"x".repeat(200)}`);
const JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wAA";
const image = (data: string, mediaType = "image/png"): ContentPart => ({ type: "image", mediaType, data });
const said = (...content: readonly ContentPart[]): ModelMessage => ({ role: "user", at: 0, content });

function sent(part: ContentPart): unknown {
  const [message] = sendableMessages([said(part)]);
  return message?.role === "user" ? message.content[0] : undefined;
}

test.each([
  ["of line breaks", image(PNG.replaceAll(/(.{76})/gu, "$1\n")), image(PNG)],
  ["that is a data URL", image(`data:image/png;base64,${PNG}`), image(PNG)],
  ["of another type than it says", image(JPEG, "image/jpg"), image(JPEG, "image/jpeg")],
])("an image %s is sent with its real type", (_what, part, expected) => {
  expect(sent(part)).toEqual(expected);
});

test.each([
  ["an empty image", image(""), "[image image/png, 0 bytes, not shown: its bytes are not an image of this type]"],
  ["a page in place of an image", image(btoa("<html>404</html>")), expect.stringContaining("its bytes are not an image of this type")],
  ["an image that is too large", image(PNG.slice(0, 80) + "A".repeat(5_000_000)), expect.stringContaining("too large")],
  ["an empty sound", { type: "audio", mediaType: "audio/wav", data: "" }, "[audio audio/wav, 0 bytes]"],
  ["an empty PDF file", { type: "file", uri: "data:application/pdf;base64,", name: "x.pdf" }, "[file x.pdf: application/pdf, 0 bytes]"],
  ["a sound that no request has room for", { type: "audio", mediaType: "audio/wav", data: "A".repeat(16_000_004) }, "[audio audio/wav]"],
] satisfies (readonly [string, ContentPart, unknown])[])("%s is replaced by text", (_what, part, text) => {
  expect(sent(part)).toEqual({ type: "text", text });
});

test.each([
  ["a PDF file", PDF, (data: string): ContentPart => ({ type: "file", uri: `data:application/pdf;base64,${data}` })],
  ["a sound", "UklGR".padEnd(200, "A"), (data: string): ContentPart => ({ type: "audio", mediaType: "audio/wav", data })],
])("%s in base64 with line breaks is sent without the line breaks", (_what, data, part) => {
  expect(sent(part(data.replaceAll(/(.{76})/gu, "$1\n")))).toEqual(part(data));
});

test("messages that need no change are returned as the same array", () => {
  const messages = [said(image(PNG)), said({ type: "text", text: "a" }), said(image("AAAA", "image/tiff"))];
  expect(sendableMessages(messages)).toBe(messages);
});

describe("files that exceed the size of one request", () => {
  const large = (): ModelMessage => said(image("iVBORw0KGgoA" + "A".repeat(3_000_000)));

  test("are replaced by text, the oldest first, so that successive requests mostly keep the same beginning", () => {
    const messages = Array.from({ length: 16 }, large);
    let before: readonly ModelMessage[] = [];
    let changes = 0;
    for (let count = 1; count <= messages.length; count++) {
      const now = sendableMessages(messages.slice(0, count));
      expect(JSON.stringify(now).length).toBeLessThan(17_000_000);
      expect(JSON.stringify(now.at(-1))).toContain("iVBORw0KGgo");
      if (before.some((message, index) => message !== now[index])) changes++;
      before = now;
    }
    expect(changes).toBeLessThan(5);
  });

  test("are replaced by text within one message too; the last ones stay", () => {
    const [only] = sendableMessages([
      said(...Array.from({ length: 7 }, (_, index) => image(`iVBORw0KGgo${index}${"A".repeat(3_000_000)}`))),
    ]);
    expect(JSON.stringify(only).length).toBeLessThan(17_000_000);
    const content = only?.role === "user" && typeof only.content !== "string" ? only.content : [];
    expect(content.map(({ type }) => type)).toEqual(["text", "text", "image", "image", "image", "image", "image"]);
  });

  test("also count in a provider's native blocks, which are then left out", () => {
    const data = `iVBORw0KGgoA${"A".repeat(3_000_000)}`;
    const native = { format: "p", blocks: [{ inlineData: { mimeType: "image/png", data } }] };
    const drawn = (): ModelMessage => ({ role: "assistant", at: 0, content: [{ type: "text", text: "Here." }, image(data)], native });
    const now = sendableMessages(Array.from({ length: 8 }, drawn));
    const natives = now.flatMap((message) => (message.role === "assistant" ? (message.native ?? []) : []));
    expect(JSON.stringify(natives).length).toBeLessThan(17_000_000);
    expect(now[0]).toEqual({
      role: "assistant",
      at: 0,
      content: [
        { type: "text", text: "Here." },
        { type: "text", text: "[image image/png]" },
      ],
    });
    expect(now.at(-1)).toHaveProperty("native");
  });

  test("do not include files that no provider receives", () => {
    const archive: ContentPart = { type: "file", name: "a.zip", uri: `data:application/zip;base64,${"A".repeat(17_000_000)}` };
    const messages = [said(image(PNG)), said(archive), said(image("A".repeat(17_000_000), "image/tiff"))];
    expect(sendableMessages(messages)).toBe(messages);
  });
});

test("a loop continues after an answer with a damaged image", async () => {
  const broken = {
    name: "shot",
    description: "Takes a picture.",
    inputSchema: { type: "object" },
    effects: { reads: [] },
    execute: () => new ToolOutput({ content: [image("")] }),
  };
  const runtime = createRuntime({ ports: fakePorts(), tools: [broken] });
  const model = scriptedModel([{ calls: [{ name: "shot", input: {} }] }, { text: "Nothing to see." }]);
  await createLoop({ session: runtime.session(), model }).run("Look.");
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("[image image/png, 0 bytes");
  await runtime.close();
});
