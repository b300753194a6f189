import { expect, test } from "vitest";
import { readTree } from "./source-tree.ts";

test("no test asserts a duration by the real clock, which measures the machine rather than the code", () => {
  const judged = [...readTree("test/**/*.test.ts")].flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) => (/expect\((?:performance|Date)\.now\(\) - .*\.toBeLess/u.test(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(judged).toEqual([]);
});
