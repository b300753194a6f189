import { expect, test } from "vitest";
import { findNodeVersionProblem } from "../../../src/core/system/node-version.ts";

test("Node before 22.13 is too old, and no later version is", () => {
  const versions = ["18.20.8", "20.20.2", "22.0.0", "22.12.9", "22.13.0", "22.23.3", "24.0.0", "100.1.0"];
  expect(versions.filter((node) => findNodeVersionProblem({ node }) !== undefined)).toEqual(["18.20.8", "20.20.2", "22.0.0", "22.12.9"]);
  expect(findNodeVersionProblem({ node: "20.20.2" })).toBe(
    "haft needs Node 22.13 or newer; this is Node 20.20.2. Install a newer one: https://nodejs.org.",
  );
});

test("Bun, Deno and a runtime without a Node version are not too old", () => {
  expect(findNodeVersionProblem({})).toBeUndefined();
  expect(findNodeVersionProblem({ node: "20.1.0", bun: "1.4.5" })).toBeUndefined();
  expect(findNodeVersionProblem({ node: "20.1.0", deno: "2.9.6" })).toBeUndefined();
});
