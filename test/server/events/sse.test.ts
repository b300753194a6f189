import { expect, test } from "vitest";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { encodeEvent } from "../../../src/server/events/sse.ts";

test("an event has no lone surrogate, which would make strict readers reject everything after it", () => {
  const text = new TextDecoder().decode(encodeEvent("call-progress", { message: "half \ud800", whole: "\ud83d\ude00" }, "1"));
  expect(text).not.toContain(String.raw`\ud800`);
  const data = text.split("\n").find((line) => line.startsWith("data: "));
  expect(parseJson(data?.slice("data: ".length) ?? "")).toEqual({ message: "half \ufffd", whole: "\ud83d\ude00" });
});
