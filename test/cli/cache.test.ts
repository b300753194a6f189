import { expect, test } from "vitest";
import { PATIENCE_MS } from "./run-haft.ts";
import { SessionProject, lines } from "./session-project.ts";

const PRICES = `
let asked = 0;
export const price = {
  name: "price", description: "Counts how often it was asked.", inputSchema: { type: "object" },
  effects: { reads: ["prices:all"] }, cache: { scope: "persistent" }, execute: () => ++asked,
};
export const change = { name: "change", description: "Changes them.", inputSchema: { type: "object" }, effects: { writes: ["prices:all"] }, execute: () => "changed" };
`;

test(
  "F3.16 a persistent result answers later haft call and haft run commands, marked as cached, until a call writes what it read",
  async () => {
    const project = new SessionProject({ "shop.mjs": PRICES });
    const call = (name: string, ...options: readonly string[]) => project.haft(["call", name, ...options]);
    const run = await (async () => {
      await call("price");
      return project.haft(["run", "-"], { input: lines({ role: "assistant", calls: [{ name: "price" }] }) });
    })();
    const [again, pretended, still, changed, after] = [
      await call("price"),
      await call("change", "--simulate"),
      await call("price"),
      await call("change"),
      await call("price"),
    ];
    expect(run.stdout).toMatch(/ {2}✓ #1 {2}shop::price .* ms {2}cache {2}1\n/u);
    expect([again, still, after].map(({ stdout, stderr }) => [stdout, stderr])).toEqual([
      ["1\n", "origin: cache (observed)\n"],
      ["1\n", "origin: cache (observed)\n"],
      ["2\n", ""],
    ]);
    expect([pretended.exitCode, changed.stdout]).toEqual([0, "changed\n"]);
  },
  PATIENCE_MS,
);
