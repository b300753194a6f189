import { expect, test } from "vitest";
import { EventStreamParser } from "../../src/client/event-stream-parser.ts";
import { inProcessorTime } from "../processor-time.ts";

const STREAM = 'id: 1\r\nevent: a\r\ndata: {"x":\r\ndata: "ü"}\r\n\r\n: comment\n\ndata: b\r\rdata: c\n\n';

test("a stream yields the same messages however it is split", () => {
  const bytes = new TextEncoder().encode(STREAM);
  const read = (size: number) => {
    const parser = new EventStreamParser();
    return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => parser.push(bytes.subarray(n * size, (n + 1) * size))).flat();
  };
  const whole = read(bytes.length);
  expect(whole.map(({ id, type, data }) => [id, type, data])).toEqual([
    ["1", "a", '{"x":\n"ü"}'],
    [undefined, "message", "b"],
    [undefined, "message", "c"],
  ]);
  for (let size = 1; size < bytes.length; size++) expect(read(size)).toEqual(whole);
});

test("a long event in many chunks is parsed in linear time", () => {
  const parser = new EventStreamParser();
  const piece = new TextEncoder().encode("x".repeat(16_384));
  parser.push(new TextEncoder().encode("data: "));
  const messages = inProcessorTime(2_000, () => {
    for (let n = 0; n < 800; n++) parser.push(piece);
    return parser.push(new TextEncoder().encode("\n\n"));
  });
  expect(messages.map(({ data }) => data.length)).toEqual([800 * 16_384]);
});
