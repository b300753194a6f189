import { describe, expect, test } from "vitest";
import { parseMessage } from "../../../src/engine/mcp/message-lines.ts";

const message = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

describe("numbers", () => {
  test.each([
    ["1915883588174806058", "1915883588174806058"],
    ["-9007199254740993", "-9007199254740993"],
    ["9007199254740991", 9_007_199_254_740_991],
    ["18014398509481984", 18_014_398_509_481_984],
    ["0.12345678901234567", 0.123_456_789_012_345_67],
    ['"1915883588174806058"', "1915883588174806058"],
  ])("A04 the digits of %s are preserved", (written, read) => {
    expect(parseMessage(message(`{"items":[{"id":${written}}]}`))).toEqual({ jsonrpc: "2.0", id: 1, result: { items: [{ id: read }] } });
  });
});

describe("bounds", () => {
  test.each([["["], ['{"a":']])("A05 a message that nests %s too deep is rejected before it is parsed", (open) => {
    expect(() => parseMessage(message(open.repeat(300)))).toThrow("it sent a message that nests deeper than 256 levels");
  });

  test("A06 a message with too many values is rejected before it is parsed", () => {
    expect(() => parseMessage(message(`[${"0,".repeat(500_001)}0]`))).toThrow("it sent a message of more than 500000 values");
  });

  test("brackets and commas in strings do not count", () => {
    const text = `${"[".repeat(300)}\\\\\\"${",".repeat(10)}`;
    expect(parseMessage(message(`"${text}"`))).toMatchObject({ result: JSON.parse(`"${text}"`) });
  });
});

test.each(["", "ready", "[1,2]", '{"jsonrpc":"2.0"', '{"jsonrpc":"1.0","id":1}', "{}", '{"a":"'])(
  "the line %j is not a message",
  (line) => {
    expect(parseMessage(line)).toBeUndefined();
  },
);
