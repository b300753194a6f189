/** `haft chain`: tools that are called one after the other. */
import type { CommandGroup } from "./command.ts";
import { checkChains } from "./chain/check-chains.ts";
import { runChain } from "./chain/run-chain.ts";

export const chainCommand: CommandGroup = {
  name: "chain",
  summary: "Run and check chains of tools.",
  details: [
    'A chain is written in the configuration, in a toolset with type = "chains". Its',
    "steps call tools, each with what the ones before it have answered.",
  ],
  commands: [runChain, checkChains],
};
