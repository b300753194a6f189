import fc from "fast-check";
import { expect, test } from "vitest";
import { fromAttachmentUri, toAttachmentUri } from "../../../src/core/formats/attachment-uri.ts";

const NAME = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.stringMatching(/^[/\\:%#?@ [\]a-c0-9.]{0,12}$/u),
  fc.constantFrom("//a:b", "///a:b", "//[", "//", "a%2Fb", "100%", "C:\\a b"),
);

test("every name round-trips through its URI, across several servers too", () => {
  fc.assert(
    fc.property(
      NAME.filter((name) => !name.trim().toLowerCase().startsWith("attachment:")),
      (name) => {
        const uri = toAttachmentUri(name);
        expect([URL.canParse(uri), fromAttachmentUri(uri)]).toEqual([true, name]);
        expect(toAttachmentUri(fromAttachmentUri(uri))).toBe(uri);
      },
    ),
    { examples: [["//a:b"], ["//x:99999"], ["//["], ["a#b?c"]] },
  );
});
