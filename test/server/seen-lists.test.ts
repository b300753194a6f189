/** What a caller is told of the tools while what it may use changes as well. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Registry } from "../../src/registry/registry.ts";
import type { Principal } from "../../src/server/auth/principal.ts";
import { settingsOf } from "../../src/server/mcp/options.ts";
import { Peers } from "../../src/server/mcp/peers.ts";
import { VisibleLists } from "../../src/server/mcp/visible-lists.ts";
import { ToolList } from "../../src/server/mcp/tool-list.ts";
import { tool } from "../runtime/bench-runtime.ts";

const NAMES = ["a", "b", "c"];
const ANN: Principal = { id: "key:ann", name: "ann", scopes: new Set(["execute"] as const) };

const step = fc.oneof(
  fc.record({ may: fc.option(fc.subarray(NAMES), { nil: undefined }) }),
  fc.record({ turns: fc.constantFrom(...NAMES) }), // a tool that is there goes, another comes
);

test("a caller is notified of a change that its current rights show, and not of others while its rights stay the same", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const registry = new Registry();
      let may: readonly string[] | undefined = ["a"];
      const settings = settingsOf({ toolsFor: () => (may === undefined ? undefined : { allow: [...may] }) });
      const shared = { tools: new ToolList(registry, settings), peers: new Peers(registry, settings), settings };
      const lists = new VisibleLists(shared, { caller: { id: ANN.id, principal: ANN } });
      const seen = (): readonly string[] => NAMES.filter((name) => registry.get(name) !== undefined && may?.includes(name) !== false);
      let askedWith: readonly string[] | undefined = may;
      for (const one of steps) {
        if ("may" in one) {
          may = one.may;
          continue;
        }
        const before = seen();
        if (registry.get(one.turns) === undefined) registry.register(tool(one.turns, () => 1));
        else registry.unregister(one.turns);
        const isSeen = seen().join() !== before.join();
        const told = lists.hasNewTools();
        if (isSeen) expect(told).toBe(true);
        else if (may !== undefined && may === askedWith) expect(told).toBe(false);
        askedWith = may;
      }
    }),
  );
});
