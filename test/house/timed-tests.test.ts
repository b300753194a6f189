import { expect, test } from "vitest";
import { readTree } from "./source-tree.ts";

test("no test judges how long something took by the clock, which says more of the machine than of the code", () => {
  const judged = [...readTree("test/**/*.test.ts")].flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) => (/expect\((?:performance|Date)\.now\(\) - .*\.toBeLess/u.test(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(judged).toEqual([]);
});
