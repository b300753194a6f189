import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonEndDetector } from "../../../src/wire/openai-chat/json-end-detector.ts";

test("H07 the end of an object is detected at its last brace and not before, however it is split", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), fc.array(fc.nat(200)), (value, cuts) => {
      const text = JSON.stringify(value);
      const places = [...cuts.filter((cut) => cut < text.length - 1), text.length - 1].toSorted((one, other) => one - other);
      const end = new JsonEndDetector();
      places.forEach((place, index) => end.push(text.slice(places[index - 1] ?? 0, place)));
      expect(end.reached).toBe(false);
      end.push(text.slice(-1));
      expect(end.reached).toBe(true);
    }),
  );
});
