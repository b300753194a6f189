import { describe, expect, test } from "vitest";
import { parseDescription } from "../../../src/schema/example/parsed-description.ts";
import { formatDate } from "../../../src/schema/example/date-mask.ts";

const texts = (literals: readonly { readonly text: string }[]): readonly string[] => literals.map(({ text }) => text);
const MAY_9 = Date.UTC(2025, 4, 9, 8, 7, 6);

describe("hints are parsed from descriptions", () => {
  test.each([
    ["Either 'red', 'blue' or 'green'.", ["red", "blue", "green"]],
    ["One of the following: small, medium, large.", ["small", "medium", "large"]],
    ["Sort direction. Allowed values are `up` (smallest first) and `down`.", ["up", "down"]],
    ["Detail level (low|medium|high)", ["low", "medium", "high"]],
    ["Distance unit, 'km' for kilometres or 'mi' for miles", ["km", "mi"]],
    ["kilos or pounds", ["kilos", "pounds"]],
    ["Hour offset. One of: -2, 0, 2.", ["-2", "0", "2"]],
    ["Either 'shelf' or 'row' must be specified.", []],
    ["One of the shelves that the reader has seen", []],
    ["Must be positive or zero", []],
    ["The layout (a frame or a page) to print", []],
    ["The date, as 'YYYY-MM-DD' or 'DD/MM/YYYY'", []],
  ])("descriptions: alternatives of %j", (description, choices) => {
    expect(texts(parseDescription(description).choices)).toEqual(choices);
  });

  test.each([
    ["The shelf mark, e.g. QX12", ["QX12"], undefined],
    ["The shelf mark (e.g., 'QX12', 'QX13'). Defaults to 'QX1'.", ["QX12", "QX13"], "QX1"],
    ["Reading level, such as beginner, expert.", ["beginner", "expert"], undefined],
    ["How many shelves. Default is 20.", [], "20"],
    ["A cover. Defaults to None.", [], undefined],
    ["Use 20250109 form, e.g., 20250109 for January 9th, 2025", ["20250109"], undefined],
  ])("descriptions: examples and default of %j", (description, examples, fallback) => {
    const told = parseDescription(description);
    expect([texts(told.examples), told.defaultValue?.text]).toEqual([examples, fallback]);
  });

  test.each([
    ["Between 1 and 10", 1, 10],
    ["Opacity (0-255)", 0, 255],
    ["Values range from `5` to `20`.", 5, 20],
    ["On a scale of 1 to 5", 1, 5],
    ["Shelves a page, maximum 250", -Infinity, 250],
    ["Shelves a page. Maximum allowed value is 1,500.", -Infinity, 1_500],
    ["At least 3", 3, Infinity],
    ["The season, such as 2017-2018", -Infinity, Infinity],
    ["A password between 4 and 12 characters long", -Infinity, Infinity],
    ["Largest 24-hour turnover", -Infinity, Infinity],
  ])("descriptions: bounds of %j", (description, minimum, maximum) => {
    expect(parseDescription(description).bounds).toMatchObject({ minimum, maximum });
  });

  test.each([
    ["in the format YYYY-MM-DD", "2025-05-09"],
    ["Format: %d.%m.%Y %H:%M", "09.05.2025 08:07"],
    ["{dd/mm/yyyy}", "09/05/2025"],
    ["as MM-DD-YY", "05-09-25"],
    ["YYYYMMDDhhmmss", "20250509080706"],
    ["The month in 'MM' format", "05"],
    ["The start date in ISO 8601", "2025-05-09"],
    ["The start time in ISO 8601 format", "2025-05-09T08:07:06Z"],
    ["HH:MM:SS", "08:07:06"],
  ])("descriptions: date format of %j", (description, written) => {
    const { mask } = parseDescription(description);
    expect(mask && formatDate(mask, MAY_9)).toBe(written);
  });

  test.each([
    ["The ISO 4217 currency code to convert from", "currency_code", undefined],
    ["Name of the city for which to look", "city_name", undefined],
    ["The number of shelves to return", "shelves_number", "number"],
    ["Whether drafts count", "", "boolean"],
    ["If set to True, drafts count.", "if_set", "boolean"],
    ["A list of shelf marks", "shelf_marks", "array"],
    ["Comma-separated list of marks", "marks", undefined],
    ["Get only drafts", "", undefined],
    ["The country, specified as a 2-letter country code.", "country_code", undefined],
  ])("descriptions: subject and type of %j", (description, head, type) => {
    const told = parseDescription(description);
    expect([type === "boolean" ? head : told.noun, told.type]).toEqual([head, type]);
  });

  test("descriptions: a very long text is parsed without throwing, whatever it contains", () => {
    for (const piece of ["'", "(a|", "one of ", "1 to ", "e.g. ", "YYYY-", "`a`, ", "default is ", "[[[", "a or "])
      expect(() => parseDescription(piece.repeat(20_000))).not.toThrow();
  });
});
